#include "import/tuned_experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "import/expert_load.hpp"
#include "import/kernel_notes.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

namespace {

/// The dtype of an operand: with scales per 32 elements `fp8` and `fp4` are mxfp8 and mxfp4.
std::string scaled_dtype(std::string_view word, bool by_32, std::string& skip) {
    if (by_32 && (word == "fp8" || word == "fp4")) return "mx" + std::string(word);
    if (const auto found = find_dtype(word)) return std::string(name(*found));
    if (skip.empty()) skip = fmt::format("the dtype {} is unknown", in_ticks(word));
    return "";
}

/// Returns whether the rate that the note states (`tflops=`, of the two or three matmuls) is not that of the row's work
/// and time. A tuner that stops at some number of tokens repeats that time for all others.
bool is_of_other_tokens(const TunedExperts& sizes, std::string_view note, double time_s) {
    const std::string_view text = note_value(note, "tflops=");
    double stated = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stated);
    if (error != std::errc{} || end != text.data() + text.size() || !(stated > 0)) return false;
    const double macs = static_cast<double>(sizes.tokens) * static_cast<double>(sizes.choices) *
                        static_cast<double>(sizes.hidden) * static_cast<double>(sizes.inter) * 3;
    const double ratio = 2 * macs / time_s / (stated * 1e12);
    constexpr double most = 1.9;  // shared experts and rounding make up to 1.5
    return ratio > most || ratio < 1 / most;
}

}  // namespace

void set_tuned_experts(const TunedExperts& sizes, std::string_view note, MeasuredKernel& row, std::string& skip) {
    row.operation = "experts";
    if (is_of_other_tokens(sizes, note, row.time_s) && skip.empty())
        skip = "the time is that of another number of tokens: the note's tflops say so";
    const ExpertLoad load = random_load({sizes.tokens, sizes.choices, sizes.experts, 1});
    if (load.rows < 1 && skip.empty()) skip = "the number of experts is smaller than topk";
    if (!skip.empty()) return;
    const bool by_32 = holds(note, "per_1x32");
    const std::string_view words = row.dtype;
    const std::size_t slash = words.find('/');
    const std::string rows = scaled_dtype(words.substr(0, slash), by_32, skip);
    const std::string weights =
        slash == std::string_view::npos ? rows : scaled_dtype(words.substr(slash + 1), by_32, skip);
    if (!skip.empty()) return;
    const bool one_kernel = note_value(note, "run_1stage=") == "1";
    if (holds(note, "per_1x128")) row.variant = "block scales";
    if (one_kernel) row.variant += row.variant.empty() ? "one kernel" : ", one kernel";
    const std::int64_t of_expert = std::max<std::int64_t>(1, load.rows / load.experts);
    row.sizes = {{"T", sizes.tokens}, {"A", sizes.choices}, {"E", load.experts},
                 {"C", of_expert},    {"D", sizes.hidden},  {"I", sizes.inter}};
    row.program = fmt::format(
        "X : {0}[T, D]\nIds : int32[T, A]\nShare : f32[T, A]\nparam Wg : {1}[E, D, I]\nparam Wu : {1}[E, D, I]\nparam "
        "Wd : {1}[E, I, D]\nfuse {{\n Xe : {0}[E, C, D] = dispatch[E,C](X, Ids)\n He : {2}[E, C, I] = silu(Xe *_D Wg) "
        "* (Xe *_D Wu)\n{3} Ye : bf16[E, C, D] = {4} *_I Wd\n M : bf16[T, D] = combine[E,C,A](Ye, Share)\n}}\n",
        rows, weights, one_kernel ? rows : "bf16",
        one_kernel ? "" : fmt::format("}}\nHa : {}[E, C, I]\nfuse {{\n", rows), one_kernel ? "He" : "Ha");
}

}  // namespace roofline::core
