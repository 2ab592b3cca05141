#include "program/adjoint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"
#include "program/limited_experts.hpp"
#include "work/contraction.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

Program parsed(std::string_view text) {
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), (program ? std::string() : program.error().message));
    return *program;
}

TrainingProgram step_of(std::string_view text, const TrainingOptions& options = {}) {
    auto step = training_step(parsed(text), options);
    REQUIRE_MESSAGE(step.has_value(), (step ? std::string() : step.error().message));
    return *step;
}

template <class Visit>
void each_statement(const Block& block, const Polynomial& count, Visit visit) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            const bool repeat = inner->kind == Block::Kind::repeat;
            each_statement(*inner, repeat ? count * Polynomial::dim(inner->count) : count, visit);
        } else {
            visit(std::get<Statement>(node), count);
        }
    }
}

// The FLOPs of contractions in the statements of these phases.
Polynomial products(const TrainingProgram& step, const std::vector<StepPhase>& phases) {
    Polynomial sum;
    std::size_t next = 0;
    each_statement(step.program.body, Polynomial(1), [&](const Statement& statement, const Polynomial& count) {
        const StepPhase phase = step.phases.at(next++);
        if (std::find(phases.begin(), phases.end(), phase) == phases.end()) return;
        for (const Op& op : statement.ops) {
            if (op.kind != OpKind::contract) continue;
            for (const MatmulShape& shape : plan_contraction(step.program, op, false).matmuls)
                sum += shape.flops * count;
        }
    });
    CHECK(next == step.phases.size());
    return sum;
}

double value(const Polynomial& count, const Program& program) {
    return count.evaluate(program.sizes).value().to_double();
}

void check_round_trip(const Program& program) {
    const std::string text = print(program);
    auto again = parse_program(text);
    REQUIRE_MESSAGE(again.has_value(), (again ? std::string() : again.error().message + "\n" + text));
    CHECK(print(*again) == text);
    CHECK(again->values == program.values);
    CHECK(again->body == program.body);
    CHECK(again->sizes == program.sizes);
}

// A GPT-2 layer: an MLP of width 4D, N heads of width H with D = N H, and attention in one kernel or in two.
std::string gpt_layer(bool flash) {
    const std::string attention = R"(
        P : bf16[B, N, T, S] = softmax[S](causal[T,S](Q *_H Kc))
        O : bf16[B, T, N, H] = P *_S Vc
    )";
    return R"(
X : bf16[B, T, D]
Pos : int32[T]
repeat L {
    param G1 : bf16[D]
    param B1 : bf16[D]
    Xa : bf16[B, T, D] = layernorm[D](X) * G1 + B1
    param Wq : bf16[D, N, H]
    param Wk : bf16[D, N, H]
    param Wv : bf16[D, N, H]
    cache K : bf16[B, S, N, H]
    cache V : bf16[B, S, N, H]
    Q : bf16[B, T, N, H] = Xa *_D Wq
    Kc : bf16[B, S, N, H] = scatter[S](K, Pos, Xa *_D Wk)
    Vc : bf16[B, S, N, H] = scatter[S](V, Pos, Xa *_D Wv)
)" + (flash ? "    fuse {" + attention + "}\n" : attention) +
           R"(
    param Wo : bf16[N, H, D]
    param Bo : bf16[D]
    A : bf16[B, T, D] = O *_{N, H} Wo + Bo
    X = X + A
    param G2 : bf16[D]
    param B2 : bf16[D]
    Xm : bf16[B, T, D] = layernorm[D](X) * G2 + B2
    param Wu : bf16[D, F]
    param Bu : bf16[F]
    Hm : bf16[B, T, F] = gelu(Xm *_D Wu + Bu)
    param Wd : bf16[F, D]
    param Bd : bf16[D]
    M : bf16[B, T, D] = Hm *_F Wd + Bd
    X = X + M
}
)";
}

Sizes gpt_sizes() {  // s = 2048, b = 1, h = 12288, a = 96, the 175B model of Korthikanti et al., table 3
    return {{"B", 1}, {"T", 2048}, {"S", 2048}, {"D", 12288}, {"N", 96}, {"H", 128}, {"F", 49152}, {"L", 1}};
}

double per_sbh(const TrainingProgram& step) {
    const Sizes sizes = gpt_sizes();
    return bytes_of(step, StepRole::activation).evaluate(sizes).value().to_double() / (2048.0 * 12288.0);
}

}  // namespace

