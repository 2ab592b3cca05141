#include "measure/run/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "measure/run/elements.hpp"
#include "measure/run/fill.hpp"
#include "measure/run/step_builder.hpp"
#include "measure/stop.hpp"
#include "program/functions.hpp"

namespace roofline {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A number, and how far from it one that was computed in the arithmetic's own precision may be.
struct Bounded {
    double value = 0;
    double bound = 0;
};

/// Half a unit in the last place, relative.
double rounding(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return 0x1p-53;
        case Dtype::bf16:
            return 0x1p-8;
        default:
            return 0x1p-24;
    }
}

double wrapped(std::uint64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

std::uint64_t bits_of(double value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); }

/// An operand with its dimensions as places of the element that is computed.
struct ElementReader {
    ValueId value = 0;
    int made_by = -1;  ///< operation of the statement, or memory
    HeldValue held;
    std::vector<std::size_t> slots;
    std::vector<std::int64_t> strides;
};

struct RefOp {
    const Op* op = nullptr;
    std::vector<ElementReader> inputs;
    std::vector<std::size_t> output;  ///< slots
    std::vector<std::size_t> summed;  ///< slots that a product sums, or a function works along
    std::vector<std::size_t> taps;    ///< of a convolution
    double fill = 0;
    bool whole = false;  ///< computed in whole numbers
    double unit = 0x1p-24;
    // the row that was computed last, for functions that work along one
    std::vector<std::int64_t> row_at;
    std::vector<Bounded> row;
};

class Reference {
public:
    Reference(const Program& program, const Statement& statement, const std::function<HeldValue(ValueId)>& held)
        : program_(program) {
        std::map<ValueId, int> made;
        for (const Op& op : statement.ops) {
            RefOp each;
            each.op = &op;
            each.whole = sums_in(op.arithmetic) == Dtype::int32;
            each.unit = rounding(sums_in(op.arithmetic));
            std::vector<std::string> all;
            for (const Operand& input : op.inputs) {
                ElementReader reader;
                reader.value = input.value;
                if (const auto found = made.find(input.value); found != made.end()) {
                    reader.made_by = found->second;
                } else {
                    reader.held = held(input.value);
                }
                std::int64_t stride = 1;
                reader.strides.resize(input.dims.size());
                for (std::size_t i = input.dims.size(); i-- > 0;) {
                    reader.strides[i] = stride;
                    stride *= sizes_[slot(input.dims[i])];
                }
                for (const std::string& dim : input.dims) {
                    reader.slots.push_back(slot(dim));
                    if (!has(all, dim)) all.push_back(dim);
                }
                each.inputs.push_back(std::move(reader));
            }
            for (const std::string& dim : op.output.dims) each.output.push_back(slot(dim));
            if (op.kind == OpKind::contract) {
                for (const std::string& dim : all) {
                    if (!has(op.output.dims, dim)) each.summed.push_back(slot(dim));
                }
            } else {
                for (const std::string& dim : op.along) each.summed.push_back(slot(dim));
            }
            if (op.function == "conv" || op.function == "dconv") {
                for (const std::size_t slot : each.inputs[1].slots) {
                    if (std::find(each.output.begin(), each.output.end(), slot) == each.output.end())
                        each.taps.push_back(slot);
                }
            }
            if (op.function == "causal") each.fill = causal_fill(program, op.output.value);
            made[op.output.value] = static_cast<int>(ops_.size());
            ops_.push_back(std::move(each));
        }
        place_.resize(sizes_.size());
    }

    [[nodiscard]] const RefOp& last() const { return ops_.back(); }
    [[nodiscard]] std::int64_t size(std::size_t slot) const { return sizes_[slot]; }
    std::vector<std::int64_t>& place() { return place_; }
    Bounded result() { return made(static_cast<int>(ops_.size()) - 1); }
    Bounded input_of_last(std::size_t i) { return read(ops_.back().inputs[i]); }

