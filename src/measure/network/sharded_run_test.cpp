#include "measure/network/rotated_runs.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <string>

#include "machine/machine.hpp"
#include "measure/network/run_case_test.hpp"
#include "measure/network/thread_group.hpp"
#include "measure/run/cpu_device.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

TEST_CASE("partial sums over two ranks are exchanged and added") {
    const auto run = ran("f32[B, D_X] * f32[D_X, F] -> f32[B, F]", {{"X", 2}}, "B=16,D=4096,F=24");
    check_right(run);
    CHECK(run.stages == "all-reduce C over X");
    CHECK(run.pieces == 8);
}

TEST_CASE("the collective that the layout derives is the one that runs") {
    const auto scattered = ran("f32[B, D_X] * f32[D_X, F] -> f32[B_X, F]", {{"X", 2}}, "B=16,D=64,F=24");
    check_right(scattered);
    CHECK(scattered.stages == "reduce-scatter C over X");
    CHECK(scattered.pieces == 8);  // cut along F because the rows are scattered

    const auto gathered = ran("f32[B, D_X] * f32[D, F] -> f32[B, F]", {{"X", 2}}, "B=16,D=8,F=512");
    check_right(gathered);
    CHECK(gathered.stages != "");

    const auto moved = ran("f32[B_X, D] -> f32[B, D_X]", {{"X", 4}}, "B=8,D=12");
    check_right(moved);
    CHECK(moved.stages == "all-to-all A over X");

    const auto swapped = ran("f32[B_XY, D] -> f32[B_YX, D]", {{"X", 2}, {"Y", 2}}, "B=8,D=6");
    check_right(swapped);
    CHECK(swapped.stages.starts_with("permute A over"));
}

TEST_CASE("one rank adds a replicated operand to partial sums") {
    const auto bias =
        ran("H : f32[B, F_X]\nW : f32[F_X, D]\nb : f32[D]\nY : f32[B, D]{U_X} = H * W + b\nZ : f32[B, D] = Y",
            {{"X", 4}}, "B=8,D=16,F=32");
    check_right(bias);
    CHECK(bias.stages.find("all-reduce Y over X") != std::string::npos);
    check_right(ran("G : f32[B_X, D]\ng : f32[D]\ndg : f32[D]{U_X} = sum[B](G) * exp(g)\ne : f32[D] = dg", {{"X", 4}},
                    "B=8,D=16"));
    check_right(ran("A : f32[B, D_X]\nC : f32[B]{U_X} = max[D](A)\nE : f32[B] = C", {{"X", 2}}, "B=8,D=16"));
    check_right(ran("f32[B] -> f32[B]{U_X}", {{"X", 2}}, "B=8"));
}

TEST_CASE("moves from one chip and to one chip") {
    check_right(ran("f32[B, D] at X=0 -> f32[B, D] at X=1", {{"X", 2}}, "B=4,D=6"));
    check_right(ran("f32[B, D] at X=1 -> f32[B_X, D]", {{"X", 4}}, "B=8,D=6"));
    check_right(ran("f32[B, D] at X=2 -> f32[B, D]", {{"X", 4}}, "B=8,D=6"));
    check_right(ran("f32[B_X, D] -> f32[B, D] at X=3", {{"X", 4}}, "B=8,D=6"));
    check_right(ran("f32[B, D] at X=1 * f32[D, F] at X=1 -> f32[B, F] at X=1", {{"X", 2}}, "B=4,D=6,F=8"));
}

TEST_CASE("a layer with a hidden dimension over four ranks") {
    const auto run =
        ran("X : f32[B, D]\nW1 : f32[D, F_X]\nW2 : f32[F_X, D]\nH : f32[B, F_X] = silu(X * W1)\nY : f32[B, D] = H * W2",
            {{"X", 4}}, "B=8,D=16,F=8192");
    check_right(run);
    CHECK(run.stages.find("Y over X") != std::string::npos);
}

