#include "text/checked_toml.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/utf8.hpp"

namespace roofline::core {

namespace {

/// A value while its document is read: its members are not neighbours yet.
struct ReadValue {
    TomlRecord record;
    std::vector<std::uint32_t> members;
};

class CheckedReader {
public:
    explicit CheckedReader(std::string_view text) : text_(text) {
        texts_.reserve(text.size());
        values_.reserve(text.size() / 16 + 1);
        values_.emplace_back().record.place = {1, 1};
    }

    bool read() {
        std::uint32_t table = 0;
        for (skip_blank(); at_ < text_.size(); skip_blank()) {
            if (text_[at_] == '[' ? !header(table) : !pair(table)) return false;
            skip_spaces();
            if (at_ < text_.size() && text_[at_] != '#' && text_[at_] != '\n' && text_[at_] != '\r') return false;
        }
        return true;
    }

    /// Returns the records as TomlDocument has them: members are neighbours, those of a table in the order of keys.
    std::vector<TomlRecord> records() {
        std::vector<TomlRecord> out;
        out.reserve(values_.size());
        out.emplace_back();
        put(out, 0, 0);
        return out;
    }

    std::vector<char> texts() { return std::move(texts_); }

private:
    static constexpr int deepest = 32;

    struct Key {
        std::uint32_t begin = 0;  ///< in texts_
        std::uint32_t size = 0;
        TomlPlace place{};
    };

    [[nodiscard]] bool next_is(std::string_view what) const { return text_.substr(at_).starts_with(what); }

    /// Columns count characters.
    TomlPlace here() {
        for (; counted_ < at_; ++counted_) {
            if (text_[counted_] == '\n') {
                ++place_.line;
                place_.column = 1;
            } else if (!continues_character(text_[counted_])) {
                ++place_.column;
            }
        }
        return place_;
    }

    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }

    /// Skips white space, comments and ends of lines.
    void skip_blank() {
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '#') {
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
                if (at_ == text_.size()) return;
            } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
                return;
            }
        }
    }

    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    std::uint32_t add(TomlKind kind, TomlPlace place) {
        ReadValue& value = values_.emplace_back();
        value.record.kind = kind;
        value.record.place = place;
        return static_cast<std::uint32_t>(values_.size() - 1);
    }

    [[nodiscard]] std::string_view key_of(const TomlRecord& record) const {
        return {texts_.data() + record.key, record.key_size};
    }

    /// The member of a table with that key, or 0, which is the root and a member of nothing.
    [[nodiscard]] std::uint32_t find(std::uint32_t table, const Key& key) const {
        const std::string_view name{texts_.data() + key.begin, key.size};
        for (const std::uint32_t member : values_[table].members) {
            if (key_of(values_[member].record) == name) return member;
        }
        return 0;
    }

    void insert(std::uint32_t table, const Key& key, std::uint32_t value) {
        TomlRecord& record = values_[value].record;
        record.key = key.begin;
        record.key_size = key.size;
        record.key_place = key.place;
        values_[table].members.push_back(value);
    }

    std::uint32_t insert_new(std::uint32_t table, const Key& key, TomlKind kind, TomlPlace place) {
        const std::uint32_t value = add(kind, place);
        insert(table, key, value);
        return value;
    }

    /// The table that a part of a header or of a dotted key names: the last one of a list of tables.
    std::uint32_t inner(std::uint32_t table, const Key& key, TomlPlace place) {
        const std::uint32_t known = find(table, key);
        if (known == 0) return insert_new(table, key, TomlKind::table, place);
        const ReadValue& value = values_[known];
        if (value.record.kind == TomlKind::table) return known;
        if (value.record.kind != TomlKind::list || value.members.empty()) return 0;
        const std::uint32_t last = value.members.back();
        return values_[last].record.kind == TomlKind::table ? last : 0;
    }

    bool header(std::uint32_t& table) {
        const TomlPlace place = here();
        const bool list = next_is("[[");
        at_ += list ? 2 : 1;
        table = 0;
        Key key;
        for (skip_spaces(); read_key(key); skip_spaces()) {
            skip_spaces();
            if (!take('.')) {
                if (!take(']') || (list && !take(']'))) return false;
                return list ? open_entry(table, key, place) : open_table(table, key, place);
            }
            table = inner(table, key, place);
            if (table == 0) return false;
        }
        return false;
    }

    bool open_entry(std::uint32_t& table, const Key& key, TomlPlace place) {
        std::uint32_t list = find(table, key);
        if (list == 0) list = insert_new(table, key, TomlKind::list, place);
        if (values_[list].record.kind != TomlKind::list) return false;
        table = add(TomlKind::table, place);
        values_[list].members.push_back(table);
        return true;
    }

    bool open_table(std::uint32_t& table, const Key& key, TomlPlace place) {
        const std::uint32_t known = find(table, key);
        table = known == 0 ? insert_new(table, key, TomlKind::table, place) : known;
        values_[table].record.place = place;
        return values_[table].record.kind == TomlKind::table;
    }

    /// A pair of a table, or of one in it where the key has dots.
    bool pair(std::uint32_t table, int depth = 0) {
        Key key;
        for (;;) {
            if (!read_key(key)) return false;
            skip_spaces();
            if (take('=')) break;
            if (!take('.')) return false;
            table = inner(table, key, key.place);
            if (table == 0) return false;
            skip_spaces();
        }
        skip_spaces();
        std::uint32_t made = 0;
        if (find(table, key) != 0 || !value(made, depth)) return false;
        insert(table, key, made);
        return true;
    }

    bool read_key(Key& key) {
        key.place = here();
        key.begin = static_cast<std::uint32_t>(texts_.size());
        if (at_ < text_.size() && text_[at_] == '"') {
            ++at_;
            if (!line()) return false;
        } else {
            const std::size_t begin = at_;
            while (at_ < text_.size() && is_bare(text_[at_])) ++at_;
            if (at_ == begin) return false;
            append(begin, at_);
        }
        key.size = static_cast<std::uint32_t>(texts_.size()) - key.begin;
        return true;
    }

    static bool is_bare(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    }

    bool value(std::uint32_t& made, int depth) {
        if (at_ >= text_.size() || depth > deepest) return false;
        const TomlPlace place = here();
        switch (text_[at_]) {
            case '"':
                made = add(TomlKind::text, place);
                return text(made);
            case '\'':
                made = add(TomlKind::text, place);
                return literal(made);
            case '[':
                made = add(TomlKind::list, place);
                return list(made, depth);
            case '{':
                made = add(TomlKind::table, place);
                return inline_table(made, depth);
            case 't':
            case 'f':
                made = add(TomlKind::flag, place);
                return flag(made);
            default:
                made = add(TomlKind::whole, place);
                return number(made);
        }
    }

    bool text(std::uint32_t made) {
        const auto begin = static_cast<std::uint32_t>(texts_.size());
        const bool several = next_is("\"\"\"");
        at_ += several ? 3 : 1;
        if (several ? !lines() : !line()) return false;
        values_[made].record.first = begin;
        values_[made].record.count = static_cast<std::uint32_t>(texts_.size()) - begin;
        return true;
    }

    /// A string in single quotes, without anything escaped.
    bool literal(std::uint32_t made) {
        const std::size_t end = text_.find_first_of("'\n", ++at_);
        if (next_is("''") || end == std::string_view::npos || text_[end] != '\'') return false;
        values_[made].record.first = append(at_, end);
        values_[made].record.count = static_cast<std::uint32_t>(end - at_);
        at_ = end + 1;
        return true;
    }

    /// Takes a part of the text over and returns where it is.
    std::uint32_t append(std::size_t begin, std::size_t end) {
        const auto place = static_cast<std::uint32_t>(texts_.size());
        texts_.insert(texts_.end(), text_.begin() + static_cast<std::ptrdiff_t>(begin),
                      text_.begin() + static_cast<std::ptrdiff_t>(end));
        return place;
    }

    /// The rest of a string in one line.
    bool line() {
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') return true;
            if (c == '\n') return false;
            if (c == '\\' ? !escaped() : (texts_.push_back(c), false)) return false;
        }
        return false;
    }

    /// The rest of a string in several lines.
    bool lines() {
        take('\n');  // of the line with the quotes
        while (at_ < text_.size()) {
            if (next_is("\"\"\"")) {
                at_ += 3;
                return at_ == text_.size() || text_[at_] != '"';
            }
            const char c = text_[at_++];
            if (c == '\r') return false;
            if (c == '\\' && at_ < text_.size() && text_[at_] == '\n') {
                while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
            } else if (c == '\\' ? !escaped() : (texts_.push_back(c), false)) {
                return false;
            }
        }
        return false;
    }

    bool escaped() {
        constexpr std::array<std::pair<char, char>, 4> known{{{'"', '"'}, {'\\', '\\'}, {'n', '\n'}, {'t', '\t'}}};
        if (at_ >= text_.size()) return false;
        const char c = text_[at_++];
        for (const auto& [name, sign] : known) {
            if (c != name) continue;
            texts_.push_back(sign);
            return true;
        }
        return false;
    }

    bool list(std::uint32_t made, int depth) {
        ++at_;
        for (skip_blank(); !take(']'); skip_blank()) {
            std::uint32_t item = 0;
            if (!value(item, depth + 1)) return false;
            values_[made].members.push_back(item);
            skip_blank();
            if (take(',')) continue;
            return take(']');
        }
        return true;
    }

    bool inline_table(std::uint32_t made, int depth) {
        ++at_;
        skip_spaces();
        if (take('}')) return true;
        for (;; skip_spaces()) {
            if (!pair(made, depth + 1)) return false;
            skip_spaces();
            if (take('}')) return true;
            if (!take(',')) return false;
            skip_spaces();
        }
    }

    bool flag(std::uint32_t made) {
        const bool is = next_is("true");
        if (!is && !next_is("false")) return false;
        at_ += is ? 4 : 5;
        values_[made].record.bits = is ? 1 : 0;
        return true;
    }

    bool number(std::uint32_t made) {
        const std::size_t end = std::min(text_.find_first_of(",]}# \t\r\n", at_), text_.size());
        std::string_view digits = text_.substr(at_, end - at_);
        if (digits.starts_with('+')) digits.remove_prefix(1);
        const bool real = digits.find_first_of(".eE") != std::string_view::npos;
        const char* const last = digits.data() + digits.size();
        TomlRecord& record = values_[made].record;
        if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return false;
        if (real) {
            double number = 0;
            const auto [stop, error] = std::from_chars(digits.data(), last, number);
            if (stop != last || error != std::errc()) return false;
            record.kind = TomlKind::real;
            record.bits = std::bit_cast<std::uint64_t>(number);
        } else {
            std::int64_t number = 0;
            const auto [stop, error] = std::from_chars(digits.data(), last, number);
            if (stop != last || error != std::errc()) return false;
            record.bits = static_cast<std::uint64_t>(number);
        }
        at_ = end;
        return true;
    }

    void put(std::vector<TomlRecord>& out, std::size_t place, std::uint32_t from) {
        ReadValue& value = values_[from];
        TomlRecord record = value.record;
        if (record.kind == TomlKind::table || record.kind == TomlKind::list) {
            record.first = static_cast<std::uint32_t>(out.size());
            record.count = static_cast<std::uint32_t>(value.members.size());
            out.resize(out.size() + value.members.size());
        }
        out[place] = record;
        if (record.kind == TomlKind::table) {
            std::sort(value.members.begin(), value.members.end(), [this](std::uint32_t a, std::uint32_t b) {
                return key_of(values_[a].record) < key_of(values_[b].record);
            });
        }
        for (std::size_t i = 0; i < value.members.size(); ++i) put(out, record.first + i, value.members[i]);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t counted_ = 0;  ///< up to where place_ has been counted
    TomlPlace place_{1, 1};
    std::vector<ReadValue> values_;
    std::vector<char> texts_;
};

}  // namespace

std::optional<CheckedToml> CheckedToml::read(std::string_view text) {
    CheckedReader reader(text);
    if (!reader.read()) return std::nullopt;
    CheckedToml document;
    document.records_ = reader.records();
    document.texts_ = reader.texts();
    document.all_ = std::make_unique<TomlRecords>(TomlRecords{document.records_.data(), document.texts_.data()});
    return document;
}

bool same_toml(TomlNode a, TomlNode b) {
    if (a.kind() != b.kind() || a.place() != b.place() || a.bits() != b.bits() || a.text() != b.text() ||
        a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a.is(TomlKind::table) && (a[i].key() != b[i].key() || a[i].key_place() != b[i].key_place())) return false;
        if (!same_toml(a[i], b[i])) return false;
    }
    return true;
}

}  // namespace roofline::core
