// Derivatives against finite differences: a step is run in double precision, element by element, by an interpreter that knows what
// each function means and nothing of derivatives.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"
#include "program/adjoint.hpp"
#include "program/functions.hpp"

using namespace roofline;

namespace {

using Index = std::map<std::string, std::int64_t>;

struct Array {
    std::vector<std::string> dims;
    std::vector<std::int64_t> sizes;
    std::vector<double> data;

    [[nodiscard]] std::size_t offset(const Index& place) const {
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

    /// Of declared tensors, by name; one for each pass of the repeat they are declared in.
    std::map<std::string, std::vector<Array>> saved;
    std::map<std::string, Array> now;

    [[nodiscard]] std::int64_t size(const std::string& dim) const { return program_.sizes.at(dim); }

    [[nodiscard]] std::size_t copies(ValueId id) const {
        const Block* home = home_.at(id);
        return home == nullptr ? 1 : static_cast<std::size_t>(size(home->count));
    }

    [[nodiscard]] Array zeros(const TensorType& type) const {
        Array array;
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
            // The second repeat of a count is the backward pass; what comes after may go either way.
            const bool back = !seen_repeats_.insert({inner.count, 1}).second;
            const std::int64_t passes = size(inner.count);
            for (std::int64_t i = 0; i < passes; ++i) {
                pass_ = static_cast<std::size_t>(back ? passes - 1 - i : i);
                this->block(inner);
            }
            pass_.reset();
        }
    }

    const Array& stored(ValueId id) {
        const std::string& name = program_.values[id].name;
        if (home_[id] != nullptr && pass_) {
            if (saved[name].size() <= *pass_) FAIL("nothing made ", name);
            return saved[name][*pass_];
        }
        const auto found = now.find(name);
        if (found != now.end()) return found->second;
        if (!saved.contains(name)) FAIL("nothing made ", name);
        return saved[name].front();
    }

    void statement(const Statement& statement) {
        made_.clear();
        for (const Op& op : statement.ops) made_[op.output.value] = &op;
        const Value& value = program_.values[statement.result];
        Array array = zeros(value.type);
        Index place;
        each(array.dims, place, [&] { array.data[array.offset(place)] = of(statement.ops.back(), place); });
        if (home_[statement.result] != nullptr) {
            auto& passes = saved[value.name];
            passes.resize(std::max(passes.size(), *pass_ + 1));
            passes[*pass_] = array;
        }
        now[value.name] = std::move(array);
    }

    void each(const std::vector<std::string>& dims, Index& place, const std::function<void()>& visit,
              std::size_t from = 0) {
        if (from == dims.size()) return visit();
        const auto before = place.find(dims[from]) == place.end() ? -1 : place[dims[from]];
        for (std::int64_t i = 0; i < size(dims[from]); ++i) {
            place[dims[from]] = i;
            each(dims, place, visit, from + 1);
        }
        if (before >= 0) place[dims[from]] = before;
    }

    double read(const Operand& operand, const Index& place) {
        const auto made = made_.find(operand.value);
        if (made != made_.end()) return of(*made->second, place);
        const Array& array = stored(operand.value);
        return array.data[array.offset(place)];
    }

