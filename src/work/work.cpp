#include "work/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <unordered_map>

#include "program/elementwise_products.hpp"
#include "program/functions.hpp"
#include "program/typing.hpp"
#include "work/contraction.hpp"
#include "work/kernel_signature.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

// The kernels of a program: its statements, and its fuse blocks.
class Kernels {
public:
    struct Kernel {
        std::vector<const Statement*> statements;
        Polynomial count;        ///< how often it runs
        bool fused = false;      ///< a fuse block
        std::size_t before = 0;  ///< positions of its statements in the program: after this one ...
        std::size_t end = 0;     ///< ... up to this one
    };

    explicit Kernels(const Program& program)
        : last_use_(program.values.size(), 0), computed_(program.values.size(), false) {
        for (ValueId id = 0; id < program.values.size(); ++id) memory_of_.push_back(id);
    }

    Status find(const Block& block, const Polynomial& count) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                Kernel& kernel = all_.emplace_back();
                kernel.count = count;
                add(kernel, *statement);
                note_view(*statement);
                continue;
            }
            const Block& inner = std::get<Block>(node);
            if (inner.kind != Block::Kind::fuse) {
                ROOFLINE_CHECK(find(inner, count * Polynomial::dim(inner.count)));
                continue;
            }
            Kernel kernel{{}, count, true, position_, 0};
            ROOFLINE_CHECK(collect(inner, kernel));
            kernel.end = position_;
            // A block without statements launches nothing.
            if (!kernel.statements.empty()) all_.push_back(std::move(kernel));
        }
        return {};
    }

    [[nodiscard]] const std::vector<Kernel>& all() const { return all_; }
    /// Whether a statement of the program computes the value.
    [[nodiscard]] bool computed(ValueId id) const { return computed_[id]; }
    /// The value whose memory a value is: the argument of a view, or itself.
    [[nodiscard]] ValueId memory_of(ValueId id) const { return memory_of_[id]; }
    /// Whether a value that the kernel computes is not needed after it.
    [[nodiscard]] bool stays_inside(const Kernel& kernel, ValueId id) const {
        return kernel.fused && last_use_[id] > kernel.before && last_use_[id] <= kernel.end;
    }

private:
    Status collect(const Block& block, Kernel& kernel) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                add(kernel, *statement);
                continue;
            }
            const Block& inner = std::get<Block>(node);
            if (inner.kind == Block::Kind::repeat) {
                auto error = fail("unsupported", "a `repeat` is inside a `fuse`",
                                  "put the `fuse` inside the `repeat`: one kernel per iteration");
                error.value().place = Place{"", inner.span.line, inner.span.column, "", 0};
                return error;
            }
            ROOFLINE_CHECK(collect(inner, kernel));
        }
        return {};
    }

    void add(Kernel& kernel, const Statement& statement) {
        ++position_;
        kernel.statements.push_back(&statement);
        for (const Op& op : statement.ops) {
            for (const Operand& input : op.inputs) last_use_[input.value] = position_;
            computed_[op.output.value] = true;
        }
    }

    void note_view(const Statement& statement) {
        const Op& op = statement.ops.back();
        const bool view = statement.ops.size() == 1 && op.kind == OpKind::apply && op.function == "view";
        if (view) memory_of_[op.output.value] = memory_of_[op.inputs.front().value];
    }

    std::vector<Kernel> all_;
    std::vector<ValueId> memory_of_;
    std::vector<std::size_t> last_use_;  ///< by value: the position of the last statement that reads it
    std::vector<bool> computed_;
    std::size_t position_ = 0;
};

/// A tensor, or a part of it, that a kernel reads from memory or writes to it.
struct MemoryAccess {
    ValueId value = 0;
    bool write = false;
    const Dims* elements = nullptr;  ///< dimensions of what is read or written
    const Dims* dims = nullptr;      ///< likewise; of a tensor that is updated in place, those of the whole tensor
};

// Whether a move does anything: the same numbers in the same dtype at the same level are only another layout.
bool moves_data(const Program& program, const Op& op) {
    const Value& from = program.values[op.inputs.front().value];
    const Value& to = program.values[op.output.value];
    return from.type.dtype != to.type.dtype || from.level != to.level;
}

