// Compares every kind of step with the reference, in many shapes and dtypes.
#include "measure/run/execution.hpp"

#include <doctest/doctest.h>

#include "measure/run/cpu_device.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

/// Runs a program on both kinds of kernels and checks every element of every result.
void agrees(const std::string& text) {
    CAPTURE(text);
    auto program = parse_program(text, "");
    REQUIRE(program);
    for (const bool library : {false, true}) {
        CAPTURE(library);
        auto device = make_cpu_device({0, library});
        REQUIRE(device);
        auto execution = Execution::make(*program, **device, {1.0});
        REQUIRE_MESSAGE(execution, (execution ? "" : execution.error().message));
        auto check = (*execution)->check({1 << 20, 1e9});
        REQUIRE(check);
        CHECK(check->checked > 0);
        CHECK_MESSAGE(check->of_bound <= 1, check->worst);
    }
}

}  // namespace

TEST_CASE("run: matmuls in every dtype") {
    for (const char* dtype : {"f64", "f32", "bf16", "f16", "int8", "int32", "tf32"}) {
        const std::string d = dtype;
        const std::string out = d == "int8" ? "int32" : d;
        agrees(d + "[B=5, D=33] * " + d + "[D, F=18] -> " + out + "[B, F]");
        agrees(d + "[B=1, D=300] * " + d + "[D, F=17] -> " + out + "[B, F]");
        agrees(d + "[B=200, D=7] * " + d + "[D, F=40] -> " + out + "[B, F]");
    }
}

TEST_CASE("run: matmuls with every layout of their operands") {
    agrees("f32[D=9, B=6] * f32[D, F=7] -> f32[B, F]");
    agrees("f32[B=6, D=9] * f32[F=7, D] -> f32[B, F]");
    agrees("f32[B=6, D=9] * f32[D, F=7] -> f32[F, B]");
    agrees("f32[B=6] * f32[B, F=7] -> f32[F]");
    agrees("f32[F=7, D=5] * f32[D] -> f32[F]");
    agrees("f32[D=9] * f32[D] -> f32[]");
    agrees("f32[B=3, D=9] * f32[B, D] -> f32[B]");
    agrees("f32[B=3, D=9] * f32[F=4] -> f32[B, D, F]");
    agrees("f32[B=3, D=9, E=2] * f32[D, F=4] -> f32[B, F]");  // only one operand has E
    agrees("f32[D=9, B=3, E=2] * f32[E, F=4, D] -> f32[F, B]");
    agrees("f32[A=2, B=3, C=4, D=5] * f32[D, B, F=6] -> f32[C, A, F, B]");
    agrees("bf16[B=2, T=3, K=2, G=2, H=8] * bf16[B, S=5, K, H] -> bf16[B, K, G, T, S]");
    agrees("bf16[B=2, K=2, G=2, T=3, S=5] * bf16[B, S, K, H=8] -> bf16[B, T, K, G, H]");
    agrees("bf16[B=2, T=3, N=2, H=8] * bf16[N, H, D=11] -> bf16[B, T, D]");
}

TEST_CASE("run: matmuls of several operands and of mixed dtypes") {
    agrees("f32[A=4, B=5] * f32[B, C=6] * f32[C, D=7] -> f32[A, D]");
    agrees("f32[A=4, B=5] * f32[B, C=6] * f32[C] * f32[A] -> f32[A]");
    agrees("bf16[B=4, D=16] * int8[D, F=6] -> bf16[B, F]");
    agrees("bf16[B=4, D=16] * f32[D, F=6] -> f32[B, F]");
    agrees("int8[B=4, D=16] * int8[D, F=6] -> int8[B, F]");
    agrees("int8[B=4, D=600] * int8[D, F=6] -> f32[B, F]");
    agrees(
        "I=3, J=4, K=5, L=6, M=2\nA : f32[I,J]; B : f32[J,K]; C : f32[K,L]; E : f32[L,M]\nO : f32[I,M] = (A*B)*(C*E)");
}