TEST_CASE("a mesh of two axes, a split of each operand") {
    check_right(ran("f32[B_X, D_Y] * f32[D_Y, F] -> f32[B_X, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8"));
    check_right(ran("f32[B_X, D] * f32[D, F_Y] -> f32[B, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8"));
    check_right(ran("bf16[B, D_XY] * bf16[D_XY, F] -> f32[B, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8"));
}

TEST_CASE("the exchanged bytes are those that the layout counted") {
    check_exchanged("f32[B, D_X] * f32[D_X, F] -> f32[B, F]", {{"X", 4}}, "B=16,D=4096,F=24");
    check_exchanged("f32[B, D_X] * f32[D_X, F] -> f32[B_X, F]", {{"X", 2}}, "B=16,D=64,F=24");
    check_exchanged("f32[B_X, D_Y] * f32[D_Y, F] -> f32[B_X, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8");
    check_exchanged("f32[B_X, D] -> f32[B, D_X]", {{"X", 4}}, "B=8,D=12");
    // an operand that was gathered for one matmul is reused by the next
    const auto twice = check_exchanged(
        "X : f32[B_X, D]\nW1 : f32[D, F_X]\nW2 : f32[D, F_X]\nH : f32[B, F_X] = silu(X * W1) * (X * W2)", {{"X", 4}},
        "B=16,D=32,F=4096");
    CHECK(twice.stages == "all-gather X over X");
}

TEST_CASE("functions along split rows exchange their statistics") {
    for (const std::int64_t ranks : {2, 4}) {
        for (const std::string dtype : {"f32", "bf16", "f64"}) {
            const auto one = [&](const std::string& function, const std::string& result) {
                return check_exchanged("X : " + dtype + "[B, D_X]\nY : " + dtype + result + " = " + function + "[D](X)",
                                       {{"X", ranks}}, "B=16,D=4096");
            };
            const std::string once = "all-reduce statistics of X over X";
            CHECK(one("softmax", "[B, D_X]").stages == once + "; " + once);
            CHECK(one("logsumexp", "[B]").stages == once + "; " + once);
            for (const char* function : {"norm", "layernorm"}) CHECK(one(function, "[B, D_X]").stages == once);
            for (const char* function : {"max", "min"}) CHECK(one(function, "[B]").stages == once);
            CHECK(one("mean", "[B]").stages == "all-reduce Y over X");
            for (const char* function : {"dsoftmax", "dnorm", "dlayernorm"}) {
                const auto derived =
                    check_exchanged("X : " + dtype + "[B, D_X]\nG : " + dtype + "[B, D_X]\nY : " + dtype +
                                        "[B, D_X] = " + function + "[D](X, G)",
                                    {{"X", ranks}}, "B=16,D=4096");
                CHECK(derived.stages == once);
            }
        }
    }
    // decode with a KV cache that is split along the context
    check_exchanged(
        "Q : f32[B, N, H]\nK : f32[B, S_X, N, H]\nV : f32[B, S_X, N, H]\n"
        "P : f32[B, N, S_X] = softmax[S](Q *_H K / 4)\nO : f32[B, N, H] = P *_S V",
        {{"X", 4}}, "B=4,N=2,H=16,S=4096");
}

TEST_CASE("a causal mask over split rows and columns") {
    const std::string attention =
        "Q : f32[T_X, H]\nK : f32[S_Y, H]\nV : f32[S_Y, H]\n"
        "P : f32[T_X, S_Y] = softmax[S](causal[T,S](Q *_H K))\nO : f32[T_X, H] = P *_S V";
    check_exchanged(attention, {{"X", 2}, {"Y", 2}}, "T=64,S=64,H=16");
    check_exchanged(attention, {{"X", 2}, {"Y", 2}}, "T=16,S=256,H=16");
    check_right(ran("Q : f32[T_X, H]\nK : f32[S, H]\nP : f32[T_X, S] = softmax[S](causal[T,S](Q *_H K))", {{"X", 4}},
                    "T=64,S=128,H=16"));
    check_right(
        ran("Q : f32[B_X, T, H]\nK : f32[B_X, S, H]\n"
            "P : f32[B_X, T, S] = softmax[S](causal[T,S](Q *_H K))",
            {{"X", 4}}, "B=8,T=20,S=20,H=16"));
}