TEST_CASE("a matmul has one backward matmul per operand: forward to backward is 1 to 2") {
    const TrainingProgram step = step_of(R"(
In : bf16[B, D]
param Win : bf16[D, F]
param Wout : bf16[F, D]
H : bf16[B, F] = gelu(In *_D Win)
Out : bf16[B, D] = H *_F Wout
)");
    const Polynomial forward = products(step, {StepPhase::forward});
    const Polynomial one = Polynomial::dim("B") * Polynomial::dim("D") * Polynomial::dim("F");
    CHECK(forward == 4 * one);  // 2BDF each
    CHECK(products(step, {StepPhase::backward}) == 8 * one);
    CHECK(products(step, {StepPhase::recomputation, StepPhase::optimizer}) == Polynomial());
    check_round_trip(step.program);
    // Without the input's gradient there is one matmul less.
    TrainingOptions options;
    options.input_gradients = false;
    const TrainingProgram first =
        step_of("In : bf16[B, D]\nparam W : bf16[D, F]\nH : bf16[B, F] = In *_D W\n", options);
    CHECK(products(first, {StepPhase::backward}) == 2 * one);
}

TEST_CASE("any chain of matmuls, in any order, is 1 to 2") {
    for (const char* text : {
             "A : bf16[I, J]\nB : bf16[J, K]\nC : bf16[I, K] = A *_J B\n",
             "A : bf16[I, J, K]\nB : bf16[J, K, M]\nC : bf16[I, M] = A *_{J, K} B\n",
             "A : bf16[I, B, J]\nB2 : bf16[B, J, K]\nC : bf16[B, I, K] = A *_J B2\nW : bf16[K, M]\nE : bf16[B, I, M] = "
             "C *_K W\n",
         }) {
        CAPTURE(text);
        const TrainingProgram step = step_of(text);
        CHECK(products(step, {StepPhase::backward}) == 2 * products(step, {StepPhase::forward}));
        check_round_trip(step.program);
    }
}

namespace {

// T rows are the last of S positions, and row i sees S - T + i of them: T S - T^2 / 2 points of 2 H FLOPs in each of B
// N planes.
Polynomial causal_product() {
    const Polynomial t = Polynomial::dim("T");
    return Polynomial::dim("B") * Polynomial::dim("N") * Polynomial::dim("H") *
           (Polynomial(2) * t * Polynomial::dim("S") - t * t);
}

}  // namespace

TEST_CASE("attention in one kernel recomputes its scores: 5 matmuls compared with 2") {
    const TrainingProgram step = step_of(R"(
Q : bf16[B, T, N, H]
K : bf16[B, S, N, H]
V : bf16[B, S, N, H]
fuse {
    P : bf16[B, N, T, S] = softmax[S](causal[T,S](Q *_H K))
    O : bf16[B, T, N, H] = P *_S V
}
)");
    check_round_trip(step.program);
    const Polynomial one = causal_product();
    CHECK(products(step, {StepPhase::forward}) == 2 * one);
    CHECK(products(step, {StepPhase::recomputation, StepPhase::backward}) == 5 * one);
    // Nothing of the plane is ever stored: Q, K, V, O and dO are read, and their gradients are written.
    auto work = derive_work(step.program);
    REQUIRE(work);
    for (const KernelWork& kernel : work->kernels) {
        for (const Transfer& transfer : kernel.transfers) {
            const auto& axes = step.program.values[transfer.value].type.axes;
            CHECK(axes.size() == 4);
            CHECK(axes[1].dim != "N");
        }
    }
}

TEST_CASE("a GPT layer keeps what Korthikanti et al. (2022) count, without masks of dropout") {
    // Equation 2 has s b h (34 + 5 a s / h) bytes: 11 + 5 a s / h for attention, 19 for the MLP, 4 for two norms. Masks
    // take one byte per element: two of the 34 (after the projection and after the MLP), which leaves 32; one of the 5,
    // and the plane after that dropout (two bytes) is the plane before it when there is no dropout, which leaves 2.
    const double s = 2048;
    const double a = 96;
    const double h = 12288;
    CHECK(per_sbh(step_of(gpt_layer(false))) == approx(32 + 2 * a * s / h));
    CHECK(per_sbh(step_of(gpt_layer(true))) == approx(32));
    // Their selective recomputation leaves out the planes, 34 without the masks: the flash kernel does that by itself.
    // If everything is recomputed except the inputs of layers, 2 s b h remain, their "full recomputation".
    TrainingOptions full;
    full.remat = Remat::full;
    CHECK(per_sbh(step_of(gpt_layer(false), full)) == approx(2));
    // Results of matmuls: Q, K, V, O, A of 2 bytes; the input of gelu, 8; and the layer's input, 2.
    TrainingOptions selective;
    selective.remat = Remat::selective;
    CHECK(per_sbh(step_of(gpt_layer(false), selective)) == approx(20));
    // By name: the layer's input and the result of attention.
    TrainingOptions named;
    named.remat = Remat::named;
    named.kept = {"O"};
    CHECK(per_sbh(step_of(gpt_layer(false), named)) == approx(4));
    named.kept = {"Oo"};
    auto refused = training_step(parsed(gpt_layer(false)), named);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "unknown_name");
    CHECK(refused.error().hint == "did you mean `O`?");
}

