#include "units/size_range.hpp"

#include <fmt/format.h>

#include "base/ascii.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using SizeList = std::vector<std::int64_t>;

tl::unexpected<Error> unusable(std::string why) { return fail("bad_range", std::move(why)); }

Result<SizeList> list_of(std::string_view range) {
    SizeList sizes;
    while (true) {
        const std::size_t comma = range.find(',');
        const auto size = parse_size(trimmed(range.substr(0, comma)));
        if (!size) return unusable(fmt::format("has an unusable size: {}", size.error().message));
        sizes.push_back(*size);
        if (sizes.size() > max_range_sizes) return unusable(fmt::format("has more than {} sizes", max_range_sizes));
        if (comma == std::string_view::npos) return sizes;
        range.remove_prefix(comma + 1);
    }
}

}  // namespace

Result<SizeList> parse_size_range(std::string_view text) {
    text = trimmed(text);
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) return list_of(text);
    const std::string_view from = trimmed(text.substr(0, dots));
    std::string_view to = trimmed(text.substr(dots + 2));
    char increment = '+';
    std::int64_t by = 1;
    const std::size_t sign = to.find_first_of("*+");
    if (sign != std::string_view::npos) {
        increment = to[sign];
        const auto parsed = parse_size(trimmed(to.substr(sign + 1)));
        if (!parsed) return unusable(fmt::format("has no usable increment: {}", parsed.error().message));
        by = *parsed;
        if (increment == '*' && by == 1) return unusable("would never end");
        to = trimmed(to.substr(0, sign));
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