    /// Whether nobody needs to compute the element: a mask with a window lies over it.
    [[nodiscard]] bool beyond_window(const Value& value) const {
        return std::any_of(value.masks.begin(), value.masks.end(), [&](const MaskedPlane& plane) {
            const auto row = slots_.find(plane.rows);
            const auto column = slots_.find(plane.columns);
            if (plane.window.empty() || row == slots_.end() || column == slots_.end()) return false;
            const std::int64_t shift = std::max<std::int64_t>(0, sizes_[column->second] - sizes_[row->second]);
            const std::int64_t before = place_[row->second] + shift - place_[column->second];
            return before < 0 || before >= size_of(program_, plane.window).value_or(before + 1);
        });
    }

    /// Steps that one element takes, about.
    [[nodiscard]] double cost() const { return cost(static_cast<int>(ops_.size()) - 1, {}); }

private:
    std::size_t slot(const std::string& dim) {
        const auto [found, added] = slots_.try_emplace(dim, sizes_.size());
        if (added) sizes_.push_back(size_of(program_, dim).value_or(1));
        return found->second;
    }

    [[nodiscard]] double places(const std::vector<std::size_t>& slots) const {
        double count = 1;
        for (const std::size_t slot : slots) count *= static_cast<double>(sizes_[slot]);
        return count;
    }

    static std::vector<std::size_t> joined(std::vector<std::size_t> slots, const std::vector<std::size_t>& more) {
        for (const std::size_t slot : more) {
            if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
        }
        return slots;
    }

    /// Steps that an operation takes, about, for all places of these slots.
    [[nodiscard]] double cost(int index, const std::vector<std::size_t>& slots) const {
        const RefOp& op = ops_[static_cast<std::size_t>(index)];
        const auto of_inputs = [&](const std::vector<std::size_t>& at) {
            double sum = places(at);
            for (const ElementReader& input : op.inputs)
                sum += input.made_by >= 0 ? cost(input.made_by, at) : places(at);
            return sum;
        };
        if (op.op->kind == OpKind::contract) return of_inputs(joined(slots, op.summed));
        if (!op.taps.empty()) return of_inputs(joined(slots, op.taps));
        if (!works_along(op)) return of_inputs(slots);
        // a row stays until another one is asked for: along() has its key
        const bool same_row = std::none_of(slots.begin(), slots.end(), [&](std::size_t slot) {
            return std::find(op.output.begin(), op.output.end(), slot) != op.output.end() &&
                   std::find(op.summed.begin(), op.summed.end(), slot) == op.summed.end();
        });
        const double row = of_inputs(op.summed);
        return same_row ? row + places(slots) : row * places(slots);
    }

    /// True of what along() computes.
    static bool works_along(const RefOp& op) {
        const FunctionInfo* function = op.op->kind == OpKind::move ? nullptr : find_function(op.op->function);
        if (function == nullptr || op.op->function == "prior") return false;
        const FunctionKind kind = function->kind;
        return kind != FunctionKind::map && kind != FunctionKind::mask && kind != FunctionKind::gather &&
               kind != FunctionKind::scatter && kind != FunctionKind::slide && kind != FunctionKind::expand;
    }

