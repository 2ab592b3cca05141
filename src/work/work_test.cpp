#include "work/work.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

// The kernels of a program point into it, so both are kept together.
struct Derived {
    Program program;
    ProgramWork work;
};

Derived derive(std::string_view text, const WorkOptions& options = {}) {
    Derived derived;
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), text, "\n", to_text(program.error()));
    derived.program = std::move(*program);
    auto work = derive_work(derived.program, options);
    REQUIRE_MESSAGE(work.has_value(), text, "\n", to_text(work.error()));
    derived.work = std::move(*work);
    return derived;
}

std::string text_of(const Polynomial& polynomial, const Program& program) {
    return polynomial.to_handwriting(program.dims);
}

// Returns "read -> write" of a level, for the whole program.
std::string traffic(const Derived& derived, const std::string& level = "hbm") {
    const auto found = derived.work.total.memory.find(level);
    if (found == derived.work.total.memory.end()) return "none";
    return text_of(found->second.read, derived.program) + " -> " + text_of(found->second.write, derived.program);
}

std::string flops(const Derived& derived, Unit unit, Dtype dtype) {
    for (const ComputeWork& entry : derived.work.total.compute) {
        if (entry.unit == unit && entry.dtype == dtype) return text_of(entry.flops, derived.program);
    }
    return "none";
}

}  // namespace

TEST_CASE("a matmul: two FLOPs per point, inputs read once, the result written once") {
    const Derived mixed = derive("bf16[B, D] * int8[D, F] -> bf16[B, F]");
    CHECK(flops(mixed, Unit::matmul, Dtype::bf16) == "2BDF");
    CHECK(mixed.work.total.compute.size() == 1);
    CHECK(traffic(mixed) == "2BD + DF -> 2BF");
    CHECK(flops(derive("bf16[B, D] * int8[D, F] -> bf16[B, F]", {true, {}}), Unit::matmul, Dtype::bf16) == "2BDF - BF");
    CHECK(traffic(derive("nvfp4[B, D] * nvfp4[D, F] -> bf16[B, F]")) == "9BD/16 + 9DF/16 -> 2BF");
}

TEST_CASE("a product that is not a matmul is vector work") {
    CHECK(flops(derive("bf16[D] * bf16[D] -> bf16[]"), Unit::vector, Dtype::bf16) == "2D");
    CHECK(flops(derive("bf16[B, D] * bf16[B, D] -> bf16[B]"), Unit::vector, Dtype::bf16) == "2BD");
    CHECK(flops(derive("bf16[B] * bf16[D] -> bf16[B, D]"), Unit::vector, Dtype::bf16) == "BD");
    CHECK(flops(derive("bf16[B, D] * bf16[D] -> bf16[B]"), Unit::matmul, Dtype::bf16) == "2BD");
}

TEST_CASE("functions count per element and per row") {
    // softmax: 4 FLOPs and an exp per element; norm: 3 per element, 2 and a rsqrt per row.
    const Derived softmax = derive("softmax[S](f32[T, S]) -> f32[T, S]");
    CHECK(flops(softmax, Unit::vector, Dtype::f32) == "4TS");
    CHECK(text_of(softmax.work.total.transcendentals, softmax.program) == "TS");
    const Derived norm = derive("norm[D](bf16[B, D]) -> bf16[B, D]");
    CHECK(flops(norm, Unit::vector, Dtype::bf16) == "3BD + 2B");
    CHECK(text_of(norm.work.total.transcendentals, norm.program) == "B");
    CHECK(flops(derive("bf16[B, D] + bf16[D] -> bf16[B, D]"), Unit::vector, Dtype::bf16) == "BD");  // broadcast
}

TEST_CASE("a tensor used twice in a statement is read once, a nested one is not stored") {
    CHECK(traffic(derive("X : bf16[B]; Y : bf16[B] = X * X + X")) == "2B -> 2B");
    CHECK(traffic(derive("X : bf16[B,D]; G : bf16[D,F]; I : bf16[D,F]; H : bf16[B,F] = silu(X * G) * (X * I)")) ==
          "2BD + 4DF -> 2BF");
}

