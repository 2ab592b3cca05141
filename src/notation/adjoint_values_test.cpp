// Tests of derivatives against finite differences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/approx_test.hpp"
#include "notation/interpreter_test.hpp"
#include "notation/notation.hpp"
#include "program/adjoint.hpp"

using namespace roofline::core;

namespace {

// Compares every gradient of a program's training step with (loss(x + e) - loss(x - e)) / 2e, where the loss is the sum
// of all results, each times the gradient that the step is given for it.
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
        // tensors in which a parameter's gradient accumulates over iterations
        const bool sum = std::any_of(program.values.begin(), program.values.end(),
                                     [&](const Value& other) { return other.param && value.name == "d" + other.name; });
        std::vector<PlainArray>& arrays = machine.saved[value.name];
        for (std::size_t copy = 0; copy < machine.copies(id); ++copy) {
            PlainArray array = machine.zeros(value.type);
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
    const auto loss = [&](const std::map<std::string, std::vector<PlainArray>>& given) {
        Interpreter run(program);
        run.saved = given;
        run.run();
        double sum = 0;
        for (const std::string& seed : seeds) {
            const std::string of = seed.substr(1);
            for (std::size_t copy = 0; copy < given.at(seed).size(); ++copy) {
                const bool passes = given.at(seed).size() > 1;
                const PlainArray& result = passes ? run.saved.at(of).at(copy) : run.now.at(of);
                const PlainArray& weight = given.at(seed)[copy];
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
            const PlainArray& got = passes ? machine.saved.at(gradient).at(copy) : machine.now.at(gradient);
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

TEST_CASE("a matmul, silu, a norm, a softmax and a bias have the derivatives of finite differences") {
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

TEST_CASE("sums, broadcasts and products of several factors have the right derivatives") {
    for (const char* f :
         {"sum[S](A)", "max[S](A)", "min[S](A)", "mean[S](A)", "logsumexp[S](A)", "sum[S](A * E)", "sum[S](A * G)"}) {
        check_gradients("B=2, S=3\nA : f64[B, S]\nE : f64[S]\nG : f64[B]\nC : f64[B] = " + std::string(f) + "\n");
    }
    check_gradients("I=2, J=3, K=2, M=2\nA : f64[I, J]\nE : f64[J, K]\nG : f64[K, M]\nC : f64[I, M] = A * E * G\n");
    check_gradients("I=2, J=3\nA : f64[I, J]\nC : f64[I] = A *_J A\n");
    check_gradients("I=2, J=3\nA : f64[I, J]\nE : f64[]\nC : f64[I, J] = A * E + E\n");
}

TEST_CASE("causal attention in one kernel, with a rotation, under any recomputation policy") {
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

TEST_CASE("adapters beside frozen matrices in layers, whose first input needs no gradient") {
    const std::string text = R"(
B=2, D=2, F=3, r=1, L=2
Ids : int32[B]
frozen Embed : f64[F, D]
X : f64[B, D] = gather[F](Embed, Ids)
repeat L {
    frozen G : f64[D]
    frozen W : f64[D, F]
    param A : f64[D, r]
    param C : f64[r, F]
    frozen V : f64[F, D]
    Xa : f64[B, D] = norm[D](X) * G
    Low : f64[B, r] = Xa *_D A
    Up : f64[B, F] = Low *_r C
    H : f64[B, F] = silu(Xa *_D W + Up)
    X = X + H *_F V
}
)";
    for (const Remat policy : {Remat::none, Remat::selective, Remat::full}) check_gradients(text, policy);
}

TEST_CASE("look-ups, and tensors that several iterations share") {
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

TEST_CASE("experts: a dispatch and a combine are each other's derivative") {
    // 3 tokens with 2 choices of 3 experts: indices 0 1 2 0 1 2, so there are groups of 2.
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