TEST_CASE("full recomputation runs each layer's forward pass once more, all of it") {
    for (const bool flash : {false, true}) {
        TrainingOptions full;
        full.remat = Remat::full;
        const TrainingProgram step = step_of(gpt_layer(flash), full);
        check_round_trip(step.program);
        const Polynomial forward = products(step, {StepPhase::forward});
        // In every layer, a fused kernel additionally recomputes its scores in its backward pass.
        const Polynomial scores = causal_product() * Polynomial::dim("L");
        CHECK(products(step, {StepPhase::recomputation}) == forward + (flash ? scores : Polynomial()));
        CHECK(products(step, {StepPhase::backward}) == 2 * forward);
    }
}

TEST_CASE("training steps of a layer print as programs that read back unchanged") {
    for (const Remat remat : {Remat::none, Remat::selective, Remat::full, Remat::named}) {
        for (const bool flash : {false, true}) {
            TrainingOptions options;
            options.remat = remat;
            check_round_trip(step_of(gpt_layer(flash), options).program);
        }
    }
}

TEST_CASE("Adam keeps 16 bytes per parameter, 18 with gradients in f32, and reads and writes them once") {
    const char* text = "In : bf16[B, D]\nparam W : bf16[D, F]\nH : bf16[B, F] = In *_D W\n";
    const auto all = [](const TrainingProgram& step) {
        return bytes_of(step, StepRole::param) + bytes_of(step, StepRole::gradient) +
               bytes_of(step, StepRole::optimizer_state);
    };
    const Polynomial W = Polynomial::dim("D") * Polynomial::dim("F");
    TrainingOptions options;
    CHECK(all(step_of(text, options)) == 16 * W);  // 2 + 2 + 4 master + 8 moments
    options.f32_gradients = true;
    CHECK(all(step_of(text, options)) == 18 * W);
    // read: gradient 4, moments 8, master 4; written: moments 8, master 4, parameter 2
    const TrainingProgram step = step_of(text, options);
    auto work = derive_work(step.program);
    REQUIRE(work);
    const Traffic& last = work->kernels.back().work.memory.at("hbm");
    CHECK(last.read == 16 * W);
    CHECK(last.write == 14 * W);
    options.master = false;
    options.moments = Dtype::bf16;
    options.f32_gradients = false;
    CHECK(all(step_of(text, options)) == 8 * W);
    options.optimizer = Optimizer::sgd;
    CHECK(all(step_of(text, options)) == 4 * W);
    options.optimizer = Optimizer::none;
    const TrainingProgram bare = step_of(text, options);
    CHECK(all(bare) == 4 * W);
    CHECK(products(bare, {StepPhase::optimizer}) == Polynomial());
}

TEST_CASE("a parameter in a repeat exists once per iteration, and so do its gradient and its states") {
    const TrainingProgram step = step_of(gpt_layer(true));
    const Polynomial params = bytes_of(step, StepRole::param);
    const Polynomial D = Polynomial::dim("D");
    const Polynomial NH = Polynomial::dim("N") * Polynomial::dim("H");
    const Polynomial F = Polynomial::dim("F");
    CHECK(value(params, [] {
              Program sized;
              sized.sizes = gpt_sizes();
              sized.sizes["L"] = 96;
              return sized;
          }()) == approx(2.0 * 96 * (12.0 * 12288 * 12288 + 4 * 12288 + 12288 + 4 * 12288 + 12288)));
    CHECK(bytes_of(step, StepRole::gradient) == params);
    CHECK(bytes_of(step, StepRole::optimizer_state) == 6 * params);
    static_cast<void>(D * NH * F);
}

TEST_CASE("the gradients of a tensor that several iterations share are summed") {
    const TrainingProgram step = step_of(R"(
X : bf16[B, D]
param W : bf16[D, E]
param U : bf16[E, D]
repeat L {
    H : bf16[B, E] = silu(X *_D W)
    X = X + H *_E U
}
)");
    check_round_trip(step.program);
    CHECK(products(step, {StepPhase::backward}) == 2 * products(step, {StepPhase::forward}));
    const std::string text = print(step.program);
    CHECK(text.find("dW : bf16[D, E] = dW + (dH_part *_B X_in)") != std::string::npos);
}