TEST_CASE("a named result is stored, unless it is computed and used up inside a fuse") {
    const std::string inputs = "X : bf16[B,D]; W : bf16[D,F]; V : bf16[F,D]\n";
    const std::string both = "H : bf16[B,F] = X * W; O : bf16[B,D] = H * V";
    const Derived apart = derive(inputs + both);
    CHECK(apart.work.kernels.size() == 2);
    CHECK(traffic(apart) == "2BD + 4DF + 2BF -> 2BF + 2BD");
    const Derived fused = derive(inputs + "fuse { " + both + " }");
    CHECK(fused.work.kernels.size() == 1);
    CHECK(traffic(fused) == "2BD + 4DF -> 2BD");
    CHECK(traffic(derive(inputs + "fuse { " + both + " }\nY : bf16[B,F] = relu(H)")) ==
          "2BD + 4DF + 2BF -> 4BF + 2BD");  // H is needed afterwards: written, and read for Y, which is written
    CHECK(fused.work.total.flops() == apart.work.total.flops());
}

TEST_CASE("a fuse reads and writes the tensors that it shares with the rest of the program") {
    const auto program = parse_program(
        "X : bf16[B,D]; W : bf16[D,F]; V : bf16[F,D]\nfuse { H : bf16[B,F] = X * W; O : bf16[B,D] = H * V + X }");
    REQUIRE(program);
    const auto kernels = stored_tensors(*program);
    REQUIRE(kernels);
    REQUIRE(kernels->size() == 1);
    const auto names = [&](const std::set<ValueId>& values) {
        std::set<std::string> all;
        for (const ValueId id : values) all.insert(program->values[id].name);
        return all;
    };
    CHECK(names(kernels->front().reads) == std::set<std::string>{"X", "W", "V"});
    CHECK(names(kernels->front().writes) == std::set<std::string>{"O"});
    CHECK(kernels->front().statements.size() == 2);
}

TEST_CASE("what a fuse makes is written once where another layout of it is needed afterwards") {
    const std::string inputs = "X : bf16[B,D]; W : bf16[D,F]\n";
    const std::string product = "H : bf16[B,F] = X * W; O : bf16[B,F] = H";
    CHECK(traffic(derive(inputs + product)) == "2BD + 2DF -> 2BF");
    CHECK(traffic(derive(inputs + "fuse { " + product + " }")) == "2BD + 2DF -> 2BF");
    CHECK(traffic(derive(inputs + "fuse { " + product + "; P : bf16[B,F] = O }")) == "2BD + 2DF -> 2BF");
    CHECK(traffic(derive(inputs + "fuse { " + product + " }\nY : bf16[B,F] = relu(H)")) ==
          "2BD + 2DF + 2BF -> 4BF");  // H has both names and is read for Y
    CHECK(traffic(derive(inputs + "fuse { " + product + "; P : bf16[B] = sum[F](O) }")) ==
          "2BD + 2DF -> 2B");  // neither is stored
}

TEST_CASE("a fuse without statements is not a kernel") {
    CHECK(derive("A : bf16[N]\nfuse {}\n").work.kernels.empty());
    const Derived around = derive("A : bf16[N]\nB : bf16[N] = A * A\nfuse {}\nC : bf16[N] = B + B\n");
    CHECK(around.work.kernels.size() == 2);
}

TEST_CASE("a repeat multiplies; a carried value crosses memory in every iteration") {
    const Derived repeated = derive("X : bf16[B]; repeat L { fuse { Y = relu(X); X = Y + Y } }");
    CHECK(text_of(repeated.work.kernels.front().count, repeated.program) == "L");
    CHECK(flops(repeated, Unit::vector, Dtype::bf16) == "2BL");
    CHECK(traffic(repeated) == "2BL -> 2BL");
    CHECK(text_of(derive("X : bf16[B]; repeat 3 { repeat L { X = relu(X) } }").work.total.flops().bind({{"#1", 3}}),
                  {}) == "3BL");
}

