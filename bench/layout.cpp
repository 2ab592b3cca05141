// Benchmarks of the layout search on a mesh: for one matmul, and for a block with free intermediates.
#include "layout/layout_search.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

constexpr const char* product =
    "mesh X=4, Y=4, Z=4\nbf16[B_X=65536, D_Y=8192] * bf16[D_Y, F_Z=28672] -> bf16[B_X, F_Z]";

constexpr const char* block =
    "mesh X=4, Y=4, Z=4\n"
    "B=16384, D=8192, N=64, H=128, F=28672\n"
    "X : bf16[B_X, D_Z]\n"
    "param Wq : bf16[D_X, N_Y, H]\nparam Wk : bf16[D_X, N_Y, H]\nparam Wv : bf16[D_X, N_Y, H]\n"
    "param Wo : bf16[N_Y, H, D_X]\nparam Win : bf16[D_X, F_Y]\nparam Wout : bf16[F_Y, D_X]\n"
    "Q = X *_D Wq\nK = X *_D Wk\nV = X *_D Wv\n"
    "S = Q + K + V\n"
    "A = S *_{N,H} Wo\n"
    "U = gelu(A *_D Win)\n"
    "Out : bf16[B_X, D_Z] = U * Wout\n";

// Three MLPs, one after another.
constexpr const char* chain =
    "mesh X=4, Y=4, Z=4\n"
    "B=16384, D=8192, F=28672\n"
    "X : bf16[B_X, D_Z]\n"
    "param W1 : bf16[D_X, F_Y]\nparam W2 : bf16[F_Y, D_X]\nparam W3 : bf16[D_X, F_Y]\n"
    "param W4 : bf16[F_Y, D_X]\nparam W5 : bf16[D_X, F_Y]\nparam W6 : bf16[F_Y, D_X]\n"
    "H1 = gelu(X *_D W1)\nY1 = H1 *_F W2\nH2 = gelu(Y1 *_D W3)\nY2 = H2 *_F W4\nH3 = gelu(Y2 *_D W5)\n"
    "Out : bf16[B_X, D_Z] = H3 * W6\n";

struct Set {
    Program program;
    System system;
};

Result<Set> made(const char* text) {
    auto program = parse_program(text);
    if (!program) return fail(program.error());
    auto machine = find_machine("tpu-v5p");
    if (!machine) return fail(machine.error());
    auto slice = make_slice(std::move(*machine), "4x4x4");
    if (!slice) return fail(slice.error());
    Set set{std::move(*program), {}};
    auto mesh = place_mesh(*slice, set.program.mesh);
    if (!mesh) return fail(mesh.error());
    set.system.slice = std::move(*slice);
    set.system.mesh = std::move(*mesh);
    return set;
}

// Chooses a layout and computes its bounds, with a different batch in every iteration.
void choose_layout(benchmark::State& state, const char* text) {
    auto set = made(text);
    if (bench::skipped(state, set)) return;
    auto search = LayoutSearch::compile(set->program, set->system);
    if (bench::skipped(state, search)) return;
    Sizes sizes = set->program.sizes;
    if (bench::skipped(state, search->choose(sizes))) return;
    for (auto _ : state) {
        sizes["B"] = sizes["B"] < 131072 ? sizes["B"] + 64 : 4096;
        benchmark::DoNotOptimize(search->choose(sizes));
    }
    state.SetItemsProcessed(state.iterations());
}

void compile_layout(benchmark::State& state, const char* text) {
    auto set = made(text);
    if (bench::skipped(state, set)) return;
    if (bench::skipped(state, LayoutSearch::compile(set->program, set->system))) return;
    for (auto _ : state) benchmark::DoNotOptimize(LayoutSearch::compile(set->program, set->system));
}

BENCHMARK_CAPTURE(choose_layout, product, product)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_layout, six_in_a_row, chain)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose_layout, six_with_three_at_once, block)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(compile_layout, product, product)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(compile_layout, six_in_a_row, chain)->Unit(benchmark::kMicrosecond);

}  // namespace
