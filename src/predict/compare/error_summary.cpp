#include "predict/compare/error_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_worst_rows = 10;
constexpr double worth_ordering = 1.1;  // ratio of two times above which it matters which one is longer

/// Interpolates linearly at `fraction` of the way through `sorted`, which is not empty.
double quantile(const std::vector<double>& sorted, double fraction) {
    const double at = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

int decade_of(double bytes) { return bytes < 1000 ? 2 : static_cast<int>(std::floor(std::log10(bytes) + 1e-12)); }

std::string decade_text(int decade) {
    if (decade < 3) return "below 1 kB";
    return fmt::format("{} to {}", to_text(Bytes{std::pow(10.0, decade)}), to_text(Bytes{std::pow(10.0, decade + 1)}));
}

/// The property that the measurements of a group share: a number, or a text of the row.
struct GroupKey {
    double number = 0;
    std::string_view text;
    auto operator<=>(const GroupKey&) const = default;
};

std::string_view or_else(const std::string& text, std::string_view otherwise) {
    return text.empty() ? otherwise : std::string_view(text);
}

std::string name_of(const GroupKey& key) { return std::string(key.text); }

GroupKey software_of(const Comparison& row) { return {0, or_else(row.software, "not said")}; }

constexpr std::uint8_t bit(MeasuredKind kind) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind)); }
constexpr std::uint8_t collectives = bit(MeasuredKind::collective);
constexpr std::uint8_t kernels = bit(MeasuredKind::kernel);
constexpr std::uint8_t servings = bit(MeasuredKind::serving);
constexpr std::uint8_t runs = bit(MeasuredKind::training) | servings;

/// A criterion for groups. Groups are ordered by their keys.
struct Grouping {
    std::string_view by;
    bool by_operation;  ///< additionally split each group by operation
    std::uint8_t of;    ///< kinds of measurements that the criterion applies to
    GroupKey (*key)(const Comparison&);
    std::string (*name)(const GroupKey&);
};

const Grouping groupings[] = {
    {"operation", false, collectives | kernels | runs, [](const Comparison& row) { return GroupKey{0, row.operation}; },
     name_of},
    {"system", true, collectives | kernels | runs, [](const Comparison& row) { return GroupKey{0, row.system}; },
     name_of},
    {"model", true, servings, [](const Comparison& row) { return GroupKey{0, row.model}; }, name_of},
    {"mode", true, servings, [](const Comparison& row) { return GroupKey{0, row.mode}; }, name_of},
    {"source", true, runs, [](const Comparison& row) { return GroupKey{0, or_else(row.source, "not said")}; }, name_of},
    {"strategy", true, runs, [](const Comparison& row) { return GroupKey{0, or_else(row.strategy, "one chip")}; },
     name_of},
    {"dtype", true, kernels | runs, [](const Comparison& row) { return GroupKey{0, or_else(row.dtype, "not said")}; },
     name_of},
    {"size", true, collectives | kernels,
     [](const Comparison& row) { return GroupKey{static_cast<double>(decade_of(row.bytes)), {}}; },
     [](const GroupKey& key) { return decade_text(static_cast<int>(key.number)); }},
    {"devices", true, collectives | runs,
     [](const Comparison& row) { return GroupKey{static_cast<double>(row.devices), {}}; },
     [](const GroupKey& key) { return fmt::format("{}", key.number); }},
    {"software", false, collectives | kernels, software_of, name_of},
    {"software", true, runs, software_of, name_of},
    {"variant", false, collectives | kernels | runs,
     [](const Comparison& row) { return GroupKey{0, or_else(row.variant, "the default")}; }, name_of},
};

void add_groups(const Grouping& grouping, const std::vector<Comparison>& rows, bool of_expected,
                std::vector<ErrorGroup>& groups) {
    struct Members {
        std::vector<double> errors;
        std::size_t below = 0;

        void add(const Comparison& row, bool counts) {
            if (counts) errors.push_back(row.error());
            below += row.below_lower();
        }
    };
    std::map<std::pair<GroupKey, std::string_view>, Members> found;
    for (const Comparison& row : rows) {
        if ((grouping.of & bit(row.kind)) == 0 || !row.timed()) continue;
        const bool counts = !of_expected || row.prediction.expected_s;
        const GroupKey key = grouping.key(row);
        found[{key, {}}].add(row, counts);
        if (grouping.by_operation) found[{key, row.operation}].add(row, counts);
    }
    for (auto& [key, members] : found) {
        groups.push_back({std::string(grouping.by), grouping.name(key.first), std::string(key.second),
                          error_stats(std::move(members.errors)), members.below});
    }
}