TEST_CASE("a causal mask leaves T S - T^2/2 of the products and functions over its plane, not of the traffic") {
    const Derived attention = derive(
        "Q : bf16[T,H]; K : bf16[S,H]; V : bf16[S,H]\n"
        "fuse { P : bf16[T,S] = softmax[S](causal[T,S](Q * K)); O : bf16[T,H] = P * V }");
    CHECK(flops(attention, Unit::matmul, Dtype::bf16) == "4THS - 2T^2H");  // 2H (TS - T^2/2) for each of the two
    CHECK(flops(attention, Unit::vector, Dtype::bf16) == "4TS - 2T^2");
    CHECK(traffic(attention) == "2TH + 4HS -> 2TH");
}

TEST_CASE("gather reads the rows it needs, scatter writes its update in place") {
    const Derived gathered = derive("E : bf16[V,D]; ids : int32[B]; X : bf16[B,D] = gather[V](E, ids)");
    CHECK(traffic(gathered) == "2DB + 4B -> 2DB");
    CHECK(gathered.work.kernels.front().notes.size() == 1);
    CHECK(traffic(derive("C : bf16[S,H]; at : int32[T]; n : bf16[T,H]; C = scatter[S](C, at, n)")) ==
          "4T + 2HT -> 2HT");
}

TEST_CASE("a tensor that a kernel makes and updates is written whole") {
    // zeros with a few rows; the gradient of a table
    CHECK(traffic(derive("at : int32[T]; n : bf16[T,H]; "
                         "fuse { Z : bf16[S,H] = iota(); C : bf16[S,H] = scatter[S](Z, at, n) }")) ==
          "4T + 2TH -> 2HS");
    CHECK(traffic(derive("B : bf16[S,H]; at : int32[T]; n : bf16[T,H]; "
                         "fuse { Z : bf16[S,H] = exp(B); C : bf16[S,H] = scatter[S](Z, at, n) }")) ==
          "2SH + 4T + 2HT -> 2SH");
    // twice in place, in one kernel: the rows alone
    CHECK(traffic(derive("C : bf16[S,H]; at : int32[T]; n : bf16[T,H]; m : bf16[T,H]; "
                         "fuse { D : bf16[S,H] = scatter[S](C, at, n); E : bf16[S,H] = scatter[S](D, at, m) }")) ==
          "4T + 4HT -> 4HT");
}

TEST_CASE("tensors cross the level they live at; the host's cross PCIe") {
    const Derived placed = derive("bf16[B, D] in host * bf16[D, F] in vmem -> bf16[B, F]");
    CHECK(traffic(placed, "pcie") == "2BD -> 0");
    CHECK(traffic(placed, "vmem") == "2DF -> 0");
    CHECK(traffic(placed, "hbm") == "0 -> 2BF");
}

TEST_CASE("a copy costs bytes, a conversion also one FLOP per element, a new layout nothing") {
    CHECK(traffic(derive("bf16[B] in host -> bf16[B] in vmem"), "pcie") == "2B -> 0");
    CHECK(derive("bf16[B] in host -> bf16[B] in vmem").work.total.compute.empty());
    const Derived converted = derive("bf16[B] -> int8[B]");
    CHECK(traffic(converted) == "2B -> B");
    CHECK(flops(converted, Unit::vector, Dtype::bf16) == "B");
    CHECK(traffic(derive("bf16[B, D] -> bf16[D, B]")) == "none");
}

