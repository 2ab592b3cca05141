#include "work/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "program/elementwise_products.hpp"
#include "program/functions.hpp"
#include "program/typing.hpp"
#include "work/contraction.hpp"

namespace roofline::core {

void Work::add_flops(Unit unit, Dtype dtype, const Polynomial& flops) {
    if (flops.is_zero()) return;
    for (ComputeWork& entry : compute) {
        if (entry.unit == unit && entry.dtype == dtype) {
            entry.flops += flops;
            return;
        }
    }
    compute.push_back({unit, dtype, flops});
}

Work& Work::operator+=(const Work& other) {
    for (const ComputeWork& entry : other.compute) add_flops(entry.unit, entry.dtype, entry.flops);
    transcendentals += other.transcendentals;
    for (const auto& [level, traffic] : other.memory) {
        memory[level].read += traffic.read;
        memory[level].write += traffic.write;
    }
    messages.insert(messages.end(), other.messages.begin(), other.messages.end());
    return *this;
}

Work Work::times(const Polynomial& count) const {
    Work work;
    for (const ComputeWork& entry : compute) work.add_flops(entry.unit, entry.dtype, entry.flops * count);
    work.transcendentals = transcendentals * count;
    for (const auto& [level, traffic] : memory) work.memory[level] = {traffic.read * count, traffic.write * count};
    for (const MessageWork& each : messages) work.messages.push_back({each.message, each.count * count});
    return work;
}

Polynomial Work::flops() const {
    Polynomial sum;
    for (const ComputeWork& entry : compute) sum += entry.flops;
    return sum;
}

Polynomial Work::flops(Unit unit) const {
    Polynomial sum;
    for (const ComputeWork& entry : compute) {
        if (entry.unit == unit) sum += entry.flops;
    }
    return sum;
}

bool Work::overflowed() const {
    const bool memory_overflowed = std::any_of(memory.begin(), memory.end(), [](const auto& entry) {
        return entry.second.read.overflowed() || entry.second.write.overflowed();
    });
    return memory_overflowed || transcendentals.overflowed() || flops().overflowed();
}

namespace {

using Dims = std::vector<std::string>;

// The part of an input that is read: all of it, or as many elements as these dimensions hold.
struct Reading {
    Operand operand;
    std::optional<Dims> rows;
};

// Collects the statements of one kernel.
class KernelBuilder {
public:
    /// `computed`, by value: whether a statement computes it.
    KernelBuilder(const Program& program, const std::vector<bool>& computed, const WorkOptions& options)
        : program_(program), computed_(computed), options_(options) {}

    void add(const Statement& statement) {
        kernel_.statements.push_back(&statement);
        for (const Message& message : statement.messages) kernel_.work.messages.push_back({message, Polynomial(1)});
        for (const Op& op : statement.ops) this->op(op, &op == &statement.ops.back());
        for (const ElementwiseProduct& product : elementwise_products(statement)) {
            note_order(order_text(program_, statement, product), order_of(product, program_.sizes).has_value());
        }
    }

    // `stays_inside(v)`: computed in this kernel and not needed after it.
    template <class Predicate>
    KernelWork finish(const Polynomial& count, Predicate stays_inside) {
        Dims result_dims;
        const auto stored = [&](const Writing& writing) {
            const ValueId id = writing.operand.value;
            const Value& value = program_.values[id];
            return in_place_of_.contains(id) || value.carried || value.cache || !stays_inside(id);
        };
        for (const Writing& writing : writings_) {
            if (!stored(writing)) continue;
            for (const std::string& dim : writing.operand.dims) {
                if (!has(result_dims, dim)) result_dims.push_back(dim);
            }
        }
        for (Reading& reading : readings_) {
            // A tensor that was updated in place here is still in memory, except for the update.
            const auto updated = in_place_of_.find(reading.operand.value);
            if (updated != in_place_of_.end()) reading.operand.value = updated->second;
            if (!made_.contains(reading.operand.value)) read(reading, result_dims);
        }
        for (const Writing& writing : writings_) {
            if (stored(writing)) write(writing);
        }
        for (const Transfer& transfer : kernel_.transfers) {
            Traffic& traffic = kernel_.work.memory[transfer.level];
            (transfer.write ? traffic.write : traffic.read) += transfer.bytes;
        }
        kernel_.count = count;
        return std::move(kernel_);
    }

private:
    struct Writing {
        Operand operand;
        Polynomial elements;
    };

