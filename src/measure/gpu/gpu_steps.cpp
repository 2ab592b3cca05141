#include "measure/gpu/gpu_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "measure/gpu/gpu_step_text.hpp"

namespace roofline::core {

namespace {

/// Number of neighbouring elements that a thread computes at once: as many as fit in 16 bytes of the widest element.
int lanes_for(const MapStep& map, const GpuStepArrays& arrays) {
    if (map.loops.empty() || turns_neighbours(map.tape)) return 1;
    int widest = info(arrays.output).bits / 8;
    for (const Dtype dtype : arrays.inputs) widest = std::max(widest, info(dtype).bits / 8);
    const int lanes = std::max(16 / widest, 1);
    const bool fits =
        map.loops.back() % lanes == 0 && map.out.back() == 1 &&
        std::all_of(map.out.begin(), map.out.end() - 1, [&](std::int64_t stride) { return stride % lanes == 0; });
    return fits ? lanes : 1;
}

GpuStepSource map_source(const MapStep& map, const GpuStepArrays& arrays) {
    const char* type = gpu_register_type(map.tape.arithmetic);
    const int lanes = lanes_for(map, arrays);
    const std::int64_t count = product_of_sizes(map.loops, 0, map.loops.size());
    const GpuTapeText tape(map.tape, arrays.inputs, type, map.loops.size(), lanes);
    GpuStepSource source;
    source.threads = gpu_step_threads;
    source.blocks =
        std::clamp<std::int64_t>((count / lanes + gpu_step_threads - 1) / gpu_step_threads, 1, max_gpu_blocks);
    std::string& text = source.text;
    text = gpu_step_prelude();
    text += fmt::format("#define LAST {}ull\n", map.loops.empty() ? 1 : map.loops.back());
    if (turns_neighbours(map.tape)) text += tape.function("value");
    text += fmt::format(
        "extern \"C\" __global__ void roofline_step(Arrays A) {{\nconst u64 many = (u64)gridDim.x * {0};\n"
        "for (u64 n = (u64)blockIdx.x * {0} + threadIdx.x; n < {1}ull; n += many) {{\n",
        gpu_step_threads, count / lanes);
    text += fmt::format("const u64 element = n * {};\n", lanes);
    text += gpu_places_text("element", map.loops, 0, map.loops.size());
    text += tape.statements(map.tape.ops.size(), "value");
    const char* stored = gpu_stored_type(arrays.output);
    const std::string last = fmt::format("r{}", map.tape.ops.size() - 1);
    text += fmt::format(
        "Pack<{0}, {1}> made;\n_Pragma(\"unroll\") for (int k = 0; k < {1}; ++k) made.x[k].set({2}[k]);\n"
        "*(Pack<{0}, {1}>*)(({0}*)A.at[{3}] + ({4})) = made;\n}}\n}}\n",
        stored, lanes, last, arrays.out, gpu_offset_text(map.out));
    return source;
}

GpuStepSource gather_source(const GatherStep& gather, const GpuStepArrays& arrays) {
    const std::int64_t count = product_of_sizes(gather.loops, 0, gather.loops.size());
    GpuStepSource source;
    source.threads = gpu_step_threads;
    source.blocks = std::clamp<std::int64_t>((count + gpu_step_threads - 1) / gpu_step_threads, 1, max_gpu_blocks);
    const char* table = gpu_stored_type(arrays.inputs[0]);
    const char* type = arrays.inputs[0] == Dtype::f64                       ? "double"
                       : info(arrays.inputs[0]).kind == DtypeKind::floating ? "float"
                                                                            : "int";
    source.text = gpu_step_prelude();
    source.text += fmt::format(
        "extern \"C\" __global__ void roofline_step(Arrays A) {{\nconst u64 many = (u64)gridDim.x * {0};\n"
        "for (u64 n = (u64)blockIdx.x * {0} + threadIdx.x; n < {1}ull; n += many) {{\n{2}",
        gpu_step_threads, count, gpu_places_text("n", gather.loops, 0, gather.loops.size()));
    source.text +=
        fmt::format("const i64 id = as<int>(((const {}*)A.at[1])[{}].get());\nif (id < 0 || id >= {}LL) continue;\n",
                    gpu_stored_type(arrays.inputs[1]), gpu_offset_text(gather.ids.strides), gather.below);
    source.text += fmt::format(
        "const {0} number = as<{0}>(((const {1}*)A.at[0])[{2} + id * {3}LL].get());\n"
        "(({4}*)A.at[2])[{5}].set(number);\n}}\n}}\n",
        type, table, gpu_offset_text(gather.table.strides), gather.stride, gpu_stored_type(arrays.output),
        gpu_offset_text(gather.out));
    return source;
}

}  // namespace

std::string gpu_transpose_source(std::int64_t k, std::int64_t n) {
    return gpu_step_prelude() +
           fmt::format(
               "extern \"C\" __global__ void roofline_step(Arrays A) {{\nconst u64 many = (u64)gridDim.x * {0};\n"
               "for (u64 i = (u64)blockIdx.x * {0} + threadIdx.x; i < {1}ull; i += many) {{\n"
               "((u8*)A.at[1])[i] = ((const u8*)A.at[0])[i % {2}ull * {3}ull + i / {2}ull];\n}}\n}}\n",
               gpu_step_threads, k * n, k, n);
}

Result<GpuStepSource> gpu_step_source(const RunStep& step, const StepProgram& program, int multiprocessors) {
    ROOFLINE_TRY(auto arrays, gpu_step_arrays(step, program));
    if (const auto* map = std::get_if<MapStep>(&step.what)) return map_source(*map, arrays);
    if (const auto* row = std::get_if<RowStep>(&step.what)) return gpu_row_source(*row, arrays, multiprocessors);
    if (const auto* gather = std::get_if<GatherStep>(&step.what)) return gather_source(*gather, arrays);
    if (step.text == "scatter") {
        return fail(
            "unsupported",
            "a scatter does not run on the GPU: if several rows have the same index, any of them could be written last",
            "run it on the processor");
    }
    return fail("unsupported", fmt::format("`{}` does not run on the GPU", step.text), "run it on the processor");
}

}  // namespace roofline::core