TEST_CASE("run: elementwise functions") {
    for (const char* f : {"neg", "abs", "square", "relu", "relu2", "exp", "sin", "cos", "tanh", "erf", "sigmoid",
                          "softplus", "silu", "gelu", "rope", "log", "sqrt", "rsqrt", "convert"}) {
        for (const char* dtype : {"f64", "f32", "bf16", "f16"}) {
            const std::string d = dtype;
            agrees("X : " + d + "[B=7, D=300]\nY : " + d + "[B, D] = " + f + "(X)");
        }
    }
    for (const char* f : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
        for (const char* dtype : {"f64", "f32", "bf16", "int32"}) {
            const std::string d = dtype;
            agrees("X : " + d + "[B=7, D=30]\nZ : " + d + "[D]\nY : " + d + "[B, D] = " + f + "(X, Z)");
        }
    }
    for (const char* f : {"dsigmoid", "dsilu", "dgelu"}) {
        for (const char* dtype : {"f64", "f32", "bf16", "f16"}) {
            const std::string d = dtype;
            agrees("X : " + d + "[B=7, D=300]; G : " + d + "[B, D]\nY : " + d + "[B, D] = " + f + "(8 * X, G)");
        }
    }
    agrees("X : f32[B=7, D=30]\nY : f32[B, D] = step(X)");
    agrees("X : int32[B=7, D=30]\nY : int32[B, D] = step(X)");
    agrees("X : f32[B=7, D=31]\nY : f32[B, D] = unrope(X)");
    agrees("X : bf16[B=7, D=31]\nY : bf16[D, B] = unrope(X + X)");
    agrees("X : f32[B=7, D=30]; C : bool[B]\nY : f32[B, D] = where(C, X, 2 * X - 1)");
    agrees("X : f32[B=7, D=30]\nY : f32[D, B] = 1 - X / 8");
    agrees("X : int8[B=7, D=30]\nY : f32[B, D] = X");
    agrees("X : f32[B=7, D=30]\nY : int8[B, D] = 100 * X");
    agrees("X : f32[]\nY : f32[] = exp(X)");
    agrees("X : f32[D=3]\nY : f32[B=700, D, E=2] = X + (X * f32[B, E])");
}

TEST_CASE("run: reductions, softmax and norms along any dimensions") {
    for (const char* f : {"sum", "mean", "max", "min", "logsumexp"}) {
        const std::string name = f;
        agrees("X : f32[B=5, D=300, E=3]\nY : f32[B, E] = " + name + "[D](X)");
        agrees("X : bf16[B=5, D=30, E=3]\nY : f32[D] = " + name + "[B,E](X * X)");
        agrees("X : f64[B=3, D=5000]\nY : f64[] = " + name + "[B,D](X)");
    }
    for (const char* f : {"softmax", "norm", "layernorm"}) {
        const std::string name = f;
        agrees("X : f32[B=5, D=300, E=3]\nY : f32[B, D, E] = " + name + "[D](X)");
        agrees("X : bf16[B=5, D=30]\nY : bf16[D, B] = " + name + "[D](X + X)");
        agrees("X : f64[B=5, D=30]\nY : f64[B, D] = " + name + "[B,D](X)");
    }
    for (const char* f : {"dsoftmax", "dnorm", "dlayernorm", "dscan"}) {
        const std::string name = f;
        agrees("X : f32[B=5, D=300, E=3]; G : f32[B, D, E]\nY : f32[B, D, E] = " + name + "[D](X, G)");
        agrees("X : bf16[B=5, D=30]; G : bf16[B, D]\nY : bf16[D, B] = " + name + "[D](X + X, G)");
        agrees("X : f64[B=5, D=30]; G : f64[B, D]\nY : f64[B, D] = " + name + "[D](X, G)");
    }
    agrees("X : int32[B=5, D=300]\nY : int32[B] = sum[D](X)");
    agrees("A : f32[B=5, T=40, D=3]; X : f32[B, T, D]\nH : f32[B, T, D] = scan[T](A, X)");
}