TEST_CASE("keys and values within a window come from the ranks that have them") {
    // a shard has 16 places, so the windows take a part of the previous shard, or all of it
    for (const int window : {2, 9, 16, 17}) {
        const std::string sizes = "T=64,S=64,H=16,W=" + std::to_string(window);
        const auto run = check_exchanged(
            "Q : f32[T_X, H]\nK : f32[S_X, H]\nV : f32[S_X, H]\n"
            "fuse {\nP : f32[T_X, S] = softmax[S](causal[T,S,W](Q *_H K))\nO : f32[T_X, H] = P *_S V\n}",
            {{"X", 4}}, sizes);
        CAPTURE(window);
        CHECK(run.stages.starts_with("permute K over X, 1 hop"));
        CHECK(run.stages.find("permute V") != std::string::npos);
        // 2 arrays on 4 ranks, each W - 1 places of 16 numbers of 4 bytes
        CHECK(run.bytes == 2.0 * 4 * (window - 1) * 16 * 4);
    }
    check_exchanged(
        "Q : bf16[B, T_X, N, H]\nK : bf16[B, S_X, N, H]\nV : bf16[B, S_X, N, H]\n"
        "O : bf16[B, T_X, N, H] = softmax[S](causal[T,S,W](Q *_H K) / 4) *_S V",
        {{"X", 2}}, "B=2,N=3,T=64,S=64,H=16,W=20");
    // a mask that spans several statements; each rank has a band of its result
    const auto far = check_exchanged(
        "Q : f32[T_X, H]\nK : f32[S_X, H]\nV : f32[S_X, H]\nA : f32[T_X, S] = causal[T,S,W](Q *_H K)\n"
        "P : f32[T_X, S] = softmax[S](A / 4)\nO : f32[T_X, H] = P *_S V",
        {{"X", 4}}, "T=1024,S=1024,H=64,W=300");
    CHECK(far.stages == "permute K over X, 2 hops; permute V over X, 2 hops");
    CHECK(far.bytes == 2.0 * 4 * 299 * 64 * 4);
}

TEST_CASE("gradients of keys within a window go back to the ranks that have the keys") {
    for (const int window : {2, 17, 18, 40}) {
        const auto run = check_exchanged(
            "Q : f32[T_X, H]\nVa : f32[S_X, H]\ndO : f32[T_X, H]\n"
            "fuse {\ndP : f32[T_X, S] = causal[T,S,W](dO *_H Va)\ndK : f32[S_X, H] = dP *_T Q\n}",
            {{"X", 4}}, "T=64,S=64,H=16,W=" + std::to_string(window));
        if (window > 17) continue;  // an all-reduce of a small array has less latency
        CHECK(run.stages.find("permute dK") != std::string::npos);
        CHECK(run.bytes == 2.0 * 4 * (window - 1) * 16 * 4);
    }
    const auto far = check_exchanged(
        "Q : f32[T_X, H]\nVa : f32[S_X, H]\ndO : f32[T_X, H]\n"
        "fuse {\ndP : f32[T_X, S] = causal[T,S,W](dO *_H Va)\ndK : f32[S_X, H] = dP *_T Q\n}",
        {{"X", 4}}, "T=1024,S=1024,H=64,W=300");
    CHECK(far.stages == "permute Va over X, 2 hops; permute dK over X, 2 hops");
}

