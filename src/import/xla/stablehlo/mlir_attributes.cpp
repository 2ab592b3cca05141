#include "import/xla/stablehlo/mlir_attributes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::uint64_t most_numbers = 1'000'000'000;
constexpr std::uint64_t most_repeats = 256;  // a short text must not become a long one
constexpr std::size_t most_cached_numbers = 4096;

// The sizes of the tensor type after ` : `.
std::vector<std::uint64_t> sizes_of_type(std::string_view value) {
    std::vector<std::uint64_t> sizes;
    std::size_t at = value.rfind("tensor<");
    if (at == std::string_view::npos) return sizes;
    at += 7;
    while (at < value.size() && is_digit(value[at])) {
        std::uint64_t size = 0;
        const auto [end, error] = std::from_chars(value.data() + at, value.data() + value.size(), size);
        if (error != std::errc{}) return {};
        sizes.push_back(size);
        at = static_cast<std::size_t>(end - value.data()) + 1;
    }
    return sizes;
}

int hex_digit(char c) {
    c = to_lower(c);
    if (is_digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// `0x0100000000000000...`: the bytes of elements of 64 bits, the lowest first.
std::optional<std::vector<std::int64_t>> numbers_of_hex(std::string_view text) {
    if (!text.starts_with("0x") || (text.size() - 2) % 16 != 0) return std::nullopt;
    std::vector<std::int64_t> numbers;
    numbers.reserve(text.size() / 16);
    for (std::size_t at = 2; at < text.size(); at += 16) {
        std::uint64_t number = 0;
        for (std::size_t byte = 0; byte < 8; ++byte) {
            const int high = hex_digit(text[at + 2 * byte]);
            const int low = hex_digit(text[at + 2 * byte + 1]);
            if (high < 0 || low < 0) return std::nullopt;
            number |= static_cast<std::uint64_t>(high * 16 + low) << (8 * byte);
        }
        numbers.push_back(static_cast<std::int64_t>(number));
    }
    return numbers;
}

// Numbers in brackets of any depth; what stands between brackets of the second depth is a row.
std::optional<MlirNumbers> numbers_of_list(std::string_view text) {
    MlirNumbers list;
    std::size_t rows = 0;
    int depth = 0;
    bool nested = false;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r') {
            ++at;
        } else if (c == '[') {
            if (++depth == 2) ++rows;
            nested = nested || depth == 2;
            ++at;
        } else if (c == ']') {
            if (--depth < 0) return std::nullopt;
            ++at;
        } else if (text.substr(at).starts_with("true") || text.substr(at).starts_with("false")) {
            list.values.push_back(c == 't' ? 1 : 0);
            at += c == 't' ? 4 : 5;
        } else {
            std::int64_t number = 0;
            const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
            if (error != std::errc{}) return std::nullopt;
            at = static_cast<std::size_t>(end - text.data());
            if (at < text.size() && text[at] != ',' && text[at] != ']' && text[at] != ' ') return std::nullopt;
            list.values.push_back(number);
        }
    }
    if (nested) list.rows = rows;
    return list;
}

std::optional<MlirNumbers> numbers_of_dense(std::string_view value) {
    const std::size_t end = value.rfind("> : ");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view body = trimmed(value.substr(6, end - 6));
    const std::vector<std::uint64_t> sizes = sizes_of_type(value.substr(end));
    MlirNumbers list;
    if (body.starts_with('"')) {
        auto numbers = numbers_of_hex(mlir_string(body));
        if (!numbers) return std::nullopt;
        list.values = std::move(*numbers);
    } else {
        auto numbers = numbers_of_list(body);
        if (!numbers) return std::nullopt;
        list = std::move(*numbers);
    }
    std::uint64_t count = 1;
    for (const std::uint64_t size : sizes) {
        if (size != 0 && count > most_numbers / size) return std::nullopt;
        count *= size;
    }
    if (!body.starts_with('[') && list.values.size() == 1) {
        if (count > most_repeats) return std::nullopt;
        list.values.assign(count, list.values.front());
    }
    if (list.values.size() != count) return std::nullopt;
    if (sizes.size() == 2) list.rows = static_cast<std::size_t>(sizes[0]);
    return list;
}

std::string braces_text(const MlirNumbers& list) {
    if (!list.rows || list.values.empty()) return fmt::format("{{{}}}", fmt::join(list.values, ","));
    const std::size_t length = list.values.size() / *list.rows;
    std::string text = "{";
    for (std::size_t row = 0; row < *list.rows; ++row) {
        const auto begin = list.values.begin() + static_cast<std::ptrdiff_t>(row * length);
        if (row > 0) text += ',';
        text += fmt::format("{{{}}}", fmt::join(begin, begin + static_cast<std::ptrdiff_t>(length), ","));
    }
    return text + "}";
}

}  // namespace