TEST_CASE("run: gathers and scatters") {
    agrees("Table : bf16[V=50, D=8]; Ids : int32[B=7]\nX : bf16[B, D] = gather[V](Table, Ids)");
    agrees("Table : f32[D=8, V=50]; Ids : int32[B=7, S=2]\nX : f32[B, S, D] = gather[V](Table, Ids)");
    agrees("Cache : bf16[B=3, S=9, H=4]; Last : int32[B]; New : f32[B, H]\nCache = scatter[S](Cache, Last, New)");
    agrees("Cache : f32[S=9, H=4]; At : int32[B=5]; New : f32[B, H]\nY : f32[S, H] = 2 * scatter[S](Cache, At, New)");
}

TEST_CASE("run: expert dispatch and combine") {
    for (const std::string type : {"f32", "bf16", "f64"}) {
        // capacity for all choices, for some, and more than needed
        for (const char* places : {"6", "2", "9"}) {
            const std::string sizes = "T=12, A=2, E=4, F=7, D=40, C=" + std::string(places) + "\n";
            const std::string given = sizes + "X : " + type + "[T, D]; Chosen : int32[T, A]; Share : " + type +
                                      "[T, A]; param W : " + type + "[E, D, F]\n";
            agrees(given + "Y : " + type + "[E, C, D] = dispatch[E,C](X, Chosen)");
            agrees(given + "Y : " + type + "[E, C, F] = dispatch[E,C](X, Chosen) *_D W\nZ : " + type +
                   "[T, F] = combine[E,C,A](silu(Y), Share)");
            // derivatives with respect to rows, combined results and weights
            agrees(given + "G : " + type + "[T, F]; Y : " + type + "[E, C, F] = dispatch[E,C](X, Chosen) *_D W\nZ : " +
                   type + "[T, F] = combine[E,C,A](Y, Share)\ndY : " + type +
                   "[E, C, F] = spread[E,C](G, Share)\ndShare : " + type +
                   "[T, A] = match[E,C,F](Y, G, Share)\ndXe : " + type + "[C, E, D] = dY *_F W\ndX : " + type +
                   "[T, D] = collect[E,C,A](dXe, Chosen)");
        }
    }
    // rows of several dimensions in another order; a layer in a repeat, with other choices in each iteration
    agrees(
        "B=3, T=5, A=3, E=6, C=8, N=2, H=9\nX : f32[N, T, B, H]; Chosen : int32[B, T, A]; Share : f32[B, T, A]\n"
        "Y : f32[C, H, E, N] = dispatch[E,C](X, Chosen)\nZ : f32[H, B, N, T] = combine[E,C,A](Y * Y, Share)");
    agrees(
        "T=10, A=2, E=5, C=4, D=8, F=6, L=3\nX : f32[T, D]\nrepeat L {\n  Chosen : int32[T, A]; Share : f32[T, A]\n"
        "  param W : f32[E, D, F]; param U : f32[E, F, D]\n"
        "  Y : f32[E, C, D] = silu(dispatch[E,C](X, Chosen) *_D W) *_F U\n"
        "  X = X + combine[E,C,A](Y, Share) / 8\n}");
    // scalars instead of rows
    agrees(
        "T=10, A=2, E=5, C=4\nX : f32[T]; Chosen : int32[T, A]; Share : f32[T, A]\nY : f32[E, C] = dispatch[E,C](X, "
        "Chosen)\nZ : f32[T] = combine[E,C,A](Y, Share)");
}

TEST_CASE("run: scatter-add and taps") {
    for (const char* type : {"f32", "bf16", "f64"}) {
        const std::string dtype = type;
        // more rows than destinations, so that several are added at one destination
        agrees("I : int32[B=3, T=20]; G : " + dtype + "[B, T, D=6]\nE : " + dtype +
               "[V=7, D] = scatteradd[V,B,T](I, G)");
        agrees("I : int32[T=20]; G : " + dtype + "[T, D=6]\nE : " + dtype +
               "[D, V=50] = 2 * scatteradd[V,T](I, G * G)");
        agrees("X : " + dtype + "[B=3, T=30, D=20]; G : " + dtype + "[B, T, D]\nC : " + dtype +
               "[D, Q=4] = taps[T,Q,B](X, G)");
        agrees("X : " + dtype + "[T=700, D=2]; G : " + dtype + "[D, T]\nC : " + dtype +
               "[Q=3, D] = taps[T,Q](X * X, 2 * G)");
    }
    agrees("I : int32[T=20]; G : int32[T]\nE : int32[V=7] = scatteradd[V,T](I, G)");
}

