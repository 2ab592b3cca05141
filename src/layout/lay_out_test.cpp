#include "layout/lay_out.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "bound/analysis.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

struct Case {
    Program program;
    System system;
    LaidOut laid;
};

// Returns the case with its program and system; laid() lays it out.
Case read(const std::string& text, const std::string& machine, const std::string& shape) {
    Case made;
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    made.program = std::move(*program);
    auto slice = make_slice(find_machine(machine).value(), shape);
    REQUIRE_MESSAGE(slice.has_value(), to_text(slice.error()));
    made.system.slice = std::move(*slice);
    made.system.mesh = place_mesh(made.system.slice, made.program.mesh).value();
    return made;
}

Case laid(const std::string& text, const std::string& machine, const std::string& shape,
          LayoutFreedom freedom = LayoutFreedom::any) {
    Case made = read(text, machine, shape);
    auto out = lay_out(made.program, made.system, {}, freedom);
    REQUIRE_MESSAGE(out.has_value(), to_text(out.error()));
    made.laid = std::move(*out);
    return made;
}

std::string refused(const std::string& text) {
    const Case made = read("mesh X=4, Y=4\nB=1024, D=1024\n" + text, "tpu-v5e", "4x4");
    const auto out = lay_out(made.program, made.system);
    return out ? "" : out.error().code;
}

std::string chosen(const Case& made, std::size_t statement = 0) {
    return made.laid.statements.at(statement).plans.at(0).text;
}

const std::string mesh = "mesh X=4, Y=4, Z=4\n";

}  // namespace

// The four cases of a sharded matmul from textbooks. The code has no special case for any of them.
TEST_CASE("no summed dimension is split: no communication") {
    CHECK(chosen(laid(mesh + "bf16[B_X=8192, D=4096] * bf16[D, F_Y=8192] -> bf16[B_X, F_Y]", "tpu-v5p", "4x4x4")) ==
          "no communication");
}

TEST_CASE("one operand is split along a summed dimension: it is gathered") {
    CHECK(chosen(laid(mesh + "A: bf16[B_X=65536, D=4096] * W: bf16[D_X, F=8192] -> C: bf16[B_X, F]", "tpu-v5p",
                      "4x4x4")) == "all-gather W over X");
}

TEST_CASE("both operands are split alike along a summed dimension: the result is all-reduced") {
    // The batch is small: with a large one the operands are cheaper to move, and the search finds that.
    const std::string product = "bf16[B=512, D_X=4096] * bf16[D_X, F=8192] -> C: ";
    CHECK(chosen(laid(mesh + product + "bf16[B, F]", "tpu-v5p", "4x4x4")) == "all-reduce C over X");
    CHECK(chosen(laid(mesh + product + "bf16[B, F_X]", "tpu-v5p", "4x4x4")) == "reduce-scatter C over X");
    CHECK(chosen(laid(mesh + product + "bf16[B, F]{U_X}", "tpu-v5p", "4x4x4")) == "no communication");
}

TEST_CASE("both operands are split over one axis along kept dimensions: the smaller one is gathered") {
    CHECK(chosen(laid(mesh + "A: bf16[B_X=65536, D=4096] * W: bf16[D, F_X=8192] -> C: bf16[B_X, F]", "tpu-v5p",
                      "4x4x4")) == "all-gather W over X");
}

