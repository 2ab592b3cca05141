#include "work/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "program/elementwise_products.hpp"
#include "program/functions.hpp"
#include "program/typing.hpp"
#include "work/contraction.hpp"
#include "work/kernel_signature.hpp"
#include "work/kernel_traffic.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

class KernelBuilder {
public:
    KernelBuilder(const Program& program, const ProgramKernels& kernels, const WorkOptions& options)
        : program_(program), kernels_(kernels), options_(options) {}

    KernelWork build(const ProgramKernels::Kernel& kernel) {
        kernel_.statements = kernel.statements;
        kernel_.count = kernel.count;
        for (const Statement* statement : kernel.statements) add(*statement);
        KernelTraffic traffic(program_, kernels_, kernel);
        const Dims result_dims = options_.tiles.empty() ? Dims{} : traffic.result_dims();
        for (const MemoryAccess& access : traffic.accesses()) cross(access, result_dims);
        for (const Transfer& transfer : kernel_.transfers) {
            Traffic& level = kernel_.work.memory[transfer.level];
            (transfer.write ? level.write : level.read) += transfer.bytes;
        }
        return std::move(kernel_);
    }

private:
    void add(const Statement& statement) {
        for (const Message& message : statement.messages) kernel_.work.messages.push_back({message, Polynomial(1)});
        for (const Op& op : statement.ops) {
            switch (op.kind) {
                case OpKind::contract:
                    contraction(op);
                    break;
                case OpKind::apply:
                    apply(op);
                    break;
                case OpKind::move:
                    convert(op);
                    break;
            }
        }
        for (const ElementwiseProduct& product : elementwise_products(statement)) {
            note_order(order_text(program_, statement, product), order_of(product, program_.sizes).has_value());
        }
    }

    void note_order(const std::string& order, bool by_size) {
        kernel_.notes.push_back(by_size
                                    ? fmt::format("the product is computed as {}, the cheapest pairwise order", order)
                                    : fmt::format("the product is computed as {}, as written, because the cheapest "
                                                  "order depends on sizes that are not given",
                                                  order));
    }

    void contraction(const Op& op) {
        ContractionPlan plan = plan_contraction(program_, op, options_.exact_flops);
        if (!plan.order.empty()) note_order(plan.order, plan.by_size);
        for (MatmulShape& matmul : plan.matmuls) {
            kernel_.work.add_flops(matmul.unit, matmul.dtype, matmul.flops);
            kernel_.matmuls.push_back(std::move(matmul));
        }
    }

    void apply(const Op& op) {
        if (is_function(op, FunctionKind::gather)) {
            if (!kernels_.computed(op.inputs[0].value)) {
                kernel_.notes.push_back(fmt::format("of {} only the gathered rows are read, each once",
                                                    value_name(program_, op.inputs[0].value)));
            }
            return;
        }
        if (is_function(op, FunctionKind::scatter) && find_function(op.function)->flops == 0) return;
        FunctionWork made = function_work(program_, op, options_.exact_flops);
        const Unit unit = find_function(op.function)->on_matrix_units ? Unit::matmul : Unit::vector;
        kernel_.work.add_flops(unit, op.arithmetic, made.flops);
        kernel_.work.transcendentals += made.transcendentals;
    }

    void convert(const Op& op) {
        const Dtype from = program_.values[op.inputs.front().value].type.dtype;
        if (from == program_.values[op.output.value].type.dtype) return;
        kernel_.work.add_flops(Unit::vector, info(from).arithmetic, elements(program_.local_dims, op.output.dims));
    }

    [[nodiscard]] Polynomial bytes_of(const MemoryAccess& access) const {
        const BitsPerElement stored = stored_bits(program_.values[access.value].type.dtype);
        return Polynomial(Rational(stored.numerator, stored.denominator * std::int64_t{8})) *
               elements(program_.local_dims, *access.elements);
    }

    // Adds the traffic of one tensor: across the level it lives at, and across every level that a tile crosses.
    void cross(const MemoryAccess& access, const Dims& result_dims) {
        const std::string& home = program_.values[access.value].level;
        Polynomial bytes = bytes_of(access);
        bool home_tiled = false;
        for (const Tile& tile : options_.tiles) {
            if (!has(tile.placed_at, home)) continue;
            Polynomial fetched = bytes;
            for (const std::string& dim : access.write ? *access.dims : result_dims) {
                const auto size = tile.sizes.find(dim);
                if (size != tile.sizes.end() && !has(*access.dims, dim))
                    fetched *= Polynomial::symbol({dim, size->second});
            }
            kernel_.transfers.push_back({access.value, tile.crosses, access.write, fetched});
            home_tiled = home_tiled || tile.crosses == home;
        }
        if (home_tiled) return;
        kernel_.transfers.push_back({access.value, home == "host" ? "pcie" : home, access.write, std::move(bytes)});
    }

    const Program& program_;
    const ProgramKernels& kernels_;
    const WorkOptions& options_;
    KernelWork kernel_;
};

// Builds the work of kernels that are equal but for names only once.
class KernelWorks {
public:
    KernelWorks(const Program& program, const ProgramKernels& kernels, const WorkOptions& options)
        : program_(program), kernels_(kernels), options_(options) {}