TEST_CASE("run: windows, convolutions and other functions that look back") {
    for (const char* type : {"f32", "bf16"}) {
        const std::string dtype = type;
        agrees("W=5\nQ : " + dtype + "[T=40, H=8]; K : " + dtype + "[S=40, H]; V : " + dtype + "[S, H]\nO : " + dtype +
               "[T, H] = softmax[S](causal[T,S,W](Q *_H K)) * V");
        agrees("W=300\nQ : " + dtype + "[T=7, H=8]; K : " + dtype + "[S=400, H]; V : " + dtype +
               "[S, H]\nfuse {\n  P : " + dtype + "[T, S] = softmax[S](causal[T,S,W](Q *_H K))\n  O : " + dtype +
               "[T, H] = P *_S V\n}");
        agrees("X : " + dtype + "[B=3, T=30, D=20]; C : " + dtype + "[Q=4, D]\nY : " + dtype +
               "[B, T, D] = conv[T](X, C)");
        agrees("X : " + dtype + "[D=5, T=600]; C : " + dtype + "[Q=3, D]\nY : " + dtype +
               "[D, T] = silu(dconv[T](X * X, C))");
        agrees("X : " + dtype + "[B=3, T=30, D=20]\nY : " + dtype + "[B, T, D] = X + prior[T](X)");
        agrees("X : " + dtype + "[D=7, T=530]\nY : " + dtype + "[D] = sum[T](prior[T](X))");
        agrees("X : " + dtype + "[D=7, E=3]\nY : " + dtype + "[D, T=50, E] = expand[T](X) + X");
    }
}

TEST_CASE("run: whole programs") {
    agrees(
        "T=12, S=12, H=16, B=2, N=3\nQ : bf16[B,T,N,H]; K : bf16[B,S,N,H]; V : bf16[B,S,N,H]\n"
        "fuse {\n  P : bf16[B,N,T,S] = softmax[S](causal[T,S](Q * K) / 4)\n  O : bf16[B,T,N,H] = P * V\n}");
    agrees(
        "T=6, S=9, H=8\nQ : f32[T,H]; K : f32[S,H]; V : f32[S,H]\n"
        "O : f32[T,H] = softmax[S](causal[T,S](Q *_H K)) * V");
    agrees(
        "B=4, D=16, F=24\nX : bf16[B,D]; param Wg : bf16[D,F]; param Wi : bf16[D,F]; param Wo : bf16[F,D]\n"
        "H : bf16[B,F] = silu(X * Wg) * (X * Wi)\nOut : bf16[B,D] = X + H * Wo");
    agrees("B=4, D=16, F=24\nX : f32[B,D]; W : f32[D,F]\nH : f32[B,F] = gelu(X * W)\nR : f32[B,F] = relu(-H)");
    agrees(
        "B=4, D=16, F=24, L=3\nX : f32[B,D]\n"
        "repeat L {\n  param W : f32[D,F]; param V : f32[F,D]\n  H : f32[B,F] = relu(X * W)\n  X = norm[D](X + H * "
        "V)\n}\n"
        "Y : f32[B,D] = 2 * X");
    agrees(
        "B=4, D=16, L=3\nX : f32[B,D]\nrepeat 2 {\n  repeat L {\n    X = X + X / 2\n  }\n  X = X - 1\n}\n"
        "Y : f32[B,D] = X");
}