TEST_CASE("a transformer block on several chips: the work of one chip, and the all-reduce") {
    // Each chip computes 4096/4 * 8192 * 28672/4 * 2 FLOPs; the all-reduce is of the [1024, 8192] array that four chips
    // hold together.
    const Case made = laid(
        "mesh X=4, Y=4\nB=4096, D=8192, F=28672\nIn : bf16[B_X, D]\nparam Win : bf16[D, F_Y]\nparam Wout : bf16[F_Y, "
        "D]\n"
        "H : bf16[B_X, F_Y] = gelu(In * Win)\nOut : bf16[B_X, D] = H * Wout",
        "tpu-v5e", "4x4");
    CHECK(chosen(made, 0) == "no communication");
    CHECK(chosen(made, 1) == "all-reduce Out over Y");
    const auto analysis = analyse(made.program, made.laid.local, made.system, {});
    REQUIRE(analysis.has_value());
    const Analysis& out = analysis->kernels.at(1);
    CHECK(out.work.flops().evaluate(made.program.sizes) == Rational(2LL * 1024 * 8192 * 7168));
    CHECK(out.work.messages.at(0).message.bytes.evaluate(made.program.sizes) == Rational(2LL * 1024 * 8192));
    // An open axis of four chips: its links carry V in both directions, i/4 of it in the reduce-scatter and (4-i)/4 in
    // the all-gather, at 50 GB/s.
    REQUIRE(out.pricing.find("ici") != nullptr);
    CHECK(out.seconds->back() == approx(2.0 * 1024 * 8192 / 50e9));
    const double math = 2.0 * 1024 * 8192 * 7168 / 197e12;
    CHECK(analysis->total.bounds.lower == approx(2 * math));
    CHECK(analysis->total.sequential == approx(2 * math));  // the communication overlaps with its matmul
    CHECK(analysis->total.exposed.value() == approx(2 * math + 2.0 * 1024 * 8192 / 50e9));
    CHECK_FALSE(analysis->kernels.at(0).exposed.has_value());
}

TEST_CASE("one row and one column of two chips: compute-bound from D = 4 W / P, for every B") {
    // T_math = BDF/P on each of two chips; the all-reduce of 2BF bytes over one link of 45 GB/s takes 2BF/W.
    Case made = laid("mesh X=2\nbf16[B=1024, D_X=8192] * bf16[D_X, F=8192] -> bf16[B, F]", "tpu-v5e", "2x1");
    REQUIRE(set_figure(made.system.slice.machine, "ici.bandwidth=4.5e10").has_value());
    const auto analysis = analyse(made.program, made.laid.local, made.system, {});
    REQUIRE(analysis.has_value());
    const CriticalSize* found = nullptr;
    for (const CriticalSize& size : analysis->total.critical) {
        if (size.dim == "D" && size.level == "ici") found = &size;
    }
    REQUIRE(found != nullptr);
    REQUIRE(found->limit.has_value());
    CHECK(*found->limit == approx(2 * 1.97e14 / 4.5e10));  // 8755.6
}

namespace {

// Returns the bounds of a program of two matmuls whose intermediate has this type.
Bounds bounds_with(const std::string& declarations, const std::string& intermediate, const std::string& machine,
                   const std::string& shape) {
    const Case made =
        laid(declarations + "H" + intermediate + " = A *_D W\nOut : bf16[B_X, G] = H * V", machine, shape);
    const auto analysis = analyse(made.program, made.laid.local, made.system, {});
    REQUIRE_MESSAGE(analysis.has_value(), to_text(analysis.error()));
    return analysis->total.bounds;
}

}  // namespace

TEST_CASE("operations that differ only in the names of tensors have the same strategies, each with its own names") {
    const Case made = laid(
        "mesh X=4\nB=65536, D=4096, F=8192\nA : bf16[B_X, D]\nparam V : bf16[D_X, F]\nparam W : bf16[D_X, F]\n"
        "C : bf16[B_X, F] = A * V\nE : bf16[B_X, F] = A * W",
        "tpu-v5e", "2x2");
    CHECK(chosen(made, 0) == "all-gather V over X");
    CHECK(chosen(made, 1) == "all-gather W over X");
}

TEST_CASE("operations that differ only in the names of dimensions have the strategies that each has alone") {
    // A product that is summed over a split dimension, and rows that are split, so that chips exchange statistics.
    const auto lines = [](const std::string& rows, const std::string& columns, const std::string& in) {
        return "X" + in + " : bf16[" + rows + ", " + columns + "_X]; W" + in + " : bf16[" + columns + "_X, K]\n" + "Y" +
               in + " : bf16[" + rows + ", K] = X" + in + " * W" + in + "\nS" + in + " : bf16[" + rows + ", " +
               columns + "_X] = softmax[" + columns + "](X" + in + ")\n";
    };
    const std::string head = "mesh X=4, Y=4\nB=1024, D=1024, E=8192, F=2048, K=512\n";
    const Case both = laid(head + lines("B", "D", "") + lines("E", "F", "2"), "tpu-v5e", "4x4");
    const Case wide = laid(head + lines("E", "F", "2"), "tpu-v5e", "4x4");
    REQUIRE(both.laid.statements.size() == 4);
    REQUIRE(wide.laid.statements.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::vector<LayoutPlan>& plans = both.laid.statements[i + 2].plans;
        const std::vector<LayoutPlan>& alone = wide.laid.statements[i].plans;
        REQUIRE(plans.size() == alone.size());
        for (std::size_t plan = 0; plan < plans.size(); ++plan) {
            CHECK(plans[plan].text == alone[plan].text);
            CHECK(plans[plan].lower_s == approx(alone[plan].lower_s));
            CHECK(plans[plan].upper_s == approx(alone[plan].upper_s));
        }
    }
}

