#include "machine/toml_file.hpp"

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "text/toml_guard.hpp"

namespace roofline::core {

namespace {

std::string reason(const toml::parse_error& error) {
    std::string text(error.description().substr(0, 300));
    for (const std::string_view prefix : {"Error while parsing ", "Error "}) {
        if (text.starts_with(prefix)) text.erase(0, prefix.size());
    }
    return text;
}

}  // namespace

TomlFile::TomlFile(std::string_view toml, std::string_view origin, std::string remedy)
    : source_(toml, std::string(origin)) {
    if (auto fault = toml_fault(toml)) {
        parsed_ = source_.fail_at(source_.span(fault->offset), fault->code, fault->message, fault->hint);
        return;
    }
    toml::parse_result parsed = toml::parse(toml, std::string_view{});
    if (!parsed) {
        parsed_ = source_.fail_at(span_of(parsed.error().source().begin), "toml",
                                  "this is not valid TOML: " + reason(parsed.error()), std::move(remedy));
        return;
    }
    table_ = std::move(parsed).table();
}

void TomlFile::read_sources() {
    const toml::table* own = table_["sources"].as_table();
    if (own == nullptr) return;
    const Citations none;
    Reader reader(*own, "[sources]", problems_, none);
    for (const auto& [key, node] : *own) citations_.add(std::string(key.str()), reader.required_text(key.str()));
}

Status TomlFile::status() const {
    if (!parsed_) return parsed_;
    const auto& problem = problems_.first();
    if (!problem) return {};
    return source_.fail_at(span_of(problem->at), problem->code, problem->message, problem->hint);
}

/// Converts columns: toml++ counts characters, messages count bytes.
Span TomlFile::span_of(toml::source_position at) const {
    const std::string_view text = source_.text();
    const Span start{static_cast<int>(std::max<toml::source_index>(at.line, 1)), 1};
    std::size_t begin = 0;
    for (int line = 1; line < start.line; ++line) {
        const std::size_t next = text.find('\n', begin);
        if (next == std::string_view::npos) break;
        begin = next + 1;
    }
    std::size_t byte = begin;
    for (toml::source_index column = 1; column < at.column && byte < text.size() && text[byte] != '\n'; ++column) {
        ++byte;
        while (byte < text.size() && continues_character(text[byte])) ++byte;
    }
    return {start.line, static_cast<int>(byte - begin) + 1};
}

}  // namespace roofline::core
