#include "calibrate/kernel/extrapolation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

/// Returns the nearest measured size: the size itself inside the range or if the range is unknown.
double nearest_measured(const SizeRange& range, double size) {
    if (!(range.most > 0 && size > 0)) return size;
    return std::clamp(size, std::max(range.least, 1.0), std::max(range.most, 1.0));
}

double growth_number(Reader& table, std::string_view key) {
    const std::vector<double> numbers = table.numbers(key);
    constexpr double most = 10;
    if (numbers.size() == 1 && numbers.front() > 0 && numbers.front() <= most) return numbers.front();
    table.fault(key, "bad_value", fmt::format("{} is one number above 0 and at most {}", table.of(key), most));
    return 0;
}

/// Sizes without sufficient measurements get the largest growth of their class.
void fill_missing(Growths& growths) {
    double worst = 0;
    for (const SizeGrowth& each : growths) worst = std::max({worst, each.below, each.above});
    for (SizeGrowth& each : growths) {
        if (each.below == 0) each.below = worst;
        if (each.above == 0) each.above = worst;
    }
}

}  // namespace

const Growths& Extrapolation::of(KernelKind kind) const {
    if (info(kind).family == KernelFamily::attention) return attention;
    if (kind == KernelKind::grouped_contraction) return experts;
    return kind == KernelKind::contraction ? products : others;
}

Result<Extrapolation> parse_extrapolation(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    Extrapolation all;
    for (Reader& table : file.each("growth")) {
        const std::string kind = table.choice("kind", {"products", "experts", "attention", "others"});
        const std::string size = table.choice("size", {"m", "n", "depth", "batch", "rows", "columns"});
        const std::string side = table.choice("side", {"above", "below"});
        const std::size_t rows_or_columns = size == "rows" ? 0 : 1;
        std::size_t place = 0;
        while (place < size_names.size() && size_names[place] != size) ++place;
        if (place == size_names.size()) place = rows_or_columns;
        Growths& growths = kind == "products"  ? all.products
                           : kind == "experts" ? all.experts
                           : kind == "others"  ? all.others
                                               : all.attention;
        (side == "above" ? growths[place].above : growths[place].below) = growth_number(table, "per_doubling");
        static_cast<void>(table.whole("groups", 1, 1'000'000, 1));
        table.finish();
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    for (Growths* growths : {&all.products, &all.experts, &all.attention, &all.others}) fill_missing(*growths);
    return all;
}

const Extrapolation& built_in_extrapolation() {
    // a test reads this file
    static const Extrapolation all = [] {
        auto read = parse_extrapolation(embedded_extrapolation(), "extrapolation.toml");
        return read ? *read : Extrapolation{};
    }();
    return all;
}

std::vector<SizeOutOfRange> sizes_out_of_range(const KernelFit& fit, const KernelPoint& point) {
    std::vector<SizeOutOfRange> beyond;
    const ProductSizes sizes = sizes_for_ranges(fit, point);
    for (std::size_t i = 0; i < size_count; ++i) {
        if (!(sizes[i] > 0)) continue;
        const double nearest = nearest_measured(fit.ranges[i], sizes[i]);
        if (nearest != sizes[i]) beyond.push_back({i, sizes[i], nearest});
    }
    return beyond;
}

double extrapolation_error(const KernelFit& fit, const Growths& growths, const KernelPoint& point) {
    const ProductSizes sizes = sizes_for_ranges(fit, point);
    double error = 0;
    for (std::size_t i = 0; i < size_count; ++i) {
        if (!(sizes[i] > 0)) continue;
        const double nearest = nearest_measured(fit.ranges[i], sizes[i]);
        if (sizes[i] > nearest) error += growths[i].above * std::log2(sizes[i] / nearest);
        if (sizes[i] < nearest) error += growths[i].below * std::log2(nearest / sizes[i]);
    }
    return error;
}

}  // namespace roofline::core