TEST_CASE("the layout of an intermediate is chosen for the whole program: no written type does better") {
    const std::vector<std::string> machines[] = {{"tpu-v5e", "4x4"}, {"tpu-v5p", "4x4x1"}, {"h100-sxm", "4x4"}};
    const std::string operands[] = {"A : bf16[B_X, D]\nW : bf16[D, F_Y]\nV : bf16[F_Y, G]\n",
                                    "A : bf16[B, D]\nW : bf16[D, F]\nV : bf16[F_X, G]\n",
                                    "A : bf16[B_X, D_Y]\nW : bf16[D_Y, F]\nV : bf16[F_Y, G]\n",
                                    "A : bf16[B, D_X]\nW : bf16[D_X, F_Y]\nV : bf16[F, G]\n"};
    const std::string sizes[] = {"B=256, D=8192, F=32768, G=512\n", "B=65536, D=1024, F=512, G=4096\n",
                                 "B=4096, D=4096, F=4096, G=4096\n"};
    bool differ = false;
    for (const auto& machine : machines) {
        for (const std::string& operand : operands) {
            for (const std::string& size : sizes) {
                const std::string declarations = "mesh X=4, Y=4\n" + size + operand;
                CAPTURE(declarations);
                CAPTURE(machine[0]);
                const Bounds free = bounds_with(declarations, "", machine[0], machine[1]);
                for (const std::string b : {"B", "B_X"}) {
                    for (const std::string f : {"F", "F_X", "F_Y"}) {
                        if (b == "B_X" && f == "F_X") continue;
                        // The search does not consider splits that no tensor of the program has.
                        if (f == "F_X" && operand.find("F_X") == std::string::npos) continue;
                        if (f == "F_Y" && operand.find("F_Y") == std::string::npos) continue;
                        const Bounds typed =
                            bounds_with(declarations, " : bf16[" + b + ", " + f + "]", machine[0], machine[1]);
                        CAPTURE(b + ", " + f);
                        CHECK(free.lower <= typed.lower * (1 + 1e-9));
                        if (free.lower >= typed.lower * (1 - 1e-9)) CHECK(free.upper <= typed.upper * (1 + 1e-9));
                        differ = differ || typed.lower > free.lower * 1.5;
                    }
                }
            }
        }
    }
    CHECK(differ);  // otherwise the choice would not matter, and the test would test nothing
}

TEST_CASE("a value carried by a loop has the same layout at the end as at the beginning") {
    const Case made = laid(
        "mesh X=4\nB=1024, D=4096\nA : bf16[B_X, D]\nparam W : bf16[D_X, D2]\nparam V : bf16[D2, D_X]\n"
        "D2=4096\nY = relu(A)\nrepeat 3 { Y = (Y *_D W) *_D2 V }\nOut : bf16[B_X, D] = Y",
        "tpu-v5e", "2x2");
    std::vector<std::vector<Axis>> types;
    for (const Value& value : made.laid.local.values) {
        if (value.name == "Y") types.push_back(value.type.axes);
    }
    REQUIRE(types.size() == 2);
    CHECK(types[0] == types[1]);
}

TEST_CASE("splits that do not divide evenly are padded, and a note says so") {
    const Case made = laid("mesh X=4\nbf16[B_X=10] -> bf16[B]", "tpu-v5e", "2x2");
    REQUIRE(made.laid.notes.size() == 1);
    CHECK(made.laid.notes[0].find("each chip holds 3") != std::string::npos);
}