TEST_CASE("functions that look back or ahead receive the neighbouring places") {
    const std::string given = "X : f32[B, T_X, D]\nC : f32[Q, D]\n";
    for (const int taps : {2, 4, 16}) {
        const std::string sizes = "B=3,T=64,D=8,Q=" + std::to_string(taps);
        for (const char* function : {"conv", "dconv"}) {
            const auto run =
                check_exchanged(given + "Y : f32[B, T_X, D] = " + function + "[T](X, C)", {{"X", 4}}, sizes);
            CHECK(run.bytes == 4.0 * (taps - 1) * 3 * 8 * 4);
            CHECK(run.pieces > 1);
        }
    }
    const auto prior =
        check_exchanged("X : f32[B, T_X, D]\nY : f32[B, T_X, D] = X + prior[T](X)", {{"X", 4}}, "B=3,T=64,D=8");
    CHECK(prior.stages == "permute X over X, 1 hop");
}

TEST_CASE("gather and scatter with a split table") {
    check_exchanged("Table : f32[V_X, D]\nIds : int32[B]\nY : f32[B, D] = gather[V](Table, Ids)", {{"X", 4}},
                    "V=4096,D=8,B=20");
    check_right(ran("Cache : f32[S_X, H]\nAt : int32[B]\nNew : f32[B, H]\nCache = scatter[S](Cache, At, New)",
                    {{"X", 4}}, "S=32,H=8,B=5"));
}