    void add(const ProgramKernels::Kernel& kernel, std::vector<KernelWork>& all) {
        constexpr std::size_t few = 64;
        std::optional<KernelSignature> signature;
        if (kernels_.all().size() > few) {
            signature = kernel_signature(program_, {kernel.statements, kernel.count, kernel.fused,
                                                    [&](ValueId id) { return kernels_.stays_inside(kernel, id); },
                                                    [&](ValueId id) { return kernels_.computed(id); }});
        }
        const auto known = signature ? known_.find(signature->text) : known_.end();
        const std::size_t like = known == known_.end() ? all.size() : known->second.kernel;
        // Notes name tensors.
        if (known != known_.end() && all[like].notes.empty()) {
            all.push_back(renamed(all[like], known->second.values, signature->values, kernel));
        } else {
            all.push_back(KernelBuilder(program_, kernels_, options_).build(kernel));
            if (signature && known == known_.end()) {
                known_.emplace(std::move(signature->text), Known{like, std::move(signature->values)});
            }
        }
        all.back().like = like;
    }

private:
    struct Known {
        std::size_t kernel = 0;
        std::vector<ValueId> values;
    };

    static KernelWork renamed(const KernelWork& like, const std::vector<ValueId>& theirs,
                              const std::vector<ValueId>& ours, const ProgramKernels::Kernel& kernel) {
        KernelWork work = like;
        work.statements = kernel.statements;
        for (Transfer& transfer : work.transfers) {
            transfer.value = ours[static_cast<std::size_t>(std::find(theirs.begin(), theirs.end(), transfer.value) -
                                                           theirs.begin())];
        }
        auto next = work.work.messages.begin();
        for (const Statement* statement : kernel.statements) {
            for (const Message& message : statement->messages) (next++)->message = message;
        }
        return work;
    }

    const Program& program_;
    const ProgramKernels& kernels_;
    const WorkOptions& options_;
    std::unordered_map<std::string, Known> known_;  ///< by signature
};

// Positions before a chip's own are read, but nothing is computed for them.
void drop_halos(const LocalDims& local, Dims& dims) {
    Dims own;
    for (const std::string& dim : dims) {
        std::string share = local.without_halo(dim);
        if (!has(own, share)) own.push_back(std::move(share));
    }
    dims = std::move(own);
}

}  // namespace

FunctionWork function_work(const Program& program, const Op& op, bool exact_flops) {
    const FunctionInfo& function = *find_function(op.function);
    Dims dims;
    if (function.kind == FunctionKind::combine) {  // every row once per expert that it was dispatched to
        dims = op.output.dims;
        dims.push_back(op.along.back());
    } else if (function.kind == FunctionKind::match) {  // likewise
        dims = together({op.inputs[1], op.inputs[2]});
    } else if (function.kind == FunctionKind::scatter) {
        dims = op.inputs[2].dims;
    } else if (function.kind == FunctionKind::opaque) {
        if (op.along.empty()) return {};
        return {elements(program.local_dims, op.along), {}};
    } else if (function.written_type()) {
        return {};
    } else {
        dims = together(op.inputs);
        if (function.kind == FunctionKind::correlate) dims.push_back(op.along[1]);
        if (function.looks_back()) drop_halos(program.local_dims, dims);
    }
    Dims rows;
    for (const std::string& dim : dims) {
        if (!has(op.along, dim)) rows.push_back(dim);
    }
    const Polynomial computed = masked(program, op, dims, points(program.local_dims, dims), exact_flops);
    const Polynomial row_count = elements(program.local_dims, rows);
    return {computed * Polynomial(function.flops) + row_count * Polynomial(function.row_flops),
            computed * Polynomial(function.transcendentals) + row_count * Polynomial(function.row_transcendentals)};
}

Result<ProgramWork> derive_work(const Program& program, const WorkOptions& options) {
    if (program.sharded()) {
        return fail("unsupported", "the program is sharded, but there is no mesh",
                    "give a slice and a mesh: --on tpu-v5e:4x4 --mesh X=4,Y=4");
    }
    ProgramKernels kernels(program);
    ROOFLINE_CHECK(kernels.find(program.body, Polynomial(1)));
    ProgramWork work;
    work.local_dims = program.local_dims;
    KernelWorks works(program, kernels, options);
    work.kernels.reserve(kernels.all().size());
    for (const ProgramKernels::Kernel& kernel : kernels.all()) {
        works.add(kernel, work.kernels);
        work.total += work.kernels.back().work.times(kernel.count);
    }
    if (work.total.overflowed()) return fail("overflow", "the work does not fit into 127 bits", "check the sizes");
    return work;
}

Result<std::vector<KernelTensors>> stored_tensors(const Program& program) {
    ProgramKernels kernels(program);
    ROOFLINE_CHECK(kernels.find(program.body, Polynomial(1)));
    std::vector<KernelTensors> all;
    for (const ProgramKernels::Kernel& kernel : kernels.all()) {
        KernelTensors& tensors = all.emplace_back();
        tensors.statements = kernel.statements;
        for (const MemoryAccess& access : KernelTraffic(program, kernels, kernel).accesses()) {
            (access.write ? tensors.writes : tensors.reads).insert(access.value);
        }
    }
    return all;
}

}  // namespace roofline::core