bool is_function(const Op& op, FunctionKind kind) {
    return op.kind == OpKind::apply && find_function(op.function)->kind == kind;
}

// Finds the tensors that cross memory in one kernel.
class KernelTraffic {
public:
    KernelTraffic(const Program& program, const Kernels& kernels, const Kernels::Kernel& kernel)
        : program_(program), kernels_(kernels), kernel_(kernel) {
        for (const Statement* statement : kernel.statements) {
            for (const Op& op : statement->ops) add(op, &op == &statement->ops.back(), !statement->messages.empty());
        }
    }

    std::vector<MemoryAccess> accesses() {
        find_leaving();
        for (Reading& reading : readings_) {
            // A tensor that was updated in place here is still in memory, except for the update.
            const auto updated = in_place_of_.find(reading.value);
            if (updated != in_place_of_.end()) reading.value = updated->second;
            if (!made_.contains(reading.value)) read(reading);
        }
        for (const Writing& writing : writings_) {
            if (!stored(writing)) continue;
            accesses_.push_back({writing.operand->value, true, writing.elements, &writing.operand->dims});
        }
        return std::move(accesses_);
    }

    /// The dimensions of all tensors that the kernel writes.
    [[nodiscard]] Dims result_dims() {
        find_leaving();
        Dims dims;
        for (const Writing& writing : writings_) {
            if (!stored(writing)) continue;
            for (const std::string& dim : writing.operand->dims) {
                if (!has(dims, dim)) dims.push_back(dim);
            }
        }
        return dims;
    }

private:
    // An input that is read: all of it, or as many elements as these dimensions hold.
    struct Reading {
        ValueId value = 0;
        const Dims* whole = nullptr;
        const Dims* rows = nullptr;
    };
    struct Writing {
        const Operand* operand = nullptr;
        const Dims* elements = nullptr;
    };

    void add(const Op& op, bool last, bool exchanged) {
        if (op.kind == OpKind::move && !moves_data(program_, op)) {
            relaid(op.inputs.front().value, op.output.value, exchanged);
            return;
        }
        // A view alone is the memory of its argument; inside a kernel it is only another name for what is there.
        if (is_function(op, FunctionKind::receive) || (is_function(op, FunctionKind::view) && !kernel_.fused)) return;
        const bool in_place = is_function(op, FunctionKind::scatter);
        if (op.kind == OpKind::apply && find_function(op.function)->reads_part) {
            add_slice(op);
        } else if (is_function(op, FunctionKind::gather)) {
            readings_.push_back({op.inputs[0].value, &op.inputs[0].dims, &op.output.dims});
            readings_.push_back({op.inputs[1].value, &op.inputs[1].dims, nullptr});
        } else {
            for (const Operand& input : op.inputs) {
                // A scatter reads the tensor that it writes to only if it is nested.
                const bool kept = in_place && last && &input == &op.inputs.front();
                if (!kept) {
                    readings_.push_back({input.value, &input.dims, nullptr});
                } else if (find_function(op.function)->flops > 0) {  // rows that are added to are read
                    readings_.push_back({input.value, &input.dims, &op.inputs[2].dims});
                }
            }
        }
        // A tensor that this kernel makes is in no memory yet: the kernel writes all of it, not only the update.
        const bool updates =
            in_place && !program_.values[op.output.value].intermediate && !made_here(op.inputs[0].value);
        if (updates) in_place_of_.emplace(op.output.value, op.inputs[0].value);
        if (made_.insert(op.output.value).second) {
            writings_.push_back({&op.output, updates ? &op.inputs[2].dims : &op.output.dims});
        }
    }

    // What the kernel makes has two names, unless a collective reads it from memory and writes it in its new layout.
    void relaid(ValueId from, ValueId to, bool exchanged) {
        if (!made_.contains(from)) return;
        relaid_.emplace_back(from, to);
        const bool named = !program_.values[from].intermediate && !program_.values[to].intermediate;
        if (exchanged && named) {
            leaving_.insert(from);
        } else {
            made_.insert(to);
        }
    }

    // Whether the kernel has computed a tensor, and not only updated one in place.
    [[nodiscard]] bool made_here(ValueId id) const {
        const ValueId memory = kernels_.memory_of(id);
        return made_.contains(memory) && !in_place_of_.contains(memory);
    }

