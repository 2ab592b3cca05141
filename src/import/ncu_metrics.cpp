#include "import/ncu_metrics.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

/// Units without their prefixes.
constexpr std::array<std::string_view, 9> bases{"byte", "second", "inst", "cycle", "hz", "sector", "op", "flop", "s"};

std::optional<double> one_unit(std::string_view unit) {
    if (unit.empty()) return 1.0;
    const std::string lower = lowered(unit);
    for (const std::string_view base : bases) {
        if (!lower.ends_with(base) || lower.size() > base.size() + 1) continue;
        if (lower.size() == base.size()) return 1.0;
        switch (unit.front()) {
            case 'n':
                return 1e-9;
            case 'u':
                return 1e-6;
            case 'm':
                return 1e-3;
            case 'K':
            case 'k':
                return 1e3;
            case 'M':
                return 1e6;
            case 'G':
                return 1e9;
            case 'T':
                return 1e12;
            case 'P':
                return 1e15;
            default:
                break;
        }
    }
    return std::nullopt;
}

/// Thread-level instructions by the name of their operation. Instructions on packed halves process two at once.
struct SassOperation {
    std::string_view name;
    Dtype dtype;
    double flops;
};
constexpr std::array<SassOperation, 9> sass_operations{{{"dadd", Dtype::f64, 1},
                                                        {"dmul", Dtype::f64, 1},
                                                        {"dfma", Dtype::f64, 2},
                                                        {"fadd", Dtype::f32, 1},
                                                        {"fmul", Dtype::f32, 1},
                                                        {"ffma", Dtype::f32, 2},
                                                        {"hadd", Dtype::f16, 2},
                                                        {"hmul", Dtype::f16, 2},
                                                        {"hfma", Dtype::f16, 4}}};

bool take(std::string_view& text, std::string_view front) {
    if (!text.starts_with(front)) return false;
    text.remove_prefix(front.size());
    return true;
}

}  // namespace

std::optional<double> ncu_unit(std::string_view unit) {
    const std::string_view whole = trimmed(unit);
    const std::size_t slash = whole.find('/');
    const auto above = one_unit(whole.substr(0, slash));
    if (slash == std::string_view::npos || !above) return above;
    const auto below = one_unit(whole.substr(slash + 1));
    if (!below) return std::nullopt;
    return *above / *below;
}

std::optional<double> ncu_number(std::string_view text) {
    std::string digits(trimmed(text));
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    return number_in(digits);
}

std::optional<NcuFlops> ncu_flops(std::string_view metric) {
    NcuFlops found{std::string(metric), Unit::vector, Dtype::f32, 1};
    std::string_view rest = metric;
    if (!take(rest, "smsp__") && !take(rest, "sm__")) return std::nullopt;
    if (take(rest, "ops_path_tensor_src_")) {
        // e.g. "bf16_dst_fp32", "int8", "fp8_dst_fp16_sparsity_off"
        const std::size_t end = std::min(rest.find("_dst_"), rest.find("_sparsity_"));
        const auto dtype = find_dtype(rest.substr(0, end));
        if (!dtype) return std::nullopt;
        found.unit = Unit::matmul;
        found.dtype = *dtype;
        return found;
    }
    if (!take(rest, "sass_thread_inst_executed_op_") || !rest.ends_with("_pred_on")) return std::nullopt;
    rest.remove_suffix(std::string_view("_pred_on").size());
    const auto operation = std::find_if(sass_operations.begin(), sass_operations.end(),
                                        [&](const auto& each) { return each.name == rest; });
    if (operation == sass_operations.end()) return std::nullopt;
    found.dtype = operation->dtype;
    found.flops = operation->flops;
    return found;
}

}  // namespace roofline::core