TEST_CASE("runs are timed in changing memory and in the same memory") {
    auto program = parse_program("f32[B, D_X] * f32[D_X, F] -> f32[B_X, F]");
    REQUIRE(program);
    REQUIRE(bind_sizes(*program, parse_sizes("B=16,D=64,F=24", "sizes").value()));
    System system;
    system.slice = make_slice(parse_machine(four_ranks_text, "four.toml").value(), "2").value();
    system.mesh = place_mesh(system.slice, {{"X", 2}}).value();
    SamplingOptions options;
    options.samples = 3;
    options.sample_s = 1e-4;
    options.warm_up_s = 1e-4;
    std::mutex mutex;
    run_in_threads(2, [&](Communicator& world) {
        auto device = make_cpu_device({1, false});
        auto runs = RotatedRuns::make(*program, system, world, **device, 100'000);
        const bool made = runs.has_value();
        auto other = ShardedRun::again(runs->first());
        // the copy has its own inputs: nothing of the first has run
        const bool ran = other.has_value() && (*other)->run().has_value();
        const auto check = (*other)->check({});
        const auto cold = runs->time(options, false, false);
        const auto hot = runs->time(options, true, true);
        const auto stages = runs->time_stages(3);
        const std::lock_guard lock(mutex);
        CHECK(made);
        CHECK(ran);
        CHECK(check->of_bound <= 1);
        // a rank's halves of 16 x 64 and 64 x 24 numbers, its partial sum, and its half of the result
        CHECK(runs->set_bytes() == 4.0 * (16 * 32 + 32 * 24 + 16 * 24 + 8 * 24));
        CHECK(runs->sets() == 14);
        CHECK(runs->beyond_caches());
        CHECK(cold->spread.median > 0);
        CHECK(hot->spread.median > 0);
        CHECK(stages->size() == 2);
    });
}

TEST_CASE("expert dispatch and combine over ranks") {
    const std::string given =
        "X : f32[T_X, D]\nChosen : int32[T_X, A]\nShare : f32[T_X, A]\nparam W : f32[E_X, D, F]\n"
        "Xe : f32[E_X, C, D] = dispatch[E,C](X, Chosen)\nY : f32[E_X, C, F] = silu(Xe *_D W)\n";
    for (const int ranks : {2, 4}) {
        const auto run = check_exchanged(given + "Z : f32[T_X, F] = combine[E,C,A](Y, Share)", {{"X", ranks}},
                                         "T=32,A=2,E=8,C=8,D=16,F=24");
        CHECK(run.stages == "all-to-all Xe over X; all-to-all Y over X");
        // every place of every group, there and back: 8 x 8 rows
        CHECK(run.bytes == 8.0 * 8 * (16 + 24) * 4);
        CHECK(run.pieces == 8);
    }
    // too few places, choices that all ranks have, split batches and sequences
    check_exchanged(
        "X : bf16[B_X, T_Y, D]\nChosen : int32[B, T, A]\nShare : bf16[B_X, T_Y, A]\nparam W : bf16[E_XY, D, F]\n"
        "Y : bf16[E_XY, C, F] = dispatch[E,C](X, Chosen) *_D W\nZ : bf16[B_X, T_Y, F] = combine[E,C,A](Y, Share)",
        {{"X", 2}, {"Y", 2}}, "B=4,T=6,A=3,E=4,C=8,D=8,F=4");
    // derivatives
    check_exchanged(
        given +
            "Z : f32[T_X, F] = combine[E,C,A](Y, Share)\nG : f32[T_X, F]\n"
            "dY : f32[E_X, C, F] = spread[E,C](G, Share)\ndShare : f32[T_X, A] = match[E,C,F](Y, G, Share)\n"
            "dXe : f32[E_X, C, D] = dY *_F W\ndX : f32[T_X, D] = collect[E,C,A](dXe, Chosen)",
        {{"X", 2}}, "T=32,A=2,E=4,C=16,D=16,F=24");
    // experts that are split along their width alone
    check_right(
        ran("X : f32[T, D]\nChosen : int32[T, A]\nShare : f32[T, A]\nparam W : f32[E, D, F_X]\n"
            "Y : f32[E, C, F_X] = dispatch[E,C](X, Chosen) *_D W\nZ : f32[T, F_X] = combine[E,C,A](Y, Share)",
            {{"X", 2}}, "T=32,A=2,E=4,C=16,D=16,F=24"));
}

TEST_CASE("scatter-add and taps over ranks") {
    // splits of the result's places, of the summed dimension, and of the row
    check_exchanged("I : int32[B_X]\nG : f32[B_X, D]\nE : f32[V, D] = scatteradd[V,B](I, G)", {{"X", 4}},
                    "B=64,V=12,D=4096");
    check_right(
        ran("I : int32[B]\nG : f32[B, D]\nE : f32[V_X, D] = scatteradd[V,B](I, G)", {{"X", 4}}, "B=64,V=12,D=8"));
    check_right(
        ran("I : int32[B]\nG : bf16[B, D_X]\nE : bf16[V, D_X] = scatteradd[V,B](I, G)", {{"X", 2}}, "B=9,V=12,D=8"));
    const auto run = check_exchanged("X : f32[B, T_X, D]\nG : f32[B, T_X, D]\nC : f32[D, Q] = taps[T,Q,B](X, G)",
                                     {{"X", 4}}, "B=3,T=64,D=2048,Q=4");
    CHECK(run.stages == "permute X over X, 1 hop; all-reduce C over X");
    check_exchanged("X : f32[B_X, T, D]\nG : f32[B_X, T, D]\nC : f32[D, Q] = taps[T,Q,B](X, G)", {{"X", 4}},
                    "B=4,T=64,D=2048,Q=4");
}

TEST_CASE("a program that ranks cannot run is rejected on all of them") {
    const auto uneven = ran("f32[B_X, D] * f32[D, F] -> f32[B_X, F]", {{"X", 2}}, "B=5,D=8,F=8");
    CHECK(uneven.problem.find("is not divisible into 2 shards") != std::string::npos);
    const auto large = ran("f32[B_X, D] * f32[D, F] -> f32[B_X, F]", {{"X", 2}}, "B=1048576,D=8,F=1048576");
    CHECK(large.problem.find("of memory") != std::string::npos);
    const auto pairs = ran("X : f32[B, D_X]\nY : f32[B, D_X] = rope(X)", {{"X", 2}}, "B=8,D=6");
    CHECK(pairs.problem.find("split pairs") != std::string::npos);
    const auto rows =
        ran("E : f32[V_X, D]\nI : int32[B_X]\nY : f32[B_X, D] = gather[V](E, I)", {{"X", 2}}, "B=8,V=8,D=4");
    CHECK(rows.problem.find("ordered indices") != std::string::npos);
}