TEST_CASE("a result on one chip is computed there, and its operands are brought to it") {
    const std::string head = "mesh X=4, Y=4\nB=8, D=1024, F=4096\nA : bf16[B, D] at X=1\nW : bf16[D_XY, F]\n";
    const Case made = laid(head + "R : bf16[B, F] at X=1 = gelu(A * W)", "tpu-v5e", "4x4");
    CHECK(chosen(made) == "on X=1,Y=0 alone, gather W over XY to X=1,Y=0");
    const Statement& statement = std::get<Statement>(made.laid.local.body.nodes[0]);
    CHECK(statement.one_chip);
    REQUIRE(statement.messages.size() == 1);
    CHECK(statement.messages[0].to == MeshPlace{{"X", 1}, {"Y", 0}});
    CHECK(statement.messages[0].bytes.evaluate(made.program.sizes) == Rational(2LL * 1024 * 4096));
    CHECK(made.laid.types[statement.result].at == MeshPlace{{"X", 1}, {"Y", 0}});
    // Without a place all chips take part, because 96 rows cost little to move.
    const Case all = laid(
        "mesh X=4, Y=4\nB=96, D=1024, F=4096\nA : bf16[B, D] at X=1\nW : bf16[D_XY, F]\n"
        "R : bf16[B, F_XY] = gelu(A * W)",
        "tpu-v5e", "4x4");
    CHECK(chosen(all) == "scatter A over XY from X=1,Y=0, reduce-scatter the intermediate over XY");
    CHECK(!std::get<Statement>(all.laid.local.body.nodes[0]).one_chip);
}

TEST_CASE("a tensor that all hosts have is loaded in shares, or entirely by the chip that wants it: the faster way") {
    const std::string text = "mesh X=4, Y=4\nW : int8[D=131072, F=131072] in host\nG : int8[D, F] at X=0 = W";
    const Case shared = laid(text, "tpu-v5e", "4x4");
    const auto& plans = shared.laid.statements.at(0).plans;
    REQUIRE(plans.size() == 2);
    // 2^34 B: 15/16 over two links of 50 GB/s after 1/16 over PCIe; or all of it over one PCIe link of 15 GB/s.
    CHECK(plans[0].text == "gather G over XY to X=0,Y=0");
    CHECK(plans[0].lower_s == approx(15.0 / 16 * 17179869184 / 100e9));
    CHECK(plans[1].text == "on X=0,Y=0 alone, no communication");
    CHECK(plans[1].lower_s == approx(17179869184 / 15e9));
    // With slow links the other way is faster.
    Case slow = read(text, "tpu-v5e", "4x4");
    REQUIRE(set_figure(slow.system.slice.machine, "ici.bandwidth=5e9").has_value());
    const auto out = lay_out(slow.program, slow.system);
    REQUIRE(out.has_value());
    CHECK(out->statements.at(0).plans.at(0).text == "on X=0,Y=0 alone, no communication");
    // A tensor that all chips want is also loaded in shares and then gathered.
    CHECK(chosen(laid("mesh X=4, Y=4\nW : int8[D=131072, F=131072] in host\nG : int8[D, F] = W", "tpu-v5e", "4x4")) ==
          "all-gather G over XY");
    // A tensor in the host memory of one chip is loaded through that chip.
    CHECK(chosen(laid("mesh X=4, Y=4\nW : int8[D=4096, F=4096] in host at Y=1\nG : int8[D_XY, F] = W", "tpu-v5e",
                      "4x4")) == "on X=0,Y=1 alone, scatter G over XY from X=0,Y=1");
}

TEST_CASE("work on several single chips, or on one chip within a kernel of all chips, is refused") {
    CHECK(refused("A : bf16[B, D] at X=0\nC : bf16[B, D] at X=1 = A\nE : bf16[B, D] at X=1 = relu(C)") == "");
    CHECK(refused("A : bf16[B, D] at X=0\nC : bf16[B, D] at X=0 = relu(A)\nE : bf16[B, D] at X=1 = relu(C)") ==
          "several_workers");
    CHECK(refused("A : bf16[B, D] at X=0\nfuse { C : bf16[B, D] at X=0 = relu(A)\nE : bf16[B, D] = relu(C) }") ==
          "partly_alone");
    CHECK(refused("A : bf16[B, D] at X=0\nC = relu(A)\nE : bf16[B_X, D] = relu(C)") == "");
    // A collective in host memory is refused, as everywhere.
    CHECK(refused("A : bf16[B, D] in host at X=0\nC : bf16[B, D] at X=1 = relu(A)") == "host_collective");
}

