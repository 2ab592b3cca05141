#include "import/xla/stablehlo/mlir_locations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_location = 256;

// What is missing in `first` comes from `second`.
XlaOrigin merged_origin(XlaOrigin first, const XlaOrigin& second) {
    if (first.op_name.empty()) first.op_name = second.op_name;
    if (first.file.empty()) {
        first.file = second.file;
        first.line = second.line;
    }
    return first;
}

// The number of `loc12`, if it is below a limit.
std::optional<std::size_t> number_of_alias(std::string_view name, std::size_t limit) {
    std::size_t number = 0;
    if (!name.starts_with("loc") || name.size() < 4 || name.size() > 12 || name[3] == '0') return std::nullopt;
    for (const char c : name.substr(3)) {
        if (!is_digit(c)) return std::nullopt;
        number = number * 10 + static_cast<std::size_t>(c - '0');
    }
    return number < limit ? std::optional(number) : std::nullopt;
}

}  // namespace

Status MlirLocations::find_aliases(const MlirScanner& scanner) {
    MlirScanner lines = scanner;
    const std::string_view text = scanner.text();
    constexpr std::string_view sign = "#loc";
    for (std::size_t at = text.find(sign); at != std::string_view::npos; at = text.find(sign, at)) {
        const bool begins_line = at == 0 || text[at - 1] == '\n';
        if (!begins_line) {
            // Most of the signs are in the lines of operations; the next line begins behind this one.
            at = text.find("\n#loc", at);
            if (at == std::string_view::npos) break;
            ++at;
        }
        lines.go_to(at + 1);
        const std::string_view name = lines.take_word();
        const bool defined = lines.take("=") && lines.take("loc(");
        if (defined && find(name) != nullptr) {
            return scanner.fail_at(at, "defined_twice",
                                   fmt::format("the location {} is defined twice", in_ticks(name)));
        }
        if (defined) {
            aliases_.push_back({lines.at(), Alias::State::fresh, {}});
            const auto place = static_cast<std::uint32_t>(aliases_.size());
            const auto number = number_of_alias(name, 16 * aliases_.size() + 1024);
            if (number && *number >= numbered_.size()) numbered_.resize(*number + 1);
            if (number) {
                numbered_[*number] = place;
            } else {
                named_.emplace(name, place - 1);
            }
        }
        at += sign.size();
    }
    return {};
}

MlirLocations::Alias* MlirLocations::find(std::string_view name) {
    const auto number = number_of_alias(name, numbered_.size());
    if (number && numbered_[*number] != 0) return &aliases_[numbered_[*number] - 1];
    const auto found = named_.find(name);
    return found == named_.end() ? nullptr : &aliases_[found->second];
}

Status MlirLocations::take(MlirScanner& scanner, XlaOrigin& origin) {
    if (!scanner.take("loc(")) return {};
    ROOFLINE_TRY(origin, take_location(scanner, 0));
    return scanner.expect(")", "after a location");
}

Result<XlaOrigin> MlirLocations::take_location(MlirScanner& scanner, int depth) {
    if (depth > deepest_location) {
        return scanner.fail_here("too_deep", "locations are nested deeper than 256 levels");
    }
    scanner.skip_blanks();
    if (scanner.peek() == '#') return take_alias(scanner, depth);
    if (scanner.peek() == '"') return take_named(scanner, depth);
    if (scanner.take_word("unknown")) return XlaOrigin{};
    if (scanner.take_word("callsite")) {
        ROOFLINE_CHECK(scanner.expect("(", "after `callsite`"));
        ROOFLINE_TRY(const XlaOrigin callee, take_location(scanner, depth + 1));
        ROOFLINE_CHECK(scanner.expect("at", "between the locations of a call"));
        ROOFLINE_TRY(const XlaOrigin caller, take_location(scanner, depth + 1));
        ROOFLINE_CHECK(scanner.expect(")", "after the locations of a call"));
        return merged_origin(callee, caller);
    }
    if (scanner.take_word("fused")) return take_fused(scanner, depth);
    return scanner.fail_here("bad_stablehlo", "expected a location, such as `\"name\"(\"file.py\":12:3)`");
}

Result<XlaOrigin> MlirLocations::take_alias(MlirScanner& scanner, int depth) {
    const std::size_t from = scanner.at();
    scanner.take("#");
    const std::string_view name = scanner.take_word();
    Alias* const found = find(name);
    if (found == nullptr) {
        return scanner.fail_at(from, "undefined", fmt::format("the location {} is not defined", in_ticks(name)),
                               "its line `#loc1 = loc(...)` stands after the module: the file may be cut off");
    }
    Alias& alias = *found;
    if (alias.state == Alias::State::entered) {
        return scanner.fail_at(from, "cycle", fmt::format("the location {} refers to itself", in_ticks(name)));
    }
    if (alias.state == Alias::State::fresh) {
        const std::size_t back = scanner.at();
        alias.state = Alias::State::entered;
        scanner.go_to(alias.offset);
        ROOFLINE_TRY(alias.origin, take_location(scanner, depth + 1));
        alias.state = Alias::State::known;
        scanner.go_to(back);
    }
    return alias.origin;
}

// `"file.py":12:3`, `"file.py":12:3 to 13:9`, `"name"(...)`, or only `"name"`.
Result<XlaOrigin> MlirLocations::take_named(MlirScanner& scanner, int depth) {
    ROOFLINE_TRY(const auto string, scanner.take_string());
    XlaOrigin origin;
    if (scanner.peek() == ':') {
        origin.file = string;
        const std::size_t from = scanner.at() + 1;
        const std::size_t end =
            std::min(scanner.text().find_first_not_of("0123456789: to", from), scanner.text().size());
        std::from_chars(scanner.text().data() + from, scanner.text().data() + end, origin.line);
        scanner.go_to(end);
    } else if (scanner.take("(")) {
        ROOFLINE_TRY(origin, take_location(scanner, depth + 1));
        ROOFLINE_CHECK(scanner.expect(")", "after the location of a name"));
        origin.op_name = string;
    } else {
        origin.op_name = string;
    }
    return origin;
}

// `fused[a, b]`, or `fused<metadata>[a, b]`.
Result<XlaOrigin> MlirLocations::take_fused(MlirScanner& scanner, int depth) {
    scanner.skip_blanks();
    if (scanner.peek() == '<') ROOFLINE_CHECK(scanner.take_group());
    ROOFLINE_CHECK(scanner.expect("[", "before locations that are fused"));
    XlaOrigin origin;
    for (bool first = true; !scanner.take("]"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner.expect(",", "between locations that are fused"));
        ROOFLINE_TRY(const XlaOrigin part, take_location(scanner, depth + 1));
        origin = merged_origin(origin, part);
    }
    return origin;
}

}  // namespace roofline::core