/// Returns the indices of rows that `wanted` accepts, sorted by `measure` in descending order, at most `most`.
template <class Wanted, class Measure>
std::vector<std::size_t> greatest(const std::vector<Comparison>& rows, std::size_t most, Wanted wanted,
                                  Measure measure) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (wanted(rows[i])) indices.push_back(i);
    }
    const auto more = [&](std::size_t a, std::size_t b) {
        return std::pair(-measure(rows[a]), a) < std::pair(-measure(rows[b]), b);
    };
    const std::size_t count = std::min(most, indices.size());
    std::partial_sort(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count), indices.end(), more);
    indices.resize(count);
    return indices;
}

std::optional<Repeats> repeats_of(const std::vector<Comparison>& rows) {
    const auto key = [&](std::size_t i) {
        const Comparison& row = rows[i];
        return std::tie(row.system, row.slice, row.operation, row.shape, row.bytes, row.devices, row.dtype,
                        row.software, row.variant, row.strategy, row.groups);
    };
    // Sorts by a hash first: it differs for most rows, so that their texts need not be compared.
    std::vector<std::pair<std::size_t, std::size_t>> order;
    order.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto mixed = [](std::size_t hash, std::size_t next) { return (hash ^ next) * 0x9E3779B97F4A7C15U; };
        const Comparison& row = rows[i];
        if (!row.timed()) continue;
        std::size_t hash = std::hash<double>{}(row.bytes);
        for (const std::string* text :
             {&row.slice, &row.operation, &row.shape, &row.dtype, &row.software, &row.variant, &row.strategy}) {
            hash = mixed(hash, std::hash<std::string>{}(*text));
        }
        order.emplace_back(hash, i);
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : key(a.second) < key(b.second);
    });
    Repeats repeats;
    double total = 0;
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && key(order[end].second) == key(order[begin].second)) ++end;
        if (end - begin > 1) {
            std::vector<double> times;
            for (std::size_t i = begin; i < end; ++i) times.push_back(rows[order[i].second].measured_s);
            std::sort(times.begin(), times.end());
            const double median = quantile(times, 0.5);
            for (const double time : times) total += std::abs(time - median) / median;
            repeats.rows += times.size();
        }
        begin = end;
    }
    if (repeats.rows == 0) return std::nullopt;
    repeats.mean = total / static_cast<double>(repeats.rows);
    return repeats;
}

/// Pairs of measurements that differ enough, and those that are expected in the measured order.
struct OrderedPairs {
    std::size_t pairs = 0;
    std::size_t right = 0;
};

/// Counts them among measurements, in a time that grows with their number and not with that of the pairs: in the order
/// of measured times, each is compared with all that are faster by enough, whose ranks by expected time a binary
/// indexed tree counts.
OrderedPairs ordered_pairs(std::vector<const Comparison*> rows) {
    std::vector<double> expected;
    for (const Comparison* row : rows) expected.push_back(*row->prediction.expected_s);
    std::sort(expected.begin(), expected.end());
    const auto rank = [&](const Comparison* row) {
        return static_cast<std::size_t>(
            std::lower_bound(expected.begin(), expected.end(), *row->prediction.expected_s) - expected.begin());
    };
    std::sort(rows.begin(), rows.end(),
              [](const Comparison* a, const Comparison* b) { return a->measured_s < b->measured_s; });
    std::vector<std::size_t> tree(rows.size() + 1, 0);
    OrderedPairs count;
    std::size_t faster = 0;
    for (const Comparison* slow : rows) {
        for (; worth_ordering * rows[faster]->measured_s < slow->measured_s; ++faster) {
            for (std::size_t i = rank(rows[faster]) + 1; i < tree.size(); i += i & (~i + 1)) ++tree[i];
        }
        count.pairs += faster;
        for (std::size_t i = rank(slow); i > 0; i -= i & (~i + 1)) count.right += tree[i];
    }
    return count;
}