TEST_CASE("micro-batches repeat forward and backward pass and accumulate gradients; the optimizer runs once") {
    TrainingOptions options;
    const TrainingProgram one = step_of(gpt_layer(true), options);
    options.microbatches = 4;
    const TrainingProgram four = step_of(gpt_layer(true), options);
    Sizes sizes = gpt_sizes();
    sizes["#microbatches"] = 4;
    const auto flops = [&](const TrainingProgram& step, StepPhase phase) {
        return products(step, {phase}).evaluate(sizes).value();
    };
    CHECK(flops(four, StepPhase::forward) == flops(one, StepPhase::forward) * Rational(4));
    CHECK(flops(four, StepPhase::backward) == flops(one, StepPhase::backward) * Rational(4));
    for (const StepRole role : {StepRole::param, StepRole::gradient, StepRole::optimizer_state, StepRole::activation}) {
        CHECK(bytes_of(four, role) == bytes_of(one, role));
    }
    const auto optimizer_statements = [](const TrainingProgram& step) {
        return std::count(step.phases.begin(), step.phases.end(), StepPhase::optimizer);
    };
    CHECK(optimizer_statements(four) == optimizer_statements(one));
    const std::string text = print(four.program);
    CHECK(text.find("repeat 4 {") != std::string::npos);
    CHECK(text.find("dWd : bf16[F, D] = dWd + (dX *_{B, T} Hm)") != std::string::npos);
    auto again = parse_program(text);
    REQUIRE_MESSAGE(again.has_value(), text);
    CHECK(print(*again) == text);
    CHECK(again->values == four.program.values);
    options.microbatches = 0;
    CHECK_FALSE(training_step(parsed(gpt_layer(true)), options));
}

TEST_CASE("operations without a derivative are refused at their place") {
    const auto refuse = [](std::string_view text, const std::string& code) {
        auto step = training_step(parsed(text));
        REQUIRE_FALSE(step);
        CHECK(step.error().code == code);
        return step.error();
    };
    const Error mean = refuse("A : bf16[B, S]\nM : bf16[B] = mean[S](A)\n", "no_derivative");
    REQUIRE(mean.place);
    CHECK(mean.place->line == 2);
    CHECK(training_step(parsed("S=8\nA : bf16[B, S]\nM : bf16[B] = mean[S](A)\n")));
    (void)refuse("A : bf16[B, 8]\nC : bf16[B, 8] = relu(A)\n", "unnamed_dimensions");
    (void)refuse("A : int32[B]\nC : int32[B] = A + A\n", "nothing_to_do");
    (void)refuse("mesh X=2\nA : bf16[B_X]\nC : bf16[B_X] = relu(A)\n", "unsupported");
}

// GShard, algorithm 1: the gates, of which a gradient goes to the router, are a factor of the weights with which
// outputs are combined, and the mask that dispatches is made of choices.
TEST_CASE("a step with limited experts has the router's gradient and none of the masks, in any stage") {
    Program program = parsed(R"(
        B=3, T=8, D=4, E=4, A=2, C=12, F=16
        X : bf16[B, T, D]
        repeat 2 {
            param Wr : bf16[D, E]
            Scores : f32[B, T, E] = softmax[E](X *_D Wr)
            Chosen : int32[B, T, A]
            Share : bf16[B, T, A]
            param Wu : bf16[E, D, F]
            param Wd : bf16[E, F, D]
            Xe : bf16[E, C, D] = dispatch[E,C](X, Chosen)
            He : bf16[E, C, F] = relu(Xe *_D Wu)
            Ye : bf16[E, C, D] = He *_F Wd
            X : bf16[B, T, D] = X + combine[E,C,A](Ye, Share)
        })");
    limit_experts(program, 1.25);  // 5 places
    constexpr double layers = 2;
    constexpr double mask = 2.0 * 3 * 8 * 4 * 5 * 4;          // 2 B T E P D
    constexpr double experts = 2 * 2.0 * 3 * 4 * 5 * 4 * 16;  // two matrices for B E P rows
    constexpr double router = 2.0 * 3 * 8 * 4 * 4;
    for (const bool inputs : {false, true}) {
        CAPTURE(inputs);
        TrainingOptions options;
        options.input_gradients = inputs;
        const auto step = training_step(program, options);
        REQUIRE_MESSAGE(step, step.error().message);
        const std::string text = print(step->program);
        // to the places and back, and backward through both, with the weights of places
        CHECK(value(products(*step, {StepPhase::forward}), step->program) == layers * (2 * mask + experts + router));
        CHECK(value(products(*step, {StepPhase::backward}), step->program) ==
              layers * (3 * mask + 2 * experts + 2 * router));
        CHECK(text.find("dPlaces") == std::string::npos);
        CHECK(text.find("dsoftmax[E](Scores, sum[Places](dWeights * Places))") != std::string::npos);
    }
}