TEST_CASE("run: a later repeat reads the values of the same iteration of an earlier one, from last to first") {
    // P is x, 2 x and 4 x; S is 4 x, then 2 x + 2 x, then 2 x + x
    auto program = parse_program(
        "B=5, L=3\nX : f32[B]; S : f32[B]\nK : f32[B] = X / 1\nrepeat L {\n  P : f32[B] = X / 1\n  X = 2 * P\n}\n"
        "S = 0 * S\nrepeat L {\n  S = S / 2 + P\n}\nZ : f32[B] = S / 1",
        "");
    REQUIRE(program);
    auto device = make_cpu_device({1, false});
    REQUIRE(device);
    auto execution = Execution::make(*program, **device, {1.0});
    REQUIRE(execution);
    REQUIRE((*execution)->run(0));
    const auto numbers = [&](std::string_view name) {
        ValueId id = 0;
        while (program->values[id].name != name) ++id;
        return static_cast<const float*>((*execution)->memory_of(id, 0));
    };
    for (int i = 0; i < 5; ++i) CHECK(numbers("Z")[i] == 3 * numbers("K")[i]);
    auto check = (*execution)->check({});
    REQUIRE(check);
    CHECK_MESSAGE(check->of_bound <= 1, check->worst);
}

TEST_CASE("run: the reference computes a row of probabilities once for all elements that use it") {
    auto program = parse_program(
        "Q : f32[T=256, H=16]; K : f32[S=256, H]; V : f32[S, H]; O : f32[T, H] = softmax[S](causal[T,S](Q *_H K)) *_S "
        "V",
        "");
    REQUIRE(program);
    auto device = make_cpu_device({0, false});
    REQUIRE(device);
    auto execution = Execution::make(*program, **device, {1.0});
    REQUIRE(execution);
    // The row of an element takes 256 x 16 multiplications of three steps each, and the element little more. If the row
    // were computed for each of 256 terms, the budget would not suffice for a single element.
    auto check = (*execution)->check({1 << 20, 2e6});
    REQUIRE(check);
    CHECK(check->checked > 50);
    CHECK(check->checked < 2e6 / (256 * 16 * 3));
    CHECK_MESSAGE(check->of_bound <= 1, check->worst);
}

TEST_CASE("run: a program that cannot run is rejected before anything is allocated") {
    auto device = make_cpu_device({1, false});
    REQUIRE(device);
    const auto refused = [&](const std::string& text) {
        auto program = parse_program(text, "");
        REQUIRE(program);
        auto execution = Execution::make(*program, **device);
        REQUIRE(!execution);
        return execution.error();
    };
    CHECK(refused("f32[B, D=4] * f32[D, F=4] -> f32[B, F]").code == "unsized");
    CHECK(refused("f32[B=8000000000000, D=4] * f32[D, F=4] -> f32[B, F]").code == "too_large");
    CHECK(refused("f32[B=4000000000, D=4000000000] * f32[D, F=4] -> f32[B, F]").code == "too_large");
    CHECK(refused("f32[B=9000000000000000000, D=4] * f32[D, F=4] -> f32[B, F]").code == "too_large");
    const Error fp8 = refused("fp8[B=4, D=4] * fp8[D, F=4] -> f32[B, F]");
    CHECK(fp8.code == "unsupported");
    CHECK(fp8.hint.find("bf16") != std::string::npos);
    const Error alone = refused("Y : f32[E=2, C=3, D=4]; S : f32[T=3, A=2]\nZ : f32[T, D] = combine[E,C,A](Y, S)");
    CHECK(alone.message.find("no dispatch precedes it") != std::string::npos);
    CHECK(refused("X : f32[B=4, D=4]; I : f32[C=2]\nY : f32[C, D] = gather[B](X, I)").code == "unsupported");
}

TEST_CASE("run: a program is timed cold and hot") {
    auto program = parse_program("f32[B=8, D=64] * f32[D, F=64] -> f32[B, F]", "");
    REQUIRE(program);
    auto device = make_cpu_device({1, true});
    REQUIRE(device);
    auto execution = Execution::make(*program, **device, {1e6});
    REQUIRE(execution);
    SamplingOptions options;
    options.samples = 3;
    options.sample_s = 1e-4;
    options.warm_up_s = 1e-4;
    auto timing = (*execution)->time(options);
    REQUIRE(timing);
    CHECK(timing->cold.median > 0);
    CHECK(timing->hot.median > 0);
    CHECK(timing->sets > 10);
    CHECK(timing->set_bytes >= 4 * (64 * 64 + 2 * 8 * 64));
}