    Bounded read(const ElementReader& reader) {
        if (reader.made_by >= 0) return made(reader.made_by);
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < reader.slots.size(); ++i) offset += place_[reader.slots[i]] * reader.strides[i];
        const Dtype dtype = reader.held.dtype;
        double value = 0;
        load_elements(
            dtype,
            static_cast<const char*>(reader.held.bytes) + offset * static_cast<std::int64_t>(element_bytes(dtype)), 0,
            &value, 1);
        return {value, 0};
    }

    /// Visits every place of these dimensions and comes back to where it was.
    template <class Visit>
    void over(const std::vector<std::size_t>& slots, Visit visit) {
        std::vector<std::int64_t> before;
        for (const std::size_t slot : slots) {
            before.push_back(place_[slot]);
            place_[slot] = 0;
        }
        while (true) {
            visit();
            std::size_t i = slots.size();
            while (i > 0 && ++place_[slots[i - 1]] == sizes_[slots[i - 1]]) place_[slots[--i]] = 0;
            if (i == 0) break;
        }
        for (std::size_t i = 0; i < slots.size(); ++i) place_[slots[i]] = before[i];
    }

    Bounded made(int index) {
        RefOp& op = ops_[static_cast<std::size_t>(index)];
        if (op.op->kind == OpKind::contract) return product(op);
        if (op.op->kind == OpKind::move) return read(op.inputs.front());
        switch (find_function(op.op->function)->kind) {
            case FunctionKind::map:
                return op.op->function == "rope" ? turned(op) : mapped(op);
            case FunctionKind::mask: {
                const std::int64_t shift = std::max<std::int64_t>(0, sizes_[op.summed[1]] - sizes_[op.summed[0]]);
                const std::int64_t before = place_[op.summed[0]] + shift - place_[op.summed[1]];
                const bool seen = before >= 0 && (op.summed.size() < 3 || before < sizes_[op.summed[2]]);
                if (!seen) return {op.fill, 0};
                return read(op.inputs.front());
            }
            case FunctionKind::gather: {
                const std::size_t along = op.summed.front();
                const std::int64_t before = place_[along];
                place_[along] = static_cast<std::int64_t>(read(op.inputs[1]).value);
                const Bounded row = read(op.inputs[0]);
                place_[along] = before;
                return row;
            }
            case FunctionKind::scatter:
                return scattered(op);
            case FunctionKind::slide:
                return slid(op);
            case FunctionKind::expand:
                return read(op.inputs.front());
            default:
                return works_along(op) ? along(op) : slid(op);
        }
    }

    Bounded product(RefOp& op) {
        double sum = 0;
        double bound = 0;
        double magnitude = 0;
        std::uint64_t whole = 0;
        double terms = 0;
        over(op.summed, [&] {
            double value = 1;
            double relative = 0;
            std::uint64_t exact = 1;
            for (const ElementReader& input : op.inputs) {
                const Bounded factor = read(input);
                value *= factor.value;
                if (factor.bound > 0) relative += factor.bound / std::max(std::abs(factor.value), 1e-300);
                if (op.whole) exact *= bits_of(factor.value);
            }
            sum += value;
            bound += std::abs(value) * relative;
            magnitude += std::abs(value);
            whole += exact;
            ++terms;
        });
        if (op.whole) return {wrapped(whole), bound};
        return {sum, bound + magnitude * op.unit * (4 * std::sqrt(terms) + 8)};
    }

    Bounded turned(RefOp& op) {
        const Bounded here = read(op.inputs.front());
        Bounded there = here;
        double sign = -1;
        if (!op.output.empty()) {
            const std::size_t last = op.output.back();
            const std::int64_t before = place_[last];
            sign = before % 2 == 0 ? -1 : 1;
            place_[last] = std::min<std::int64_t>(before ^ 1, sizes_[last] - 1);
            there = read(op.inputs.front());
            place_[last] = before;
        }
        const double value = here.value * std::cos(1.0) + sign * there.value * std::sin(1.0);
        return {value, here.bound + there.bound + 4 * op.unit * (std::abs(here.value) + std::abs(there.value))};
    }

    [[nodiscard]] static double apply(const std::string& f, const double* x) {
        const double a = x[0];
        const double b = x[1];
        if (f == "add") return a + b;
        if (f == "sub") return a - b;
        if (f == "mul") return a * b;
        if (f == "div") return a / b;
        if (f == "neg") return -a;
        if (f == "abs") return std::abs(a);
        if (f == "square") return a * a;
        if (f == "maximum") return std::max(a, b);
        if (f == "minimum") return std::min(a, b);
        if (f == "where") return a != 0 ? b : x[2];
        if (f == "relu") return std::max(a, 0.0);
        if (f == "relu2") return std::max(a, 0.0) * std::max(a, 0.0);
        if (f == "exp") return std::exp(a);
        if (f == "log") return std::log(a);
        if (f == "sqrt") return std::sqrt(a);
        if (f == "rsqrt") return 1 / std::sqrt(a);
        if (f == "sin") return std::sin(a);
        if (f == "cos") return std::cos(a);
        if (f == "tanh") return std::tanh(a);
        if (f == "erf") return std::erf(a);
        if (f == "sigmoid") return 1 / (1 + std::exp(-a));
        if (f == "softplus") return std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)));
        if (f == "silu") return a / (1 + std::exp(-a));
        if (f == "gelu") {
            return a / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a)));
        }
        return a;  // convert
    }

    Bounded mapped(RefOp& op) {
        double x[3] = {};
        double b[3] = {};
        std::size_t next = 0;
        const std::size_t count = op.inputs.size() + op.op->constants.size();
        for (std::size_t i = 0; i < count; ++i) {
            const auto& constants = op.op->constants;
            const auto constant =
                std::find_if(constants.begin(), constants.end(), [&](const Constant& c) { return c.position == i; });
            if (constant != constants.end()) {
                x[i] = op.whole ? std::trunc(constant->value) : constant->value;
                b[i] = op.whole ? 0 : op.unit * std::abs(x[i]);
                continue;
            }
            const Bounded input = read(op.inputs[next++]);
            x[i] = input.value;
            b[i] = input.bound;
        }
        double value = apply(op.op->function, x);
        if (op.whole) {
            if (op.op->function == "mul" || op.op->function == "square" || op.op->function == "relu2") {
                const double left = op.op->function == "relu2" ? std::max(x[0], 0.0) : x[0];
                value = wrapped(bits_of(left) * bits_of(op.op->function == "mul" ? x[1] : left));
            } else if (op.op->function == "div") {
                value = std::trunc(value);
            } else {
                value = wrapped(bits_of(std::nearbyint(value)));
            }
            return {value, 0};
        }
        // how far each argument's error moves the result, and the function's own rounding
        double bound = 32 * op.unit * std::abs(value) + 1e-42;
        for (std::size_t i = 0; i < count; ++i) {
            if (!(b[i] > 0)) continue;
            const double at = x[i];
            x[i] = at + b[i];
            const double up = std::abs(apply(op.op->function, x) - value);
            x[i] = at - b[i];
            const double down = std::abs(apply(op.op->function, x) - value);
            x[i] = at;
            bound += std::max(up, down);
        }
        // what is small because large terms cancel is rounded as they are
        if (op.op->function == "gelu" || op.op->function == "silu") bound += 8 * op.unit * std::abs(x[0]);
        if (op.op->function == "softplus") bound += 8 * op.unit;
        if (op.op->function == "sin" || op.op->function == "cos") bound += 8 * op.unit;
        return {value, bound};
    }

    // Of several updates of one place the last one stays.
    Bounded scattered(RefOp& op) {
        const std::size_t along = op.summed.front();
        const std::int64_t at = place_[along];
        std::vector<std::size_t> free;
        for (const std::size_t slot : op.inputs[1].slots) {
            if (std::find(op.output.begin(), op.output.end(), slot) == op.output.end()) free.push_back(slot);
        }
        std::optional<Bounded> found;
        over(free, [&] {
            if (static_cast<std::int64_t>(read(op.inputs[1]).value) == at) found = read(op.inputs[2]);
        });
        return found ? *found : read(op.inputs[0]);
    }

    // Of what stood before this place, or stands behind it, with a weight for each step; 0 beyond the ends.
    Bounded slid(RefOp& op) {
        const std::size_t along = op.summed.front();
        const std::int64_t at = place_[along];
        Bounded sum;
        double magnitude = 0;
        double terms = 0;
        over(op.taps, [&] {
            std::int64_t there = op.op->function == "prior" ? at - 1 : at;
            for (const std::size_t tap : op.taps) there += op.op->function == "conv" ? -place_[tap] : place_[tap];
            if (there < 0 || there >= sizes_[along]) return;
            place_[along] = there;
            const Bounded x = read(op.inputs.front());
            place_[along] = at;
            const Bounded weight = op.inputs.size() > 1 ? read(op.inputs[1]) : Bounded{1, 0};
            sum.value += x.value * weight.value;
            sum.bound += std::abs(x.value) * weight.bound + std::abs(weight.value) * x.bound;
            magnitude += std::abs(x.value * weight.value);
            ++terms;
        });
        if (op.op->function == "prior") return sum;
        return {sum.value, sum.bound + magnitude * op.unit * (4 * std::sqrt(terms) + 8)};
    }

    // A row of what works along dimensions, kept until another one is asked for.
    Bounded along(RefOp& op) {
        std::vector<std::int64_t> at = place_;
        for (const std::size_t slot : op.summed) at[slot] = -1;
        // what neither the operation's inputs nor their inputs have makes no difference, but comparing all is right anyway
        std::vector<std::int64_t> key;
        for (const std::size_t slot : op.output) key.push_back(at[slot]);
        if (op.row_at != key || op.row.empty()) {
            std::vector<Bounded> row;
            std::vector<Bounded> second;
            over(op.summed, [&] {
                row.push_back(read(op.inputs.front()));
                if (op.inputs.size() > 1) second.push_back(read(op.inputs[1]));
            });
            finish_row(op, row, second);
            op.row = std::move(row);
            op.row_at = std::move(key);
        }
        if (find_function(op.op->function)->kind == FunctionKind::reduce) return op.row.front();
        std::size_t index = 0;
        for (const std::size_t slot : op.summed) {
            index = index * static_cast<std::size_t>(sizes_[slot]) + static_cast<std::size_t>(place_[slot]);
        }
        return op.row[index];
    }

    static void finish_row(const RefOp& op, std::vector<Bounded>& row, const std::vector<Bounded>& second) {
        const std::string& f = op.op->function;
        const double u = op.unit;
        const auto n = static_cast<double>(row.size());
        double sum = 0;
        double magnitude = 0;
        double most = -infinite;
        double least = infinite;
        double widest = 0;
        double bounds = 0;
        for (const Bounded& x : row) {
            sum += x.value;
            magnitude += std::abs(x.value);
            most = std::max(most, x.value);
            least = std::min(least, x.value);
            if (std::isfinite(x.value)) widest = std::max(widest, x.bound);
            bounds += x.bound;
        }
        const double sum_bound = op.whole ? 0 : bounds + magnitude * u * (4 * std::sqrt(n) + 8);
        if (f == "sum") {
            row = {{sum, sum_bound}};
        } else if (f == "mean") {
            row = {{sum / n, sum_bound / n + u * std::abs(sum / n)}};
        } else if (f == "max") {
            row = {{most, widest}};
        } else if (f == "min") {
            row = {{least, widest}};
        } else if (f == "scan") {
            Bounded h;
            for (std::size_t t = 0; t < row.size(); ++t) {
                const double value = row[t].value * h.value + second[t].value;
                h.bound = std::abs(row[t].value) * h.bound + std::abs(h.value) * row[t].bound + second[t].bound +
                          2 * u * (std::abs(row[t].value * h.value) + std::abs(second[t].value));
                h.value = value;
                row[t] = h;
            }
        } else if (f == "softmax" || f == "logsumexp") {
            double all = 0;
            for (const Bounded& x : row) all += std::exp(x.value - most);
            if (f == "logsumexp") {
                const double value = most + std::log(all);
                row = {{value, widest + 32 * u * (1 + std::abs(value) + std::abs(most))}};
                return;
            }
            for (Bounded& x : row) {
                const double value = std::exp(x.value - most) / all;
                const double exponent = std::isfinite(x.value) ? std::abs(x.value - most) : 0;
                const double spread = std::abs(most) + exponent;
                x = {value, value * (3 * widest + (spread + 4 * std::sqrt(n) + 40) * u) + 1e-42};
            }
        } else {
            const double mean = f == "layernorm" ? sum / n : 0;
            double variance = 0;
            double distance = 0;
            for (const Bounded& x : row) {
                variance += (x.value - mean) * (x.value - mean) / n;
                distance += std::abs(x.value - mean) / n;
            }
            const double shift = f == "layernorm" ? sum_bound / n + 4 * u * magnitude / n : 0;
            const double scale = 1 / std::sqrt(variance);
            const double relative = distance * (widest + shift) / variance + u * (4 * std::sqrt(n) + 32);
            for (Bounded& x : row) {
                const double value = (x.value - mean) * scale;
                x = {value, (x.bound + shift + 2 * u * std::abs(x.value)) * scale + std::abs(value) * relative};
            }
        }
    }

    const Program& program_;
    std::map<std::string, std::size_t> slots_;
    std::vector<std::int64_t> sizes_;
    std::vector<std::int64_t> place_;
    std::vector<RefOp> ops_;
};