TEST_CASE("the price of a plan with transfers is that of its answer") {
    const std::string head = "mesh X=4, Y=4\nB=4096, D=4096, F=4096\n";
    const std::string statements[] = {
        "A : bf16[B, D] at X=1,Y=1\nC : bf16[B, D] = A",  // the corner chips have less bandwidth than the root
        "A : bf16[B, D] at X=1,Y=1\nC : bf16[B, D] at X=3,Y=3 = A",
        "A : bf16[B, D] at X=0\nW : bf16[D, F] at X=0\nC : bf16[B_X, F_Y] = A * W",
        "A : bf16[B, D_XY]\nW : bf16[D, F_X]\nC : bf16[B, F] at X=2 = A * W",
        "A : bf16[B, D_XY]\nW : bf16[D, F] at X=1\nC : bf16[B, F] at X=2,Y=1 = A * W",
        "A : bf16[B, D] in host at X=1\nC : bf16[B_XY, D] = A",
    };
    const std::vector<std::string> machines[] = {{"tpu-v5e", "4x4"}, {"h100-sxm", "4x4"}, {"mi300x", "8x2"}};
    for (const auto& machine : machines) {
        for (const std::string& text : statements) {
            CAPTURE(machine[0]);
            CAPTURE(text);
            const Case made = laid(head + text, machine[0], machine[1]);
            const auto analysis = analyse(made.program, made.laid.local, made.system, {});
            REQUIRE(analysis.has_value());
            const LayoutPlan& plan = made.laid.statements.at(0).plans.at(0);
            CHECK(plan.lower_s > 0);
            CHECK(plan.lower_s == approx(analysis->total.bounds.lower));
            CHECK(plan.upper_s == approx(analysis->total.bounds.upper));
        }
    }
}

namespace {

// The bytes of the collectives of a one-statement program, each with its kind.
std::vector<std::pair<std::string, double>> exchanged(const std::string& text) {
    const Case made = laid("mesh X=8\nB=64, D=4096\n" + text, "h100-sxm", "8");
    std::vector<std::pair<std::string, double>> all;
    for (const Node& node : made.laid.local.body.nodes) {
        for (const Message& message : std::get<Statement>(node).messages) {
            all.emplace_back(collective_name(message.kind),
                             message.bytes.evaluate(made.program.sizes).value().to_double());
        }
    }
    return all;
}

using Exchanged = std::vector<std::pair<std::string, double>>;

}  // namespace

// What each chip must know of the other chips' parts of a row: numbers in f32, 4 bytes for each of B = 64 rows.
TEST_CASE("a function along a split dimension exchanges statistics of its rows") {
    const double row = 4 * 64;
    const Exchanged once{{"all_reduce", row}};
    const Exchanged twice{{"all_reduce", row}, {"all_reduce", row}};
    const std::string x = "X : bf16[B, D_X]\n";
    const std::string xy = "X : bf16[B, D_X]\nY : bf16[B, D_X]\n";
    const std::string like = "R : bf16[B, D_X] = ";
    const std::string rows = "R : bf16[B] = ";
    CHECK(exchanged(x + like + "softmax[D](X)") == twice);  // the maximum, then the sum that depends on it
    CHECK(exchanged(x + like + "norm[D](X)") == once);      // sum of squares
    CHECK(exchanged(x + like + "layernorm[D](X)") == Exchanged{{"all_reduce", 2 * row}});  // sum, and sum of squares
    CHECK(exchanged(xy + like + "dsoftmax[D](X, Y)") == once);                             // sum of products
    // Sums of squares and of products.
    CHECK(exchanged(xy + like + "dnorm[D](X, Y)") == Exchanged{{"all_reduce", 2 * row}});
    // The same and both plain sums.
    CHECK(exchanged(xy + like + "dlayernorm[D](X, Y)") == Exchanged{{"all_reduce", 4 * row}});
    CHECK(exchanged(x + rows + "logsumexp[D](X)") == twice);
    CHECK(exchanged(x + rows + "max[D](X)") == once);
    CHECK(exchanged(x + rows + "min[D](X)") == once);
    // Sums of parts add up in the dtype of the result.
    CHECK(exchanged(x + rows + "sum[D](X)") == Exchanged{{"all_reduce", row / 2}});
    CHECK(exchanged(x + rows + "mean[D](X)") == Exchanged{{"all_reduce", row / 2}});
    CHECK(exchanged(x + "R : bf16[B]{U_X} = mean[D](X)").empty());
    // Nothing is exchanged for whole rows, and a recurrence needs them whole.
    CHECK(exchanged("X : bf16[B_X, D]\nR : bf16[B_X, D] = softmax[D](X)").empty());
    CHECK(exchanged(xy + like + "scan[D](X, Y)").front().first != "all_reduce");
}