    void op(const Op& op, bool last) {
        switch (op.kind) {
            case OpKind::contract:
                contraction(op);
                read_all(op.inputs);
                break;
            case OpKind::apply:
                apply(op, last);
                break;
            case OpKind::move:
                if (!move(op)) return;
                break;
        }
        const Value& output = program_.values[op.output.value];
        if (output.intermediate) return;
        const bool in_place = op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::scatter;
        if (in_place) in_place_of_.emplace(op.output.value, op.inputs[0].value);
        if (made_.insert(op.output.value).second) {
            writings_.push_back(
                {op.output, elements(program_.local_dims, in_place ? op.inputs[2].dims : op.output.dims)});
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

    void apply(const Op& op, bool last) {
        const FunctionInfo& function = *find_function(op.function);
        if (function.kind == FunctionKind::gather) {
            readings_.push_back({op.inputs[0], op.output.dims});
            add_reading(op.inputs[1]);
            if (!computed_[op.inputs[0].value]) {
                kernel_.notes.push_back(fmt::format("of {} only the gathered rows are read, each once",
                                                    value_name(program_, op.inputs[0].value)));
            }
            return;
        }
        if (function.kind == FunctionKind::scatter) {
            if (!last) add_reading(op.inputs[0]);  // nested, so the whole tensor is read
            add_reading(op.inputs[1]);
            add_reading(op.inputs[2]);
            return;
        }
        read_all(op.inputs);
        FunctionWork made = function_work(program_, op, options_.exact_flops);
        kernel_.work.add_flops(Unit::vector, op.arithmetic, made.flops);
        kernel_.work.transcendentals += made.transcendentals;
    }

    // Whether a move does anything: the same numbers in the same dtype at the same level are only another layout.
    bool move(const Op& op) {
        const Value& from = program_.values[op.inputs.front().value];
        const Value& to = program_.values[op.output.value];
        if (from.type.dtype == to.type.dtype && from.level == to.level) return false;
        read_all(op.inputs);
        if (from.type.dtype != to.type.dtype) {
            kernel_.work.add_flops(Unit::vector, info(from.type.dtype).arithmetic,
                                   elements(program_.local_dims, op.output.dims));
        }
        return true;
    }

    void read_all(const std::vector<Operand>& operands) {
        for (const Operand& operand : operands) add_reading(operand);
    }

    void add_reading(const Operand& operand) { readings_.push_back({operand, {}}); }

    void read(const Reading& reading, const Dims& result_dims) {
        const Value& value = program_.values[reading.operand.value];
        if (value.intermediate) return;
        if (!reading.rows) {
            if (!read_whole_.insert(reading.operand.value).second) return;  // a value used twice is read once
        } else if (reads_whole(reading.operand.value)) {
            return;
        }
        const Dims& dims = reading.rows ? *reading.rows : reading.operand.dims;
        cross(reading.operand.value, false, bits(value) * elements(program_.local_dims, dims), dims, result_dims);
    }

    [[nodiscard]] bool reads_whole(ValueId id) const {
        return std::any_of(readings_.begin(), readings_.end(),
                           [&](const Reading& other) { return other.operand.value == id && !other.rows; });
    }

    void write(const Writing& writing) {
        const Value& value = program_.values[writing.operand.value];
        cross(writing.operand.value, true, bits(value) * writing.elements, writing.operand.dims, writing.operand.dims);
    }

    static Polynomial bits(const Value& value) {
        const BitsPerElement stored = stored_bits(value.type.dtype);
        return Polynomial(Rational(stored.numerator, stored.denominator * std::int64_t{8}));
    }

    // Adds the traffic of one tensor: across the level it lives at, and across every level that a tile crosses.
    void cross(ValueId id, bool write, const Polynomial& bytes, const Dims& dims, const Dims& result_dims) {
        const std::string& home = program_.values[id].level;
        bool home_tiled = false;
        for (const Tile& tile : options_.tiles) {
            if (!has(tile.placed_at, home)) continue;
            Polynomial fetched = bytes;
            for (const std::string& dim : result_dims) {
                const auto size = tile.sizes.find(dim);
                if (size != tile.sizes.end() && !has(dims, dim)) fetched *= Polynomial::symbol({dim, size->second});
            }
            kernel_.transfers.push_back({id, tile.crosses, write, fetched});
            home_tiled = home_tiled || tile.crosses == home;
        }
        if (!home_tiled) kernel_.transfers.push_back({id, home == "host" ? "pcie" : home, write, bytes});
    }

    const Program& program_;
    const std::vector<bool>& computed_;
    const WorkOptions& options_;
    KernelWork kernel_;
    std::vector<Reading> readings_;
    std::vector<Writing> writings_;
    std::set<ValueId> made_;
    std::map<ValueId, ValueId> in_place_of_;  ///< a scatter's result and the tensor it updates
    std::set<ValueId> read_whole_;
};

class Derivation {
public:
    Derivation(const Program& program, const WorkOptions& options)
        : program_(program),
          options_(options),
          last_use_(program.values.size(), 0),
          computed_(program.values.size(), false) {
        note_uses(program.body);
    }

    Result<ProgramWork> run() {
        position_ = 0;
        result_.local_dims = program_.local_dims;
        ROOFLINE_CHECK(block(program_.body, Polynomial(1)));
        for (const KernelWork& kernel : result_.kernels) result_.total += kernel.work.times(kernel.count);
        if (result_.total.overflowed()) {
            return fail("overflow", "the work does not fit into 127 bits", "check the sizes");
        }
        return std::move(result_);
    }

private:
    // Records the position of the last statement that reads each value, and which values are computed.
    void note_uses(const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                note_uses(*inner);
                continue;
            }
            ++position_;
            for (const Op& op : std::get<Statement>(node).ops) {
                for (const Operand& input : op.inputs) last_use_[input.value] = position_;
                computed_[op.output.value] = true;
            }
        }
    }

