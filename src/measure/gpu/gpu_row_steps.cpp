// Steps that work on rows: one block of threads per row.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "measure/gpu/gpu_step_text.hpp"

namespace roofline::core {

namespace {

bool adds(const std::string& function) { return function == "sum" || function == "mean"; }
bool is_reduction(const std::string& function) { return adds(function) || function == "max" || function == "min"; }

/// Softmax, norms and means of integers are not integers, so they are computed in floating point.
const char* row_type(const RowStep& row) {
    Dtype arithmetic = row.tapes.front().arithmetic;
    for (const Tape& tape : row.tapes) {
        if (tape.arithmetic == Dtype::f64 || arithmetic == Dtype::int32) arithmetic = tape.arithmetic;
    }
    const bool whole = row.function == "sum" || row.function == "max" || row.function == "min";
    return arithmetic == Dtype::int32 && !whole ? "double" : gpu_register_type(arithmetic);
}

/// Generates `value` and, for functions of two arguments, `value1`: the elements of a row, by row and position.
std::string row_functions(const RowStep& row, const GpuStepArrays& arrays, const char* type) {
    const std::size_t outer = row.loops.size() - row.along;
    std::string text;
    for (std::size_t i = 0; i < row.tapes.size(); ++i) {
        const GpuTapeText tape(row.tapes[i], arrays.inputs, type, row.loops.size(), 1);
        const std::string name = i == 0 ? "value" : fmt::format("value{}", i);
        text += tape.function(name + "_at");
        text += fmt::format("__device__ {} {}(const Arrays& A, u64 row, u64 t) {{\n", type, name);
        text += gpu_places_text("row", row.loops, 0, outer) + gpu_places_text("t", row.loops, outer, row.loops.size());
        text += fmt::format("return {}_at(A", name);
        for (std::size_t loop = 0; loop < row.loops.size(); ++loop) text += fmt::format(", p{}", loop);
        text += ");\n}\n";
    }
    text += "__device__ i64 out_at(u64 row, u64 t) {\n";
    text += gpu_places_text("row", row.loops, 0, outer) + gpu_places_text("t", row.loops, outer, row.loops.size());
    return text + fmt::format("return {} + {}LL;\n}}\n", gpu_offset_text(row.out), row.offset);
}

/// The body that a block of threads runs on a row of LENGTH elements of type T.
const char* row_body(const std::string& function) {
    if (function == "softmax") {
        return "T most = value(A, row, 0);\n"
               "EACH most = larger(most, value(A, row, t));\n"
               "most = block_extreme<T, true>(most, shared);\n"
               "T all = 0;\nEACH all += f_exp(value(A, row, t) - most);\n"
               "const T scale = 1 / block_sum(all, shared);\n"
               "EACH OUT[out_at(row, t)].set(f_exp(value(A, row, t) - most) * scale);\n";
    }
    if (function == "logsumexp") {
        return "T most = value(A, row, 0);\n"
               "EACH most = larger(most, value(A, row, t));\n"
               "most = block_extreme<T, true>(most, shared);\n"
               "T all = 0;\nEACH all += f_exp(value(A, row, t) - most);\n"
               "all = block_sum(all, shared);\n"
               "if (threadIdx.x == 0) OUT[out_at(row, 0)].set(most + f_log(all));\n";
    }
    if (function == "norm") {
        return "T all = 0;\nEACH { const T x = value(A, row, t); all += x * x; }\n"
               "const T scale = 1 / f_sqrt(block_sum(all, shared) / (T)LENGTH);\n"
               "EACH OUT[out_at(row, t)].set(value(A, row, t) * scale);\n";
    }
    if (function == "layernorm") {
        return "T all = 0;\nEACH all += value(A, row, t);\n"
               "const T mean = block_sum(all, shared) / (T)LENGTH;\n"
               "all = 0;\nEACH { const T x = value(A, row, t) - mean; all += x * x; }\n"
               "const T scale = 1 / f_sqrt(block_sum(all, shared) / (T)LENGTH);\n"
               "EACH OUT[out_at(row, t)].set((value(A, row, t) - mean) * scale);\n";
    }
    if (function == "dsoftmax") {
        return "T all = 0;\nEACH all += value(A, row, t) * value1(A, row, t);\n"
               "all = block_sum(all, shared);\n"
               "EACH OUT[out_at(row, t)].set(value(A, row, t) * (value1(A, row, t) - all));\n";
    }
    if (function == "dnorm") {
        return "T all = 0;\nEACH { const T x = value(A, row, t); all += x * x; }\n"
               "const T scale = 1 / f_sqrt(block_sum(all, shared) / (T)LENGTH);\n"
               "all = 0;\nEACH all += value(A, row, t) * scale * value1(A, row, t);\n"
               "const T along = block_sum(all, shared) / (T)LENGTH;\n"
               "EACH OUT[out_at(row, t)].set(scale * (value1(A, row, t) - value(A, row, t) * scale * along));\n";
    }
    if (function == "dlayernorm") {
        return "T all = 0;\nEACH all += value(A, row, t);\n"
               "const T centre = block_sum(all, shared) / (T)LENGTH;\n"
               "all = 0;\nEACH { const T x = value(A, row, t) - centre; all += x * x; }\n"
               "const T scale = 1 / f_sqrt(block_sum(all, shared) / (T)LENGTH);\n"
               "all = 0;\nEACH all += value1(A, row, t);\n"
               "const T mean = block_sum(all, shared) / (T)LENGTH;\n"
               "all = 0;\nEACH all += (value(A, row, t) - centre) * scale * value1(A, row, t);\n"
               "const T along = block_sum(all, shared) / (T)LENGTH;\n"
               "EACH OUT[out_at(row, t)].set(scale * (value1(A, row, t) - mean - (value(A, row, t) - centre) * scale * "
               "along));\n";
    }
    return nullptr;
}

constexpr const char* row_kernel =
    "extern \"C\" __global__ void roofline_step(Arrays A) {{\n__shared__ T shared[{}];\n"
    "for (u64 row = blockIdx.x; row < {}ull; row += gridDim.x) {{\n{}}}\n}}\n";

/// Uses one block per row, or several blocks per row if rows are few and long.
GpuStepSource reduction_source(const RowStep& row, const GpuStepArrays& arrays, const std::string& begin,
                               std::int64_t rows, std::int64_t length, int multiprocessors) {
    constexpr std::int64_t least_piece = 16384;
    GpuStepSource source;
    const std::int64_t wanted = (4 * std::int64_t{multiprocessors} + rows - 1) / rows;
    source.pieces = std::clamp<std::int64_t>(std::min(wanted, length / least_piece), 1, 65536);
    const bool cut = source.pieces > 1;
    const bool sums = adds(row.function);
    // integers are summed in 64 bits and truncated when the sum is stored
    const std::string sum_type = std::string_view(row_type(row)) == "int" && sums ? "i64" : row_type(row);
    const std::string join =
        sums ? "block_sum(all, shared)" : fmt::format("block_extreme<T, {}>(all, shared)", row.function == "max");
    const char* with = row.function == "max" ? "larger" : "smaller";
    const std::string scaled = row.function == "mean" ? " / (T)LENGTH" : "";
    const auto body = [&](const std::string& number, const std::string& first, const std::string& last,
                          const std::string& store) {
        const std::string each =
            fmt::format("for (u64 t = {} + threadIdx.x; t < {}; t += {})", first, last, gpu_step_threads);
        std::string text =
            sums ? "T all = 0;\n"
                 : fmt::format("u64 t0 = {};\nT all = [&] {{ const u64 t = t0; return (T){}; }}();\n", first, number);
        text += fmt::format("{} all = {};\n", each,
                            sums ? "all + (T)" + number : fmt::format("{}(all, (T){})", with, number));
        return text + fmt::format("all = {};\nif (threadIdx.x == 0) {};\n", join, store);
    };
    const std::string head = fmt::format("typedef {} T;\n#define LENGTH {}ull\n#define OUT (({}*)A.at[{}])\n", sum_type,
                                         length, gpu_stored_type(arrays.output), arrays.out);
    const std::string final_store = fmt::format("OUT[out_at(row, 0)].set(all{})", scaled);
    if (!cut) {
        source.blocks = std::min(rows, max_gpu_blocks);
        source.text =
            begin + head +
            fmt::format(row_kernel, gpu_step_threads, rows, body("value(A, row, t)", "0", "LENGTH", final_store));
        return source;
    }
    const std::string pieces = std::to_string(source.pieces);
    const std::string piece = fmt::format(
        "const u64 whole_row = row / {0}, piece = row % {0}, first = LENGTH * piece / {0}, "
        "last = LENGTH * (piece + 1) / {0};\n",
        pieces);
    source.blocks = std::min(rows * source.pieces, max_gpu_blocks);
    source.partial_bytes = static_cast<std::size_t>(rows * source.pieces) * 8;
    source.text = begin + head +
                  fmt::format(row_kernel, gpu_step_threads, rows * source.pieces,
                              piece + body("value(A, whole_row, t)", "first", "last",
                                           fmt::format("((T*)A.at[{}])[row] = all", arrays.out)));
    // the second kernel's only input are the partial results
    const std::string out_at = begin.substr(begin.rfind("__device__ i64 out_at"));
    source.join =
        gpu_step_prelude() + out_at + head + "#undef OUT\n" +
        fmt::format("#define OUT (({}*)A.at[1])\n", gpu_stored_type(arrays.output)) +
        fmt::format(row_kernel, gpu_step_threads, rows,
                    body(fmt::format("((const T*)A.at[0])[row * {} + t]", pieces), "0", pieces + "ull", final_store));
    source.join_blocks = std::min(rows, max_gpu_blocks);
    return source;
}

}  // namespace

Result<GpuStepSource> gpu_row_source(const RowStep& row, const GpuStepArrays& arrays, int multiprocessors) {
    const std::size_t outer = row.loops.size() - row.along;
    const std::int64_t rows = product_of_sizes(row.loops, 0, outer);
    const std::int64_t length = product_of_sizes(row.loops, outer, row.loops.size());
    const char* type = row_type(row);
    std::string begin = gpu_step_prelude() + fmt::format("#define LAST {}ull\n", row.loops.back());
    begin += row_functions(row, arrays, type);
    if (is_reduction(row.function)) return reduction_source(row, arrays, begin, rows, length, multiprocessors);
    GpuStepSource source;
    source.threads = gpu_step_threads;
    const std::string head = fmt::format(
        "typedef {} T;\n#define LENGTH {}ull\n#define OUT (({}*)A.at[{}])\n"
        "#define EACH for (u64 t = threadIdx.x; t < LENGTH; t += {})\n",
        type, length, gpu_stored_type(arrays.output), arrays.out, gpu_step_threads);
    if (row.function == "scan" || row.function == "dscan") {
        const char* steps = row.function == "scan"
                                ? "for (u64 t = 0; t < LENGTH; ++t) {\nh = value(A, row, t) * h + value1(A, row, t);\n"
                                : "T factor = 0;\nfor (u64 t = LENGTH; t-- > 0;) {\nh = factor * h + value1(A, row, "
                                  "t);\nfactor = value(A, row, t);\n";
        // one thread per row because each element depends on the previous one
        source.blocks = std::clamp<std::int64_t>((rows + gpu_step_threads - 1) / gpu_step_threads, 1, max_gpu_blocks);
        source.text =
            begin + head +
            fmt::format(
                "extern \"C\" __global__ void roofline_step(Arrays A) {{\n"
                "for (u64 row = (u64)blockIdx.x * {0} + threadIdx.x; row < {1}ull; row += (u64)gridDim.x * {0}) {{\n"
                "T h = 0;\n{2}OUT[out_at(row, t)].set(h);\n}}\n}}\n}}\n",
                gpu_step_threads, rows, steps);
        return source;
    }
    const char* body = row_body(row.function);
    if (body == nullptr) return fail("unsupported", fmt::format("`{}` does not run on the GPU", row.function));
    source.blocks = std::min(rows, max_gpu_blocks);
    source.text = begin + head + fmt::format(row_kernel, gpu_step_threads, rows, body);
    return source;
}

}  // namespace roofline::core