Status take_mlir_dictionary(MlirScanner& scanner, std::vector<XlaAttribute>& entries) {
    ROOFLINE_CHECK(scanner.expect("{", "before attributes"));
    for (bool first = true; !scanner.take("}"); first = false) {
        if (!first) ROOFLINE_CHECK(scanner.expect(",", "between attributes"));
        scanner.skip_blanks();
        XlaAttribute entry;
        if (scanner.peek() == '"') {
            ROOFLINE_TRY(entry.key, scanner.take_string());
        } else {
            entry.key = scanner.take_word();
            if (entry.key.empty()) return scanner.fail_here("bad_stablehlo", "the name of an attribute is missing");
        }
        if (scanner.take("=")) {
            ROOFLINE_TRY(entry.value, scanner.take_dictionary_value());
        }
        entries.push_back(entry);
    }
    return {};
}

std::vector<XlaAttribute> mlir_dictionary(std::string_view group) {
    std::vector<XlaAttribute> entries;
    MlirScanner scanner(group, {});
    if (!take_mlir_dictionary(scanner, entries)) entries.clear();
    return entries;
}

std::string_view mlir_field(std::string_view value, std::string_view key) {
    const std::size_t open = value.find_first_of("<{");
    if (open == std::string_view::npos) return {};
    MlirScanner scanner(value, {});
    scanner.go_to(open + 1);
    while (true) {
        const std::string_view word = scanner.take_word();
        if (word.empty()) return {};
        std::string_view found;
        if (scanner.take("=")) {
            const auto text = scanner.take_dictionary_value();
            if (!text) return {};
            found = *text;
        }
        if (word == key) return found;
        if (!scanner.take(",")) return {};
    }
}

std::string_view without_mlir_type(std::string_view value) {
    const std::size_t colon = value.rfind(" : ");
    return colon == std::string_view::npos ? value : trimmed(value.substr(0, colon));
}

std::string_view mlir_enum(std::string_view value) {
    if (value.ends_with('>')) value.remove_suffix(1);
    const std::size_t before = value.find_last_of(" <");
    return before == std::string_view::npos ? value : value.substr(before + 1);
}

std::string_view mlir_string(std::string_view value) {
    if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
    return value.substr(1, value.size() - 2);
}

std::optional<MlirNumbers> mlir_numbers(std::string_view value) {
    if (value.starts_with('[')) return numbers_of_list(value);
    if (value.starts_with("dense<")) return numbers_of_dense(value);
    if (value.starts_with("array<") && value.ends_with('>')) {
        const std::size_t colon = value.find(':');
        return numbers_of_list(colon == std::string_view::npos ? std::string_view{}
                                                               : value.substr(colon + 1, value.size() - colon - 2));
    }
    return std::nullopt;
}

std::string_view HloNotation::keep(std::string text) {
    const auto found = kept_.find(text);
    if (found != kept_.end()) return found->second;
    const std::string_view kept = spoken_.emplace_back(std::move(text));
    kept_.emplace(kept, kept);
    return kept;
}

std::string_view HloNotation::number(std::uint64_t number) {
    if (number >= most_cached_numbers) return keep(std::to_string(number));
    if (number >= numbers_.size()) numbers_.resize(static_cast<std::size_t>(number) + 1);
    std::string_view& cached = numbers_[static_cast<std::size_t>(number)];
    if (cached.empty()) cached = keep(std::to_string(number));
    return cached;
}

std::string_view HloNotation::braces(std::string_view value) {
    const auto found = braces_.find(value);
    if (found != braces_.end()) return found->second;
    const auto numbers = mlir_numbers(value);
    const std::string_view written = numbers ? keep(braces_text(*numbers)) : value;
    braces_.emplace(value, written);
    return written;
}

std::string_view HloNotation::braces(const std::vector<std::int64_t>& numbers) {
    return keep(fmt::format("{{{}}}", fmt::join(numbers, ",")));
}

std::string_view HloNotation::string(std::string_view value) {
    if (value.find('\\') == std::string_view::npos) return value;
    std::string text;
    for (std::size_t at = 0; at < value.size(); ++at) {
        const bool escaped = value[at] == '\\' && at + 2 < value.size() && hex_digit(value[at + 1]) >= 0 &&
                             hex_digit(value[at + 2]) >= 0;
        if (!escaped) {
            text += value[at];
            if (value[at] == '\\' && at + 1 < value.size()) text += value[++at];
            continue;
        }
        const char c = static_cast<char>(hex_digit(value[at + 1]) * 16 + hex_digit(value[at + 2]));
        at += 2;
        if (c == '"' || c == '\\') text += '\\';
        if (c == '\n') {
            text += "\\n";
        } else {
            text += c;
        }
    }
    return keep(std::move(text));
}

void HloNotation::add_frontend(std::string& list, std::string_view key, std::string_view value) const {
    if (!list.empty()) list += ',';
    list += key;
    list += '=';
    if (!mlir_string(value).empty() || value == "\"\"") {
        list += value;
        return;
    }
    list += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\') list += '\\';
        list += c;
    }
    list += '"';
}

}  // namespace roofline::core