    Status block(const Block& block, const Polynomial& count) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                ++position_;
                KernelBuilder builder(program_, computed_, options_);
                builder.add(*statement);
                result_.kernels.push_back(builder.finish(count, [](ValueId) { return false; }));
                continue;
            }
            const Block& inner = std::get<Block>(node);
            if (inner.kind == Block::Kind::fuse) {
                ROOFLINE_CHECK(fused(inner, count));
                continue;
            }
            ROOFLINE_CHECK(this->block(inner, count * Polynomial::dim(inner.count)));
        }
        return {};
    }

    Status fused(const Block& block, const Polynomial& count) {
        KernelBuilder builder(program_, computed_, options_);
        const std::size_t before = position_;
        ROOFLINE_CHECK(collect(block, builder));
        const std::size_t end = position_;
        if (end == before) return {};  // a block without statements launches nothing
        result_.kernels.push_back(
            builder.finish(count, [&](ValueId id) { return last_use_[id] > before && last_use_[id] <= end; }));
        return {};
    }

    Status collect(const Block& block, KernelBuilder& builder) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                ++position_;
                builder.add(*statement);
                continue;
            }
            const Block& inner = std::get<Block>(node);
            if (inner.kind == Block::Kind::repeat) {
                auto error = fail("unsupported", "a `repeat` is inside a `fuse`",
                                  "put the `fuse` inside the `repeat`: one kernel per iteration");
                error.value().place = Place{"", inner.span.line, inner.span.column, "", 0};
                return error;
            }
            ROOFLINE_CHECK(collect(inner, builder));
        }
        return {};
    }

    const Program& program_;
    const WorkOptions& options_;
    std::vector<std::size_t> last_use_;
    std::vector<bool> computed_;
    std::size_t position_ = 0;
    ProgramWork result_;
};

}  // namespace

namespace {

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
    return Derivation(program, options).run();
}

}  // namespace roofline::core
