#include "units/size_range.hpp"

#include <fmt/format.h>

#include "units/range_text.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using SizeList = std::vector<std::int64_t>;

tl::unexpected<Error> unusable(std::string why) { return fail("bad_range", std::move(why)); }

Result<SizeList> list_of(const std::vector<std::string_view>& items) {
    SizeList sizes;
    for (const std::string_view item : items) {
        const auto size = parse_size(item);
        if (!size) return unusable(fmt::format("has an unusable size: {}", size.error().message));
        sizes.push_back(*size);
        if (sizes.size() > max_range_sizes) return unusable(fmt::format("has more than {} sizes", max_range_sizes));
    }
    return sizes;
}

}  // namespace

Result<SizeList> parse_size_range(std::string_view text) {
    const RangeText range = split_range(text);
    if (!range.items.empty()) return list_of(range.items);
    const auto& [items, from, to, written, increment_text] = range;
    const char increment = written == 0 ? '+' : written;
    std::int64_t by = 1;
    if (written != 0) {
        const auto parsed = parse_size(increment_text);
        if (!parsed) return unusable(fmt::format("has no usable increment: {}", parsed.error().message));
        by = *parsed;
        if (increment == '*' && by == 1) return unusable("would never end");
    }
    const auto first = parse_size(from);
    if (!first) return unusable(fmt::format("has no usable start: {}", first.error().message));
    const auto last = parse_size(to);
    if (!last) return unusable(fmt::format("has no usable end: {}", last.error().message));
    if (*first > *last) {
        return fail("bad_range", "runs backwards", fmt::format("the smaller number comes first: {}..{}", to, from));
    }
    SizeList sizes;
    for (std::int64_t size = *first;;) {
        sizes.push_back(size);
        if (sizes.size() > max_range_sizes) return unusable(fmt::format("has more than {} sizes", max_range_sizes));
        std::int64_t next = 0;
        const bool over =
            increment == '*' ? __builtin_mul_overflow(size, by, &next) : __builtin_add_overflow(size, by, &next);
        if (over || next > *last) return sizes;
        size = next;
    }
}

}  // namespace roofline::core