/// Calls `use` with each run of consecutive elements whose key is the same.
template <class Key, class Use>
void each_group(const std::vector<const Comparison*>& sorted, Key key, Use use) {
    for (auto begin = sorted.begin(); begin != sorted.end();) {
        const auto end =
            std::find_if(begin, sorted.end(), [&](const Comparison* row) { return key(*row) != key(**begin); });
        use(std::vector<const Comparison*>(begin, end));
        begin = end;
    }
}

std::vector<Ordering> order_of(const std::vector<Comparison>& rows) {
    const auto question = [](const Comparison& row) {
        return std::tie(row.operation, row.source, row.system, row.shape, row.dtype);
    };
    const auto set_up = [](const Comparison& row) { return std::tie(row.slice, row.strategy, row.software); };
    std::vector<const Comparison*> sorted;
    for (const Comparison& row : rows) {
        if ((bit(row.kind) & runs) != 0 && row.timed() && row.prediction.expected_s) sorted.push_back(&row);
    }
    std::sort(sorted.begin(), sorted.end(), [&](const Comparison* a, const Comparison* b) {
        return std::pair(question(*a), set_up(*a)) < std::pair(question(*b), set_up(*b));
    });
    std::map<std::string, Ordering> all;
    each_group(sorted, question, [&](const std::vector<const Comparison*>& alike) {
        OrderedPairs count = ordered_pairs(alike);
        each_group(alike, set_up, [&](const std::vector<const Comparison*>& repeats) {
            const OrderedPairs same = ordered_pairs(repeats);
            count.pairs -= same.pairs;
            count.right -= same.right;
        });
        Ordering& sum = all[alike.front()->operation];
        sum.pairs += count.pairs;
        sum.right += count.right;
    });
    std::vector<Ordering> with_pairs;
    for (auto& [operation, sum] : all) {
        if (sum.pairs > 0) with_pairs.push_back({operation, sum.pairs, sum.right});
    }
    return with_pairs;
}

void add_memory(const std::vector<Comparison>& rows, ErrorSummary& summary) {
    std::vector<double> errors;
    std::map<std::pair<std::string_view, std::string_view>, std::vector<double>> groups;
    for (const Comparison& row : rows) {
        if (!row.memory) continue;
        errors.push_back(row.memory->error());
        groups[{"source", or_else(row.source, "not said")}].push_back(row.memory->error());
        groups[{"what", or_else(row.memory->what, "not said")}].push_back(row.memory->error());
    }
    summary.memory = error_stats(std::move(errors));
    for (auto& [key, found] : groups) {
        summary.memory_groups.push_back(
            {std::string(key.first), std::string(key.second), "", error_stats(std::move(found)), 0});
    }
}

}  // namespace

ErrorStats error_stats(std::vector<double> errors) {
    if (errors.empty()) return {};
    std::sort(errors.begin(), errors.end());
    const double total = std::accumulate(errors.begin(), errors.end(), 0.0);
    return {errors.size(), total / static_cast<double>(errors.size()), quantile(errors, 0.5), quantile(errors, 0.9)};
}

std::string size_decade(double bytes) { return decade_text(decade_of(bytes)); }

ErrorSummary summarise(const std::vector<Comparison>& rows) {
    ErrorSummary summary;
    summary.of_expected = std::any_of(rows.begin(), rows.end(),
                                      [](const Comparison& row) { return row.prediction.expected_s.has_value(); });
    const auto counted = [&](const Comparison& row) {
        return row.timed() && (!summary.of_expected || row.prediction.expected_s);
    };
    std::vector<double> errors;
    std::vector<double> errors_of_lower;
    for (const Comparison& row : rows) {
        if (counted(row)) errors.push_back(row.error());
        if (row.timed()) errors_of_lower.push_back(row.error_of_lower());
        summary.below_lower += row.below_lower();
        summary.cached += row.cached();
    }
    summary.error = error_stats(std::move(errors));
    summary.error_of_lower = error_stats(std::move(errors_of_lower));
    for (const Grouping& grouping : groupings) add_groups(grouping, rows, summary.of_expected, summary.groups);
    summary.worst = greatest(rows, max_worst_rows, counted, [](const Comparison& row) { return row.error(); });
    summary.below = greatest(
        rows, rows.size(), [](const Comparison& row) { return row.below_lower(); },
        [](const Comparison& row) { return row.prediction.lower_s / row.measured_s; });
    summary.repeats = repeats_of(rows);
    summary.order = order_of(rows);
    add_memory(rows, summary);
    return summary;
}

}  // namespace roofline::core
