#include "text/toml_node.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "text/toml.hpp"
#include "text/toml_guard.hpp"

namespace roofline::core {

namespace {

constexpr TomlRecord empty_table;
constexpr TomlRecords empty_document{&empty_table, ""};

std::string reason(const toml::parse_error& error) {
    std::string text(error.description().substr(0, 300));
    for (const std::string_view prefix : {"Error while parsing ", "Error "}) {
        if (text.starts_with(prefix)) text.erase(0, prefix.size());
    }
    return text;
}

TomlPlace place_of(toml::source_position at) { return {at.line, at.column}; }

/// Writes the values of toml++ into the arrays.
class Flattening {
public:
    Flattening(std::vector<TomlRecord>& records, std::string& texts) : records_(records), texts_(texts) {}

    void add_root(const toml::table& table) {
        records_.emplace_back();
        fill(0, table);
    }

private:
    void fill(std::size_t at, const toml::node& node) {
        records_[at].place = place_of(node.source().begin);
        if (const auto* table = node.as_table()) {
            fill_table(at, *table);
        } else if (const auto* list = node.as_array()) {
            const std::size_t first = reserve(at, TomlKind::list, list->size());
            for (std::size_t i = 0; i < list->size(); ++i) fill(first + i, (*list)[i]);
        } else {
            fill_leaf(records_[at], node);
        }
    }

    void fill_table(std::size_t at, const toml::table& table) {
        std::size_t next = reserve(at, TomlKind::table, table.size());
        for (const auto& [key, node] : table) {
            TomlRecord& record = records_[next];
            std::tie(record.key, record.key_size) = add_text(key.str());
            record.key_place = place_of(key.source().begin);
            fill(next++, node);
        }
    }

    void fill_leaf(TomlRecord& record, const toml::node& node) {
        record.kind = TomlKind::moment;
        if (const auto* text = node.as_string()) {
            record.kind = TomlKind::text;
            std::tie(record.first, record.count) = add_text(text->get());
        } else if (const auto* whole = node.as_integer()) {
            record.kind = TomlKind::whole;
            record.bits = static_cast<std::uint64_t>(whole->get());
        } else if (const auto* real = node.as_floating_point()) {
            record.kind = TomlKind::real;
            record.bits = std::bit_cast<std::uint64_t>(real->get());
        } else if (const auto* flag = node.as_boolean()) {
            record.kind = TomlKind::flag;
            record.bits = flag->get() ? 1 : 0;
        }
    }

    /// Makes room for the values of a table or a list; returns the first of them.
    std::size_t reserve(std::size_t at, TomlKind kind, std::size_t count) {
        const std::size_t first = records_.size();
        records_[at].kind = kind;
        records_[at].first = static_cast<std::uint32_t>(first);
        records_[at].count = static_cast<std::uint32_t>(count);
        records_.resize(first + count);
        return first;
    }

    // A file has a million bytes at most, and fewer values.
    std::pair<std::uint32_t, std::uint32_t> add_text(std::string_view text) {
        const auto begin = static_cast<std::uint32_t>(texts_.size());
        texts_ += text;
        return {begin, static_cast<std::uint32_t>(text.size())};
    }

    std::vector<TomlRecord>& records_;
    std::string& texts_;
};

}  // namespace

std::string_view TomlNode::text() const {
    if (!is(TomlKind::text)) return {};
    return {all_->texts + record_->first, record_->count};
}

double TomlNode::number() const {
    return is(TomlKind::real) ? std::bit_cast<double>(record_->bits) : static_cast<double>(whole());
}

// Tables have a few members: looking at the sizes of all keys is quicker than halving the table.
TomlNode TomlNode::find(std::string_view key) const {
    if (!is(TomlKind::table)) return {};
    for (std::size_t i = record_->first, end = i + record_->count; i < end; ++i) {
        const TomlRecord& member = all_->records[i];
        if (member.key_size == key.size() && std::string_view(all_->texts + member.key, member.key_size) == key) {
            return {*all_, i};
        }
    }
    return {};
}

struct TomlDocument::Storage {
    std::vector<TomlRecord> records;
    std::string texts;
    TomlRecords all;
};

void TomlDocument::Deleter::operator()(const Storage* storage) const { delete storage; }

TomlDocument::TomlDocument() = default;

TomlNode TomlDocument::root() const { return {storage_ == nullptr ? empty_document : storage_->all, 0}; }

Result<TomlDocument> TomlDocument::parse(const Source& source, std::string remedy) {
    if (auto fault = toml_fault(source.text())) {
        return source.fail_at(source.span(fault->offset), fault->code, fault->message, fault->hint);
    }
    const toml::parse_result parsed = toml::parse(source.text(), std::string_view{});
    if (!parsed) {
        return source.fail_at(span_of(place_of(parsed.error().source().begin), source.text()), "toml",
                              "this is not valid TOML: " + reason(parsed.error()), std::move(remedy));
    }
    auto storage = std::make_unique<Storage>();
    Flattening(storage->records, storage->texts).add_root(parsed.table());
    storage->all = {storage->records.data(), storage->texts.data()};
    TomlDocument document;
    document.storage_.reset(storage.release());
    return document;
}

std::string_view TomlInput::text() const {
    const auto* text = std::get_if<std::string_view>(&input_);
    return text == nullptr ? std::string_view() : *text;
}

TomlNode TomlInput::parsed() const {
    const auto* root = std::get_if<TomlNode>(&input_);
    return root == nullptr ? TomlNode() : *root;
}

Span span_of(TomlPlace place, std::string_view text) {
    const auto line = std::max<std::uint32_t>(place.line, 1);
    if (text.empty()) return {static_cast<int>(line), static_cast<int>(std::max<std::uint32_t>(place.column, 1))};
    std::size_t begin = 0;
    for (std::uint32_t each = 1; each < line; ++each) {
        const std::size_t next = text.find('\n', begin);
        if (next == std::string_view::npos) break;
        begin = next + 1;
    }
    std::size_t byte = begin;
    for (std::uint32_t column = 1; column < place.column && byte < text.size() && text[byte] != '\n'; ++column) {
        ++byte;
        while (byte < text.size() && continues_character(text[byte])) ++byte;
    }
    return {static_cast<int>(line), static_cast<int>(byte - begin) + 1};
}

FileValue file_value(TomlNode node) {
    FileValue value;
    switch (node.kind()) {
        case TomlKind::whole:
            value.kind = FileValue::Kind::whole;
            value.whole = node.whole();
            value.real = node.number();
            break;
        case TomlKind::real:
            value.kind = FileValue::Kind::real;
            value.real = node.number();
            break;
        case TomlKind::flag:
            value.kind = FileValue::Kind::boolean;
            value.boolean = node.flag();
            break;
        case TomlKind::text:
            value.kind = FileValue::Kind::text;
            value.text = node.text();
            break;
        case TomlKind::list:
            value.kind = FileValue::Kind::list;
            for (const TomlNode item : node) value.items.push_back(file_value(item));
            break;
        case TomlKind::table:
            value.kind = FileValue::Kind::table;
            for (const TomlNode member : node)
                value.members.emplace_back(std::string(member.key()), file_value(member));
            break;
        case TomlKind::moment:
            break;
    }
    return value;
}

}  // namespace roofline::core