/// What storing adds: rounding to the dtype, saturation of whole numbers.
Bounded stored(Bounded number, Dtype dtype) {
    const double v = number.value;
    switch (dtype) {
        case Dtype::int8:
        case Dtype::int32: {
            const double low = dtype == Dtype::int8 ? -128.0 : -2147483648.0;
            const double high = dtype == Dtype::int8 ? 127.0 : 2147483647.0;
            // a number between two whole ones may fall on either when it has an error of its own
            const double half = number.bound > 0 ? 1.0 : 0.0;
            return {std::clamp(std::nearbyint(v), low, high), number.bound + half};
        }
        case Dtype::boolean:
            return {v != 0 ? 1.0 : 0.0, std::abs(v) <= number.bound && number.bound > 0 ? 1.0 : 0.0};
        case Dtype::f16:
            if (std::abs(v) + number.bound > 65504) return {v, infinite};
            return {v, number.bound + 0x1p-11 * std::abs(v) + 0x1p-25};
        case Dtype::f64:
            return {v, number.bound + 0x1p-53 * std::abs(v) + 1e-320};
        default:
            if (std::abs(v) + number.bound > 3.38e38) return {v, infinite};
            return {v, number.bound + rounding(dtype) * std::abs(v) + 1e-38 * 0x1p-7};
    }
}

}  // namespace

