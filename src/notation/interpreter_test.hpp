// An interpreter that runs a program in double precision, element by element, from the definitions of the functions: it
// knows nothing about kernels or derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/functions.hpp"
#include "program/program.hpp"

namespace roofline::core {

using PlainIndex = std::map<std::string, std::int64_t>;

struct PlainArray {
    std::vector<std::string> dims;
    std::vector<std::int64_t> sizes;
    std::vector<double> data;

    [[nodiscard]] std::size_t offset(const PlainIndex& place) const {
        std::size_t at = 0;
        for (std::size_t i = 0; i < dims.size(); ++i) {
            at = at * static_cast<std::size_t>(sizes[i]) + static_cast<std::size_t>(place.at(dims[i]));
        }
        return at;
    }
};

class Interpreter {
public:
    explicit Interpreter(const Program& program) : program_(program) { homes(program.body); }

    /// The values of declared tensors, by name; one per iteration of the repeat in which they are declared.
    std::map<std::string, std::vector<PlainArray>> saved;
    std::map<std::string, PlainArray> now;

    [[nodiscard]] std::int64_t size(const std::string& dim) const { return program_.sizes.at(dim); }

    [[nodiscard]] std::size_t copies(ValueId id) const {
        const Block* home = home_.at(id);
        return home == nullptr ? 1 : static_cast<std::size_t>(size(home->count));
    }

    [[nodiscard]] PlainArray zeros(const TensorType& type) const {
        PlainArray array;
        std::size_t count = 1;
        for (const Axis& axis : type.axes) {
            array.dims.push_back(axis.dim);
            array.sizes.push_back(size(axis.dim));
            count *= static_cast<std::size_t>(size(axis.dim));
        }
        array.data.assign(count, 0);
        return array;
    }

    void run() {
        seen_repeats_.clear();
        pass_.reset();
        block(program_.body);
    }

private:
    void homes(const Block& block) {
        home_.assign(program_.values.size(), nullptr);
        for (const Node& node : block.nodes) {
            const auto* inner = std::get_if<Block>(&node);
            if (inner == nullptr || inner->kind != Block::Kind::repeat) continue;
            for (ValueId id = inner->values_before; id < inner->values_after; ++id) home_[id] = inner;
        }
    }

