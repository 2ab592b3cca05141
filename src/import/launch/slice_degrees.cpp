#include "import/launch/slice_degrees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace roofline::core {

namespace {

/// The degrees of a kind: their product, and the one that is what remains.
struct KindOfDegrees {
    std::int64_t product = 1;
    const LaunchSetting* open = nullptr;
};

bool has_outer(const LaunchTable& table, std::string_view key) {
    return std::any_of(table.settings.begin(), table.settings.end(),
                       [&](const LaunchSetting& each) { return each.times == key; });
}

// Slices whose chips the degrees inside of them multiply to.
std::int64_t slices_of(const KindOfDegrees& inside, const KindOfDegrees& between, const LaunchJob& job) {
    if (inside.open != nullptr) return between.open != nullptr ? job.slices : between.product;
    return inside.product == 0 ? 0 : job.chips / inside.product;
}

bool multiply_to_chips(const KindOfDegrees& inside, const KindOfDegrees& between, std::int64_t slices,
                       std::int64_t chips) {
    if (slices <= 0 || inside.product <= 0 || between.product <= 0) return false;
    if (chips % slices != 0 || slices % between.product != 0 || (chips / slices) % inside.product != 0) return false;
    return (between.open != nullptr || slices == between.product) &&
           (inside.open != nullptr || chips / slices == inside.product);
}

}  // namespace

std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
        if (__builtin_mul_overflow(product, factor, &product)) return 0;
    }
    return product;
}

Result<std::map<std::string, std::int64_t, std::less<>>> left_over_degrees(const LaunchValues& values,
                                                                           const LaunchJob& job) {
    std::map<std::string, std::int64_t, std::less<>> found;
    const LaunchTable& table = values.table();
    const bool told_apart = std::any_of(table.settings.begin(), table.settings.end(),
                                        [](const LaunchSetting& each) { return each.between; });
    if (!told_apart) return found;
    KindOfDegrees inside;
    KindOfDegrees between;
    for (const LaunchSetting& each : table.settings) {
        if (each.times.empty() && !has_outer(table, each.key)) continue;
        KindOfDegrees& kind = each.between ? between : inside;
        if (values.text(each.key) != "-1") {
            kind.product = product_of({kind.product, values.number(each.key).value_or(1)});
            continue;
        }
        if (kind.open != nullptr) {
            return values.fail_at(each.key, "contradiction",
                                  fmt::format("{} and {} are both what remains", values.written(kind.open->key),
                                              values.written(each.key)),
                                  "give one of them a number");
        }
        kind.open = &each;
    }
    const std::int64_t slices = slices_of(inside, between, job);
    if (!multiply_to_chips(inside, between, slices, job.chips)) {
        return values.fail_at(
            "shard", "bad_plan",
            fmt::format("degrees of {} inside of slices and {} between them do not fit the {} chips of --on",
                        inside.product, between.product, job.chips),
            "give the machine that runs it, or -1 for one degree of each kind");
    }
    if (inside.open != nullptr) found[inside.open->key] = job.chips / slices / inside.product;
    if (between.open != nullptr) found[between.open->key] = slices / between.product;
    return found;
}

}  // namespace roofline::core