TEST_CASE("decode attention with a context-parallel KV cache exchanges statistics and adds the results") {
    // As in flash-decoding across chips: maximum and sum of each head's row in f32, and the results, for all B = 64
    // rows.
    const Exchanged found = exchanged(
        "H=128, K=8\nQ : bf16[B, K, H]\nKc : bf16[B, D_X, K, H]\nVc : bf16[B, D_X, K, H]\n"
        "P : bf16[B, K, D_X] = softmax[D](Q *_H Kc)\nO : bf16[B, K, H] = P *_D Vc");
    const double rows = 64 * 8;
    CHECK(found == Exchanged{{"all_reduce", 4 * rows}, {"all_reduce", 4 * rows}, {"all_reduce", 2 * rows * 128}});
}

TEST_CASE("the unmasked half of a split causal plane is balanced between chips") {
    // Half of T S = 4096^2 over 8 chips; with a window of 512 the unmasked part is T W - W^2/2.
    const auto flops = [](const std::string& mask, const std::string& rows, const std::string& columns) {
        const Case made = laid("mesh X=8\nT=4096, S=4096, H=128, W=512\nQ : bf16[" + rows + ", H]\nKc : bf16[" +
                                   columns + ", H]\nP = causal[" + mask + "](Q *_H Kc)",
                               "h100-sxm", "8");
        const auto analysis = analyse(made.program, made.laid.local, made.system, {});
        REQUIRE(analysis.has_value());
        return analysis->total.work.flops().evaluate(made.program.sizes).value().to_double();
    };
    const double half = 2.0 * 128 * 4096 * 4096 / 2;
    CHECK(flops("T,S", "T", "S") == half);
    CHECK(flops("T,S", "T_X", "S") == half / 8);
    CHECK(flops("T,S", "T", "S_X") == half / 8);
    const double band = 2.0 * 128 * (4096.0 * 512 - 512.0 * 512 / 2);
    CHECK(flops("T,S,W", "T", "S") == band);
    CHECK(flops("T,S,W", "T_X", "S") == band / 8);
    CHECK(flops("T,S,W", "T", "S_X") == band / 8);
}

namespace {

// Returns what a one-statement program communicates at B=D=F=1024 on four chips when tensors stay in their shardings.
std::string communicates(const std::string& text) {
    return chosen(laid("mesh X=4\nB=1024, D=1024, F=1024\n" + text, "h100-sxm", "4", LayoutFreedom::as_written));
}

}  // namespace

TEST_CASE("where two dimensions are split over one axis, either may keep the axes before it") {
    const std::string text =
        "mesh X=4, Y=2, Z=4\nM=64, K=256, N=256\nA : f32[M, K_ZX]; B : f32[K, N_XY]; C : f32[M, N_XY] = A * B";
    // A gather of 64 x 64 x 4 bytes and a sum of 64 x 32 x 4, instead of two gathers of more.
    CHECK(chosen(laid(text, "h100-sxm", "8x4", LayoutFreedom::in_part)) == "all-gather A over X, all-reduce C over Z");
    CHECK(chosen(laid(text, "h100-sxm", "8x4", LayoutFreedom::as_written)).find("all-gather A over X, all-red") ==
          std::string::npos);
}