    double of(const Op& op, const Index& place) {
        if (op.kind == OpKind::move) return read(op.inputs.front(), place);
        if (op.kind == OpKind::contract) {
            double sum = 0;
            Index inner = place;
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

    double mapped(const Op& op, const Index& place) {
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
        FAIL("no function ", f);
        return 0;
    }

    static double gelu(double x) {
        return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    }

    // Halves of the last dimension turn against each other by an angle of their own at each place of T.
    double turned(const Op& op, Index place) {
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

    double along(const Op& op, const Index& place) {
        const std::string& f = op.function;
        if (f == "scan" || f == "dscan" || f == "prior") return steps(op, place);
        std::vector<double> x;
        std::vector<double> y;
        std::size_t here = 0;
        Index inner = place;
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
        FAIL("no function ", f);
        return 0;
    }

    double steps(const Op& op, Index place) {
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

    // Which row of its expert's group a token's choice is in: they come in order.
    std::int64_t slot(const Index& route) {
        const Array& ids = saved.at("Chosen").front();
        const std::size_t own = ids.offset(route);
        std::int64_t before = 0;
        for (std::size_t i = 0; i < own; ++i) before += ids.data[i] == ids.data[own] ? 1 : 0;
        return before;
    }

    double rows(const Op& op, const Index& at) {
        Index place = at;
        const std::string& f = op.function;
        const auto index = [&](const Operand& ids, const Index& where) {
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
        const Array& ids = saved.at("Chosen").front();
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

    double slid(const Op& op, const Index& at) {
        Index place = at;
        const std::string& dim = op.along.front();
        double sum = 0;
        if (op.function == "taps") {
            std::vector<std::string> summed{dim};
            summed.insert(summed.end(), op.along.begin() + 2, op.along.end());
            each(summed, place, [&] {
                Index before = place;
                before[dim] -= at.at(op.along[1]);
                if (before[dim] >= 0) sum += read(op.inputs[0], before) * read(op.inputs[1], place);
            });
            return sum;
        }
        const int way = op.function == "conv" ? -1 : 1;
        each({"Q"}, place, [&] {
            Index there = place;
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

// Every gradient of the step of a program against (loss(x + e) - loss(x - e)) / 2e, where the loss is the sum of all results times
// what the step is given as their gradients.
void check_gradients(const std::string& text, Remat remat = Remat::none, double low = -1, double high = 1) {
    CAPTURE(text);
    auto forward = parse_program(text);
    REQUIRE_MESSAGE(forward.has_value(), (forward ? std::string() : forward.error().message));
    TrainingOptions options;
    options.remat = remat;
    options.optimizer = Optimizer::none;
    auto step = training_step(*forward, options);
    REQUIRE_MESSAGE(step.has_value(), (step ? std::string() : step.error().message));
    const std::string printed = print(step->program);
    CAPTURE(printed);
    auto again = parse_program(printed);
    REQUIRE_MESSAGE(again.has_value(), (again ? std::string() : again.error().message));
    CHECK(again->values == step->program.values);
    CHECK(again->body == step->program.body);

    const Program& program = step->program;
    Interpreter machine(program);
    std::mt19937 random(7);
    std::vector<const Block*> blocks{&program.body};
    std::set<ValueId> computed;
    while (!blocks.empty()) {
        const Block& block = *blocks.back();
        blocks.pop_back();
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                blocks.push_back(inner);
            } else {
                computed.insert(std::get<Statement>(node).result);
            }
        }
    }
    std::vector<std::string> inputs;
    std::vector<std::string> seeds;
    for (ValueId id = 0; id < program.values.size(); ++id) {
        const Value& value = program.values[id];
        if (value.intermediate || computed.contains(id)) continue;
        const bool whole = info(value.type.dtype).kind != DtypeKind::floating;
        // where a parameter's gradient adds up over passes
        const bool sum = std::any_of(program.values.begin(), program.values.end(),
                                     [&](const Value& other) { return other.param && value.name == "d" + other.name; });
        std::vector<Array>& arrays = machine.saved[value.name];
        for (std::size_t copy = 0; copy < machine.copies(id); ++copy) {
            Array array = machine.zeros(value.type);
            std::int64_t count = 0;
            for (double& x : array.data) {
                x = std::uniform_real_distribution<double>(low, high)(random);
                if (whole) x = static_cast<double>(count++ % 3);
                if (sum) x = 0;
            }
            arrays.push_back(std::move(array));
        }
        if (whole || sum) continue;
        (value.name.starts_with("d") ? seeds : inputs).push_back(value.name);
    }
    const auto declared = machine.saved;
    const auto loss = [&](const std::map<std::string, std::vector<Array>>& given) {
        Interpreter run(program);
        run.saved = given;
        run.run();
        double sum = 0;
        for (const std::string& seed : seeds) {
            const std::string of = seed.substr(1);
            for (std::size_t copy = 0; copy < given.at(seed).size(); ++copy) {
                const bool passes = given.at(seed).size() > 1;
                const Array& result = passes ? run.saved.at(of).at(copy) : run.now.at(of);
                const Array& weight = given.at(seed)[copy];
                for (std::size_t i = 0; i < result.data.size(); ++i) sum += result.data[i] * weight.data[i];
            }
        }
        return sum;
    };
    machine.run();
    constexpr double e = 1e-5;
    int checked = 0;
    for (const std::string& name : inputs) {
        const std::string gradient = "d" + name;
        const bool known = machine.now.contains(gradient);
        if (!known) continue;
        for (std::size_t copy = 0; copy < declared.at(name).size(); ++copy) {
            const bool passes = declared.at(name).size() > 1;
            const Array& got = passes ? machine.saved.at(gradient).at(copy) : machine.now.at(gradient);
            for (std::size_t i = 0; i < got.data.size(); ++i) {
                auto more = declared;
                auto less = declared;
                more[name][copy].data[i] += e;
                less[name][copy].data[i] -= e;
                const double right = (loss(more) - loss(less)) / (2 * e);
                CAPTURE(name);
                CAPTURE(i);
                CHECK(got.data[i] == approx(right).epsilon(1e-6).scale(1));
                ++checked;
            }
        }
    }
    CHECK(checked > 0);
}

}  // namespace

TEST_CASE("a product, silu, a norm, a softmax and a bias have the derivatives that finite differences have") {
    check_gradients(R"(
B=2, D=3, F=2
X : f64[B, D]
param G : f64[D]
param W : f64[D, F]
param Bi : f64[F]
param U : f64[D, F]
param V : f64[F, D]
Xa : f64[B, D] = norm[D](X) * G
H : f64[B, F] = silu(Xa *_D W + Bi) * (Xa *_D U)
Y : f64[B, D] = softmax[D](H *_F V)
)");
}

TEST_CASE("every elementwise function has its derivative") {
    for (const char* f : {"neg(A)",          "abs(A)",       "square(A)",       "relu(A)",        "relu2(A)",
                          "exp(A)",          "log(A)",       "sqrt(A)",         "rsqrt(A)",       "sin(A)",
                          "cos(A)",          "tanh(A)",      "erf(A)",          "sigmoid(A)",     "softplus(A)",
                          "silu(A)",         "gelu(A)",      "sin(convert(A))", "A * (A + E)",    "A - E",
                          "A * E",           "A / E",        "maximum(A, E)",   "minimum(A, E)",  "where(Flag, A, E)",
                          "3 * A - 1",       "1 - A / 4",    "2 / A",           "sin(A * E) * A", "norm[B](A)",
                          "layernorm[B](A)", "softmax[B](A)"}) {
        check_gradients("B=3\nFlag : bool[B]\nA : f64[B]\nE : f64[B]\nC : f64[B] = " + std::string(f) + "\n",
                        Remat::none, 0.2, 1.5);
    }
    for (const char* f : {"abs(A)", "relu(A)", "relu2(A)", "gelu(A)", "silu(A)", "sigmoid(A)"}) {
        check_gradients("B=4\nA : f64[B]\nC : f64[B] = " + std::string(f) + "\n", Remat::none, -2, -0.1);
    }
}

TEST_CASE("sums, broadcasts and products of several factors have theirs") {
    for (const char* f :
         {"sum[S](A)", "max[S](A)", "min[S](A)", "mean[S](A)", "logsumexp[S](A)", "sum[S](A * E)", "sum[S](A * G)"}) {
        check_gradients("B=2, S=3\nA : f64[B, S]\nE : f64[S]\nG : f64[B]\nC : f64[B] = " + std::string(f) + "\n");
    }
    check_gradients("I=2, J=3, K=2, M=2\nA : f64[I, J]\nE : f64[J, K]\nG : f64[K, M]\nC : f64[I, M] = A * E * G\n");
    check_gradients("I=2, J=3\nA : f64[I, J]\nC : f64[I] = A *_J A\n");
    check_gradients("I=2, J=3\nA : f64[I, J]\nE : f64[]\nC : f64[I, J] = A * E + E\n");
}

TEST_CASE("causal attention in one kernel, with a rotation, whatever is computed again") {
    const std::string text = R"(
B=1, T=3, S=3, N=2, H=2, D=2, L=2
X : f64[B, T, D]
Pos : int32[T]
repeat L {
    param Wq : f64[D, N, H]
    param Wk : f64[D, H]
    param Wv : f64[D, H]
    param Wo : f64[N, H, D]
    param Ga : f64[D]
    Xa : f64[B, T, D] = norm[D](X) * Ga
    cache K : f64[B, S, H]
    cache V : f64[B, S, H]
    Q : f64[B, T, N, H] = rope(Xa *_D Wq)
    K = scatter[S](K, Pos, rope(Xa *_D Wk))
    V = scatter[S](V, Pos, Xa *_D Wv)
    fuse {
        P : f64[B, N, T, S] = softmax[S](causal[T,S](Q *_H K))
        O : f64[B, T, N, H] = P *_S V
    }
    X = X + O *_{N, H} Wo
}
Y : f64[B, T, D] = layernorm[D](X)
)";
    for (const Remat remat : {Remat::none, Remat::selective, Remat::full, Remat::named}) check_gradients(text, remat);
}

TEST_CASE("look-ups, and what several passes share") {
    check_gradients(R"(
B=4, V=3, D=2
Ids : int32[B]
param Embed : f64[V, D]
X : f64[B, D] = gather[V](Embed, Ids)
Logits : f64[B, V] = sin(X) *_D Embed
Loss : f64[B] = logsumexp[V](Logits) - gather[V](Logits, Ids)
)");
    for (const Remat remat : {Remat::none, Remat::full}) {
        check_gradients(R"(
B=2, D=2, E=3, L=3
X : f64[B, D]
param W : f64[D, E]
param U : f64[E, D]
repeat L {
    param Ga : f64[D]
    H : f64[B, E] = silu((X * Ga) *_D W)
    X = X + H *_E U
}
)",
                        remat);
    }
}

TEST_CASE("experts: a dispatch and a combine are the ways of one another") {
    // 3 tokens with 2 choices of 3 experts: indices 0 1 2 0 1 2, so groups of 2
    check_gradients(R"(
T=3, A=2, E=3, C=2, D=2, I=2
X : f64[T, D]
Chosen : int32[T, A]
Scores : f64[T, E] = softmax[E](X *_D Wr: f64[D, E])
Share : f64[T, A] = gather[E](Scores, Chosen)
param Eu : f64[E, D, I]
param Ed : f64[E, I, D]
Xe : f64[E, C, D] = dispatch[E,C](X, Chosen)
He : f64[E, C, I] = silu(Xe *_D Eu)
Ye : f64[E, C, D] = He *_I Ed
M : f64[T, D] = combine[E,C,A](Ye, Share)
)");
}

TEST_CASE("recurrences and convolutions") {
    const std::string text = R"(
B=2, T=4, W=2, N=2, Q=2
X : f64[B, T, W]
param Conv : f64[W, Q]
param Alog : f64[W, N]
param Bt : f64[B, T, N]
param Ct : f64[B, T, N]
Xc : f64[B, T, W] = silu(conv[T](X, Conv))
fuse {
    Step : f64[B, T, W, N] = scan[T](exp(Xc * Alog), Xc * Bt)
    Yt : f64[B, T, W] = Step *_N Ct
}
)";
    for (const Remat remat : {Remat::none, Remat::selective}) check_gradients(text, remat);
}