    // The first argument is sliced; the others are places, which are read whole.
    void add_slice(const Op& op) {
        for (const Operand& input : op.inputs) {
            const bool sliced = &input == &op.inputs.front();
            readings_.push_back({input.value, &input.dims, sliced ? &op.output.dims : nullptr});
        }
    }

    [[nodiscard]] bool stored(const Writing& writing) const {
        const ValueId id = writing.operand->value;
        return in_place_of_.contains(id) || leaving_.contains(id) || needed_later(id);
    }

    [[nodiscard]] bool needed_later(ValueId id) const {
        const Value& value = program_.values[id];
        return !value.intermediate && (value.carried || value.cache || !kernels_.stays_inside(kernel_, id));
    }

    // What is needed after the kernel under its second name is written once.
    void find_leaving() {
        for (const auto& [from, to] : std::views::reverse(relaid_)) {
            if (leaving_.contains(to) || needed_later(to)) leaving_.insert(from);
        }
    }

    void read(const Reading& reading) {
        if (program_.values[reading.value].intermediate) return;
        if (reading.rows == nullptr) {
            // A value used twice is read once.
            if (!read_whole_.insert(kernels_.memory_of(reading.value)).second) return;
        } else if (reads_whole(reading.value)) {
            return;
        }
        const Dims* dims = reading.rows != nullptr ? reading.rows : reading.whole;
        accesses_.push_back({reading.value, false, dims, dims});
    }

    [[nodiscard]] bool reads_whole(ValueId id) const {
        return std::any_of(readings_.begin(), readings_.end(), [&](const Reading& other) {
            return kernels_.memory_of(other.value) == kernels_.memory_of(id) && other.rows == nullptr;
        });
    }

    const Program& program_;
    const Kernels& kernels_;
    const Kernels::Kernel& kernel_;
    std::vector<Reading> readings_;
    std::vector<Writing> writings_;
    std::set<ValueId> made_;
    std::vector<std::pair<ValueId, ValueId>> relaid_;  ///< two names of the same numbers, in different layouts
    std::set<ValueId> leaving_;                        ///< values that are needed outside under another name
    std::map<ValueId, ValueId> in_place_of_;           ///< a scatter's result and the tensor it updates
    std::set<ValueId> read_whole_;
    std::vector<MemoryAccess> accesses_;
};

class KernelBuilder {
public:
    KernelBuilder(const Program& program, const Kernels& kernels, const WorkOptions& options)
        : program_(program), kernels_(kernels), options_(options) {}

    KernelWork build(const Kernels::Kernel& kernel) {
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
    const Kernels& kernels_;
    const WorkOptions& options_;
    KernelWork kernel_;
};

// Builds the work of kernels that are equal but for names only once.
class KernelWorks {
public:
    KernelWorks(const Program& program, const Kernels& kernels, const WorkOptions& options)
        : program_(program), kernels_(kernels), options_(options) {}

    void add(const Kernels::Kernel& kernel, std::vector<KernelWork>& all) {
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
                              const std::vector<ValueId>& ours, const Kernels::Kernel& kernel) {
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
    const Kernels& kernels_;
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
    Kernels kernels(program);
    ROOFLINE_CHECK(kernels.find(program.body, Polynomial(1)));
    ProgramWork work;
    work.local_dims = program.local_dims;
    KernelWorks works(program, kernels, options);
    work.kernels.reserve(kernels.all().size());
    for (const Kernels::Kernel& kernel : kernels.all()) {
        works.add(kernel, work.kernels);
        work.total += work.kernels.back().work.times(kernel.count);
    }
    if (work.total.overflowed()) return fail("overflow", "the work does not fit into 127 bits", "check the sizes");
    return work;
}

Result<std::vector<KernelTensors>> stored_tensors(const Program& program) {
    Kernels kernels(program);
    ROOFLINE_CHECK(kernels.find(program.body, Polynomial(1)));
    std::vector<KernelTensors> all;
    for (const Kernels::Kernel& kernel : kernels.all()) {
        KernelTensors& tensors = all.emplace_back();
        tensors.statements = kernel.statements;
        for (const MemoryAccess& access : KernelTraffic(program, kernels, kernel).accesses()) {
            (access.write ? tensors.writes : tensors.reads).insert(access.value);
        }
    }
    return all;
}

}  // namespace roofline::core