TEST_CASE("a tile fetches an input again for every tile of a dimension that it lacks") {
    const Tile tile{"hbm", {"hbm", "host"}, {{"B", 128}, {"F", 64}, {"D", 32}}};
    CHECK(traffic(derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", {false, {tile}})) ==
          "2*B*D*ceil(F/64) + 2*ceil(B/128)*D*F -> 2BF");
    // One level further in, the tile determines the traffic of VMEM and leaves that of HBM as it is.
    const Derived inner =
        derive("bf16[B, D] * bf16[D, F] -> bf16[B, F]", {false, {{"vmem", {"hbm", "host"}, {{"B", 128}}}}});
    CHECK(traffic(inner) == "2BD + 2DF -> 2BF");
    CHECK(traffic(inner, "vmem") == "2BD + 2*ceil(B/128)*D*F -> 2BF");
}

TEST_CASE("programs whose work cannot be derived are refused") {
    const auto code_of = [](std::string_view text) {
        const auto program = parse_program(text);
        REQUIRE(program.has_value());
        const auto work = derive_work(*program);
        return work ? "" : work.error().code;
    };
    CHECK(code_of("bf16[B_X, D] * bf16[D, F] -> bf16[B_X, F]") == "unsupported");
    CHECK(code_of("X : bf16[B]; fuse { repeat 2 { X = relu(X) } }") == "unsupported");
    CHECK(code_of("X : bf16[B]; repeat 2 { fuse { X = relu(X) } }").empty());
}

// Counted by hand over all orders: each pair costs the points of the dimensions of both operands.
TEST_CASE("elementwise products are computed in the cheapest order, numbers with the smallest factor") {
    const auto vector_flops = [](std::string_view text, const Sizes& sizes) {
        auto program = parse_program(text);
        REQUIRE(program.has_value());
        REQUIRE(bind_sizes(*program, sizes).has_value());
        const auto work = derive_work(*program);
        REQUIRE(work.has_value());
        return work->total.flops().evaluate(program->sizes)->to_double();
    };
    const Sizes sizes{{"A", 10}, {"B", 100}};
    // X * Z first takes 10 points, then 1,000 with Y; as written it would take 1,000 twice.
    CHECK(vector_flops("f32[A]*f32[A,B]*f32[A]->f32[A,B]", sizes) == 10 + 1000);
    CHECK(vector_flops("f32[A,B]*f32[A]*f32[B]*f32[A]->f32[A,B]", sizes) == 10 + 1000 + 1000);
    // (A) (C) first: 10 * 3 = 30, then 3,000; as written 1,000 + 3,000.
    CHECK(vector_flops("f32[A]*f32[B]*f32[C]->f32[A,B,C]", {{"A", 10}, {"B", 100}, {"C", 3}}) == 30 + 3000);
    CHECK(vector_flops("X:f32[A,B]; Y:f32[A]\nZ:f32[A,B] = 2 * X * Y", sizes) == 10 + 1000);
    // Parentheses do not matter to elementwise products.
    CHECK(vector_flops("X:f32[A]; Y:f32[A,B]; V:f32[A]\nZ:f32[A,B] = (X * Y) * V", sizes) == 10 + 1000);
    // Nor do functions between the factors: exp is 1 FLOP for each of A.
    CHECK(vector_flops("X:f32[A]; Y:f32[A,B]; V:f32[A]\nZ:f32[A,B] = X * Y * exp(V)", sizes) -
              vector_flops("V:f32[A]\nZ:f32[A] = exp(V)", {{"A", 10}}) ==
          10 + 1000);
    // A product that two factors need is computed once, and kept.
    CHECK(vector_flops("X:f32[A]; Y:f32[A,B]\nW:f32[A,B] = X * Y\nZ:f32[A,B] = W * W * X", sizes) == 3 * 1000);
}

TEST_CASE("a dimension that only one operand has multiplies the work") {
    const Derived apart = derive("bf16[B=8,D=16]*bf16[E=32,F=4]->bf16[B,F]");
    CHECK(apart.work.total.flops().evaluate(apart.program.sizes)->to_double() == 2 * 8 * 16 * 32 * 4);
    const Derived exact = derive("bf16[B=8,D=16]*bf16[E=32,F=4]->bf16[B,F]", {.exact_flops = true, .tiles = {}});
    CHECK(exact.work.total.flops().evaluate(exact.program.sizes)->to_double() == 8 * 4 * (2 * 16 * 32 - 1));
}

TEST_CASE("a tensor and a view of it are read once") {
    const auto program = parse_program(
        "X : f32[6, 4]\nV : f32[24] = view(X)\nY : f32[24]\n"
        "fuse { A : f32[24] = opaque(V, Y)\n B : f32[24] = opaque(X, A) }\n");
    REQUIRE(program);
    const auto work = derive_work(*program);
    REQUIRE(work);
    CHECK(work->total.memory.at("hbm").read.evaluate(program->sizes) == Rational(2 * 24 * 4));
}