    void block(const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                this->statement(*statement);
                continue;
            }
            const Block& inner = std::get<Block>(node);
            if (inner.kind != Block::Kind::repeat) {
                this->block(inner);
                continue;
            }
            // The second repeat with a count is the backward pass; later ones may run in either direction.
            const bool back = !seen_repeats_.insert({inner.count, 1}).second;
            const std::int64_t passes = size(inner.count);
            for (std::int64_t i = 0; i < passes; ++i) {
                pass_ = static_cast<std::size_t>(back ? passes - 1 - i : i);
                this->block(inner);
            }
            pass_.reset();
        }
    }

    const PlainArray& stored(ValueId id) {
        const std::string& name = program_.values[id].name;
        if (home_[id] != nullptr && pass_) {
            if (saved[name].size() <= *pass_) FAIL("no statement computed ", name);
            return saved[name][*pass_];
        }
        const auto found = now.find(name);
        if (found != now.end()) return found->second;
        if (!saved.contains(name)) FAIL("no statement computed ", name);
        return saved[name].front();
    }

    void statement(const Statement& statement) {
        made_.clear();
        for (const Op& op : statement.ops) made_[op.output.value] = &op;
        const Value& value = program_.values[statement.result];
        PlainArray array = zeros(value.type);
        PlainIndex place;
        each(array.dims, place, [&] { array.data[array.offset(place)] = of(statement.ops.back(), place); });
        if (home_[statement.result] != nullptr) {
            auto& passes = saved[value.name];
            passes.resize(std::max(passes.size(), *pass_ + 1));
            passes[*pass_] = array;
        }
        now[value.name] = std::move(array);
    }

    void each(const std::vector<std::string>& dims, PlainIndex& place, const std::function<void()>& visit,
              std::size_t from = 0) {
        if (from == dims.size()) return visit();
        const auto before = place.find(dims[from]) == place.end() ? -1 : place[dims[from]];
        for (std::int64_t i = 0; i < size(dims[from]); ++i) {
            place[dims[from]] = i;
            each(dims, place, visit, from + 1);
        }
        if (before >= 0) place[dims[from]] = before;
    }

    double read(const Operand& operand, const PlainIndex& place) {
        const auto made = made_.find(operand.value);
        if (made != made_.end()) return of(*made->second, place);
        const PlainArray& array = stored(operand.value);
        return array.data[array.offset(place)];
    }

    double of(const Op& op, const PlainIndex& place) {
        if (op.kind == OpKind::move) return read(op.inputs.front(), place);
        if (op.kind == OpKind::contract) {
            double sum = 0;
            PlainIndex inner = place;
            each(op.along, inner, [&] {
                double product = 1;
                for (const Operand& input : op.inputs) product *= read(input, inner);
                sum += product;
            });
            return sum;
        }
        switch (find_function(op.function)->kind) {
            case FunctionKind::map:
                return mapped(op, place);
            case FunctionKind::mask: {
                const std::int64_t shift = size(op.along[1]) - size(op.along[0]);
                const std::int64_t ahead = place.at(op.along[1]) - place.at(op.along[0]) - shift;
                const bool seen = ahead <= 0 && (op.along.size() < 3 || -ahead < size(op.along[2]));
                return seen ? read(op.inputs[0], place) : -1e30;
            }
            case FunctionKind::reduce:
            case FunctionKind::keep:
                return along(op, place);
            default:
                return rows(op, place);
        }
    }

    double mapped(const Op& op, const PlainIndex& place) {
        if (op.function == "rope" || op.function == "unrope") return turned(op, place);
        std::vector<double> a;
        std::size_t next = 0;
        for (std::size_t i = 0; i < op.inputs.size() + op.constants.size(); ++i) {
            const auto constant = std::find_if(op.constants.begin(), op.constants.end(),
                                               [&](const Constant& c) { return c.position == i; });
            a.push_back(constant == op.constants.end() ? read(op.inputs[next++], place) : constant->value);
        }
        const std::string& f = op.function;
        const auto s = [](double x) { return 1 / (1 + std::exp(-x)); };
        if (f == "add") return a[0] + a[1];
        if (f == "sub") return a[0] - a[1];
        if (f == "mul") return a[0] * a[1];
        if (f == "div") return a[0] / a[1];
        if (f == "neg") return -a[0];
        if (f == "abs") return std::abs(a[0]);
        if (f == "square") return a[0] * a[0];
        if (f == "maximum") return std::max(a[0], a[1]);
        if (f == "minimum") return std::min(a[0], a[1]);
        if (f == "where") return a[0] != 0 ? a[1] : a[2];
        if (f == "relu") return std::max(a[0], 0.0);
        if (f == "relu2") return std::pow(std::max(a[0], 0.0), 2);
        if (f == "exp") return std::exp(a[0]);
        if (f == "log") return std::log(a[0]);
        if (f == "sqrt") return std::sqrt(a[0]);
        if (f == "rsqrt") return 1 / std::sqrt(a[0]);
        if (f == "sin") return std::sin(a[0]);
        if (f == "cos") return std::cos(a[0]);
        if (f == "tanh") return std::tanh(a[0]);
        if (f == "erf") return std::erf(a[0]);
        if (f == "sigmoid") return s(a[0]);
        if (f == "softplus") return std::log1p(std::exp(a[0]));
        if (f == "silu") return a[0] * s(a[0]);
        if (f == "gelu") return gelu(a[0]);
        if (f == "convert") return a[0];
        if (f == "step") return a[0] > 0 ? 1 : 0;
        if (f == "dsigmoid") return s(a[0]) * (1 - s(a[0])) * a[1];
        if (f == "dsilu") return s(a[0]) * (1 + a[0] * (1 - s(a[0]))) * a[1];
        if (f == "dgelu") {
            const double c = std::sqrt(2 / std::acos(-1.0));
            const double x = a[0];
            const double t = std::tanh(c * (x + 0.044715 * x * x * x));
            return a[1] * 0.5 * (1 + t + x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x));
        }
        FAIL("unknown function ", f);
        return 0;
    }

    static double gelu(double x) {
        return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    }

    // The halves of the last dimension are rotated against each other, by a different angle at each position of T.
    double turned(const Op& op, PlainIndex place) {
        const std::string dim = "H";
        const std::int64_t half = size(dim) / 2;
        const std::int64_t h = place.at(dim);
        const double angle = (op.function == "rope" ? 1 : -1) * 0.3 * static_cast<double>(1 + h % half) *
                             static_cast<double>(1 + place.at("T"));
        const double x = read(op.inputs[0], place);
        place[dim] = h < half ? h + half : h - half;
        const double other = read(op.inputs[0], place);
        return x * std::cos(angle) + (h < half ? -1 : 1) * other * std::sin(angle);
    }

    double along(const Op& op, const PlainIndex& place) {
        const std::string& f = op.function;
        if (f == "scan" || f == "dscan" || f == "prior") return steps(op, place);
        std::vector<double> x;
        std::vector<double> y;
        std::size_t here = 0;
        PlainIndex inner = place;
        each(op.along, inner, [&] {
            if (std::all_of(op.along.begin(), op.along.end(),
                            [&](const auto& d) { return place.contains(d) && place.at(d) == inner.at(d); })) {
                here = x.size();
            }
            x.push_back(read(op.inputs[0], inner));
            if (op.inputs.size() > 1) y.push_back(read(op.inputs[1], inner));
        });
        const double n = static_cast<double>(x.size());
        const auto total = [&](auto term) {
            double sum = 0;
            for (std::size_t i = 0; i < x.size(); ++i) sum += term(i);
            return sum;
        };
        const double largest = *std::max_element(x.begin(), x.end());
        if (f == "sum") return total([&](std::size_t i) { return x[i]; });
        if (f == "mean") return total([&](std::size_t i) { return x[i]; }) / n;
        if (f == "max") return largest;
        if (f == "min") return *std::min_element(x.begin(), x.end());
        const double exps = total([&](std::size_t i) { return std::exp(x[i] - largest); });
        if (f == "logsumexp") return largest + std::log(exps);
        if (f == "softmax") return std::exp(x[here] - largest) / exps;
        const double mean = f == "layernorm" || f == "dlayernorm" ? total([&](std::size_t i) { return x[i]; }) / n : 0;
        const double r = 1 / std::sqrt(total([&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); }) / n + 1e-6);
        if (f == "norm" || f == "layernorm") return (x[here] - mean) * r;
        if (f == "dsoftmax") return x[here] * (y[here] - total([&](std::size_t i) { return x[i] * y[i]; }));
        const double with = total([&](std::size_t i) { return (x[i] - mean) * y[i]; }) / n;
        const double mean_y = f == "dlayernorm" ? total([&](std::size_t i) { return y[i]; }) / n : 0;
        if (f == "dnorm" || f == "dlayernorm") return r * (y[here] - mean_y - (x[here] - mean) * r * r * with);
        FAIL("unknown function ", f);
        return 0;
    }

    double steps(const Op& op, PlainIndex place) {
        const std::string& dim = op.along.front();
        const std::int64_t t = place.at(dim);
        if (op.function == "prior") {
            if (t == 0) return 0;
            place[dim] = t - 1;
            return read(op.inputs[0], place);
        }
        if (op.function == "scan") {
            double h = 0;
            for (std::int64_t i = 0; i <= t; ++i) {
                place[dim] = i;
                h = read(op.inputs[0], place) * h + read(op.inputs[1], place);
            }
            return h;
        }
        double h = 0;
        for (std::int64_t i = size(dim) - 1; i >= t; --i) {
            double a = 0;
            if (i + 1 < size(dim)) {
                place[dim] = i + 1;
                a = read(op.inputs[0], place);
            }
            place[dim] = i;
            h = a * h + read(op.inputs[1], place);
        }
        return h;
    }

    // Returns the row in its expert's group that a token's choice occupies: rows come in order.
    std::int64_t slot(const PlainIndex& route) {
        const PlainArray& ids = saved.at("Chosen").front();
        const std::size_t own = ids.offset(route);
        std::int64_t before = 0;
        for (std::size_t i = 0; i < own; ++i) before += ids.data[i] == ids.data[own] ? 1 : 0;
        return before;
    }

    double rows(const Op& op, const PlainIndex& at) {
        PlainIndex place = at;
        const std::string& f = op.function;
        const auto index = [&](const Operand& ids, const PlainIndex& where) {
            return static_cast<std::int64_t>(read(ids, where));
        };
        if (f == "expand") return read(op.inputs[0], place);
        if (f == "gather") {
            place[op.along[0]] = index(op.inputs[1], at);
            return read(op.inputs[0], place);
        }
        if (f == "scatter") {
            double value = read(op.inputs[0], place);
            each(op.inputs[1].dims, place, [&] {
                if (index(op.inputs[1], place) == at.at(op.along[0])) value = read(op.inputs[2], place);
            });
            return value;
        }
        if (f == "scatteradd") {
            double sum = 0;
            each({op.along.begin() + 1, op.along.end()}, place, [&] {
                if (index(op.inputs[0], place) == at.at(op.along[0])) sum += read(op.inputs[1], place);
            });
            return sum;
        }
        if (f == "conv" || f == "dconv" || f == "taps") return slid(op, at);
        const PlainArray& ids = saved.at("Chosen").front();
        if (f == "dispatch" || f == "spread") {
            double value = 0;
            each(ids.dims, place, [&] {
                if (static_cast<std::int64_t>(ids.data[ids.offset(place)]) != at.at("E") || slot(place) != at.at("C"))
                    return;
                value = read(op.inputs[0], place) * (f == "spread" ? read(op.inputs[1], place) : 1);
            });
            return value;
        }
        const auto choice = [&] {
            place["E"] = static_cast<std::int64_t>(ids.data[ids.offset(place)]);
            place["C"] = slot(place);
        };
        double sum = 0;
        if (f == "match") {
            each({op.along[2]}, place, [&] {
                choice();
                sum += read(op.inputs[0], place) * read(op.inputs[1], place);
            });
            return sum;
        }
        each({op.along[2]}, place, [&] {
            choice();
            sum += read(op.inputs[0], place) * (f == "combine" ? read(op.inputs[1], place) : 1);
        });
        return sum;
    }

    double slid(const Op& op, const PlainIndex& at) {
        PlainIndex place = at;
        const std::string& dim = op.along.front();
        double sum = 0;
        if (op.function == "taps") {
            std::vector<std::string> summed{dim};
            summed.insert(summed.end(), op.along.begin() + 2, op.along.end());
            each(summed, place, [&] {
                PlainIndex before = place;
                before[dim] -= at.at(op.along[1]);
                if (before[dim] >= 0) sum += read(op.inputs[0], before) * read(op.inputs[1], place);
            });
            return sum;
        }
        const int way = op.function == "conv" ? -1 : 1;
        each({"Q"}, place, [&] {
            PlainIndex there = place;
            there[dim] += way * place.at("Q");
            if (there[dim] < 0 || there[dim] >= size(dim)) return;
            sum += read(op.inputs[0], there) * read(op.inputs[1], place);
        });
        return sum;
    }

    const Program& program_;
    std::vector<const Block*> home_;
    std::map<ValueId, const Op*> made_;
    std::map<std::string, int> seen_repeats_;
    std::optional<std::size_t> pass_;
};

}  // namespace roofline::core