Result<CheckResult> check_statement(const Program& program, const Statement& statement,
                                    const std::function<HeldValue(ValueId)>& held, const CheckOptions& options) {
    Reference reference(program, statement, held);
    const RefOp& last = reference.last();
    const HeldValue output = held(statement.result);
    std::int64_t elements = 1;
    for (const std::size_t slot : last.output) elements *= reference.size(slot);
    const double affordable = std::floor(options.most_steps / reference.cost());
    CheckResult result;
    if (output.bytes == nullptr) return result;
    const bool all = elements <= options.elements && static_cast<double>(elements) <= affordable;
    const auto wanted = static_cast<std::int64_t>(
        std::min({static_cast<double>(elements), static_cast<double>(options.elements), affordable}));
    RandomBits random(0xc4ec + statement.result);
    double largest = 0;
    double furthest = 0;
    for (std::int64_t i = 0; i < wanted; ++i) {
        if (i % 64 == 0 && stop_requested()) return fail(interrupted());
        std::vector<std::int64_t>& place = reference.place();
        std::int64_t index = all ? i : random.below(elements);
        for (std::size_t d = last.output.size(); d-- > 0;) {
            place[last.output[d]] = index % reference.size(last.output[d]);
            index /= reference.size(last.output[d]);
        }
        if (last.op->function == "scatter") {
            for (const std::size_t slot : last.inputs[1].slots) place[slot] = random.below(reference.size(slot));
            place[last.summed.front()] = static_cast<std::int64_t>(reference.input_of_last(1).value);
        }
        if (reference.beyond_window(program.values[statement.result])) continue;
        std::int64_t offset = 0;
        for (const std::size_t slot : last.output) offset = offset * reference.size(slot) + place[slot];
        double got = 0;
        load_elements(
            output.dtype,
            static_cast<const char*>(output.bytes) + offset * static_cast<std::int64_t>(element_bytes(output.dtype)), 0,
            &got, 1);
        const Bounded right = stored(reference.result(), output.dtype);
        ++result.checked;
        if (std::isnan(got) && std::isnan(right.value)) continue;
        if (got == right.value || (std::isinf(right.bound) && !std::isnan(got))) {
            if (std::isfinite(right.value)) largest = std::max(largest, std::abs(right.value));
            continue;
        }
        const double error = std::abs(got - right.value);
        const double of_bound = std::isfinite(error) ? error / right.bound : infinite;
        if (std::isfinite(right.value)) largest = std::max(largest, std::abs(right.value));
        furthest = std::max(furthest, error);
        if (!(of_bound <= result.of_bound) || std::isnan(error)) {
            result.of_bound = std::isnan(of_bound) ? infinite : of_bound;
            std::vector<std::int64_t> at;
            for (const std::size_t slot : last.output) at.push_back(place[slot]);
            result.worst =
                fmt::format("{}[{}] is {:.9g}, should be {:.9g} within {:.2g}", value_name(program, statement.result),
                            fmt::join(at, ", "), got, right.value, right.bound);
        }
    }
    result.max_rel_error = furthest > 0 ? furthest / std::max(largest, 1e-300) : 0;
    return result;
}

}  // namespace roofline