TEST_CASE("a whole operand is added to partial sums by one chip, and the result stays unreduced") {
    // Megatron's row-parallel matmul with a bias whose sum is completed later: nothing is sent here.
    CHECK(communicates("H : bf16[B, F_X]; W : bf16[F_X, D]; b : bf16[D]; Y : bf16[B, D]{U_X} = H * W + b") ==
          "no communication");
    // A gradient that is multiplied by a whole parameter stays unreduced over the axis that splits the summed
    // dimension.
    CHECK(communicates("G : bf16[B_X, D]; g : bf16[D]; dg : bf16[D]{U_X} = sum[B](G) * exp(g)") == "no communication");
    CHECK(communicates("G : bf16[B_X, D]; g : bf16[D]; dg : bf16[D]{U_X} = sum[B](G) * (1 - exp(g))") ==
          "no communication");
    const Case made = laid("mesh X=4\nA : bf16[B=16]; C : bf16[B]{U_X} = A", "h100-sxm", "4");
    CHECK(chosen(made) == "no communication");
}

TEST_CASE("sums of a nested product that do not stay unreduced are scattered to where their parts are needed") {
    // The gradient of a parameter that is split over X, of one micro-batch, is added to that of others, of which the
    // sums over Y are completed later. Every chip needs half of the sums over X: an all-reduce would move twice the
    // bytes of the reduce-scatter.
    const std::string text =
        "mesh X=2, Y=4\nB=1048576, D=8192, F=8192\nA : bf16[B_{Y,X}, D]; C : bf16[B_{Y,X}, F]; G : bf16[D_X, F]{U_Y}; ";
    for (const std::string sum : {"G + (A *_B C)", "(A *_B C) + G", "A *_B C"}) {
        const std::string plan = chosen(laid(text + "H : bf16[D_X, F]{U_Y} = " + sum, "h100-sxm", "8"));
        CHECK_MESSAGE(plan.find("reduce-scatter") != std::string::npos, sum, ": ", plan);
        CHECK_MESSAGE(plan.find("all-reduce") == std::string::npos, sum, ": ", plan);
    }
}

TEST_CASE("only sums can stay unreduced") {
    // Adding a constant, squaring and the maximum need the whole sum: they are not linear.
    CHECK(communicates("A : bf16[B, D]{U_X}; C : bf16[B, D]{U_X} = A + 1").find("reduce") != std::string::npos);
    CHECK(communicates("A : bf16[B, D]{U_X}; C : bf16[B, D]{U_X} = square(A)").find("reduce") != std::string::npos);
    CHECK(communicates("A : bf16[B, D]{U_X}; C : bf16[B, D]{U_X} = A * A").find("reduce") != std::string::npos);
    CHECK(communicates("A : bf16[B, D_X]; C : bf16[B]{U_X} = max[D](A)").find("all-reduce statistics") !=
          std::string::npos);
}

TEST_CASE("movements of elements are split along the dimensions that they keep, and nothing else") {
    const auto moved = [](const std::string& result, const std::string& expression) {
        return chosen(laid("mesh X=4\nB=1024, D=256, E=256, F=1024, S=8, T=64\nA : bf16[B_X, D]\nP : int32[T]\nR : " +
                               result + " = " + expression + "\n",
                           "tpu-v5p", "2x2x1"));
    };
    CHECK(moved("bf16[B_X, S]", "slice(A)") == "no communication");
    CHECK(moved("bf16[S, D]", "slice(A)") == "all-gather A over X");
    CHECK(moved("bf16[T_X, E]", "slice(A, P)") == "all-gather A over X");
    CHECK(moved("bf16[D, B_X]", "transpose(A)") == "no communication");
    CHECK(moved("bf16[S, B_X, D]", "concat(A, A)") == "no communication");
    // Nothing says that B lies in the first dimension of the view.
    CHECK(moved("bf16[F_X, E]", "view(A)") == "all-gather A over X");
    CHECK(moved("bf16[B_X, D]", "unknown(A)") == "all-gather A over X");
}
