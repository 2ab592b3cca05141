// A TOML document after parsing: values in one array and texts in another, so that the build can write the program's
// own files down as constants (tools/embed_data.cpp) and readers walk them exactly as they walk a user's file parsed at
// run time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "text/source.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// Where a key or a value stands in its file; both count from 1, columns in characters.
struct TomlPlace {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    auto operator<=>(const TomlPlace&) const = default;
};

enum class TomlKind : std::uint8_t { table, list, text, whole, real, flag, moment };

/// One value. Indices are into the arrays of its document; the values inside a table or a list are neighbours, those of
/// a table in the order of their keys.
struct TomlRecord {
    TomlKind kind = TomlKind::table;
    std::uint32_t key = 0;  ///< where the key begins in the texts; without meaning in a list
    std::uint32_t key_size = 0;
    std::uint32_t first = 0;  ///< of a text its first byte, of a table or a list its first value
    std::uint32_t count = 0;  ///< of a text its bytes, of a table or a list its values
    TomlPlace key_place{};
    TomlPlace place{};
    std::uint64_t bits = 0;  ///< of a whole number, a real one or a flag
};

/// The arrays of one document or of several.
struct TomlRecords {
    const TomlRecord* records = nullptr;
    const char* texts = nullptr;
};

/// A value of a document, which outlives it. One without a record, as a search that finds nothing returns it, is false;
/// nothing else may be asked of it.
class TomlNode {
public:
    constexpr TomlNode() = default;
    constexpr TomlNode(const TomlRecords& all, std::size_t index) : record_(all.records + index), all_(&all) {}

    explicit operator bool() const { return record_ != nullptr; }
    [[nodiscard]] TomlKind kind() const { return record_->kind; }
    [[nodiscard]] bool is(TomlKind kind) const { return record_->kind == kind; }
    [[nodiscard]] bool is_number() const { return is(TomlKind::whole) || is(TomlKind::real); }
    [[nodiscard]] TomlPlace place() const { return record_->place; }

    /// Of a member of a table.
    [[nodiscard]] std::string_view key() const { return {all_->texts + record_->key, record_->key_size}; }
    [[nodiscard]] TomlPlace key_place() const { return record_->key_place; }

    /// Of a text; "" of anything else.
    [[nodiscard]] std::string_view text() const;
    /// Of a whole number or a flag.
    [[nodiscard]] std::int64_t whole() const { return static_cast<std::int64_t>(record_->bits); }
    [[nodiscard]] bool flag() const { return record_->bits != 0; }
    /// As the record keeps it; 0 of anything but a number or a flag.
    [[nodiscard]] std::uint64_t bits() const { return record_->bits; }
    /// Of a number of either kind.
    [[nodiscard]] double number() const;

    /// Of a table or a list how many values it has; 0 of anything else.
    [[nodiscard]] std::size_t size() const { return holds_values() ? record_->count : 0; }
    [[nodiscard]] TomlNode operator[](std::size_t i) const { return {*all_, record_->first + i}; }
    /// Which value of the table or the list it is.
    [[nodiscard]] std::size_t index_in(const TomlNode& outer) const {
        return static_cast<std::size_t>(record_ - all_->records) - outer.record_->first;
    }
    /// The member of a table with that key; none of anything else.
    [[nodiscard]] TomlNode find(std::string_view key) const;

    class Iterator;
    [[nodiscard]] Iterator begin() const;
    [[nodiscard]] Iterator end() const;

private:
    [[nodiscard]] bool holds_values() const { return is(TomlKind::table) || is(TomlKind::list); }

    const TomlRecord* record_ = nullptr;
    const TomlRecords* all_ = nullptr;
};

/// Over the values of a table or a list.
class TomlNode::Iterator {
public:
    Iterator(const TomlNode& outer, std::size_t at) : outer_(outer), at_(at) {}
    TomlNode operator*() const { return outer_[at_]; }
    Iterator& operator++() {
        ++at_;
        return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

private:
    TomlNode outer_;
    std::size_t at_;
};

inline TomlNode::Iterator TomlNode::begin() const { return {*this, 0}; }
inline TomlNode::Iterator TomlNode::end() const { return {*this, size()}; }

/// A text of TOML, parsed. Holds its nodes.
class TomlDocument {
public:
    /// An empty table.
    TomlDocument();
    /// Errors, with line and column: `toml` what is not TOML, for which `remedy` is the hint; `too_large`, `not_text`
    /// and
    /// `too_deep` (toml_guard.hpp).
    [[nodiscard]] static Result<TomlDocument> parse(const Source& source, std::string remedy = {});

    [[nodiscard]] TomlNode root() const;

private:
    struct Storage;
    struct Deleter {
        void operator()(const Storage* storage) const;
    };
    std::unique_ptr<const Storage, Deleter> storage_;
};

/// What a reader of files is given: a text, or a file that comes with the program, which the build has parsed.
class TomlInput {
public:
    // NOLINTBEGIN(google-explicit-constructor): every caller has a text or a file of the program
    TomlInput(std::string_view text) : input_(text) {}
    TomlInput(const std::string& text) : input_(std::string_view(text)) {}
    TomlInput(const char* text) : input_(std::string_view(text)) {}
    TomlInput(TomlNode root) : input_(root) {}
    // NOLINTEND(google-explicit-constructor)

    /// "" for a file of the program.
    [[nodiscard]] std::string_view text() const;
    /// Of a file of the program.
    [[nodiscard]] TomlNode parsed() const;

private:
    std::variant<std::string_view, TomlNode> input_;
};

/// Where a key or a value stands, with the column in bytes. In a text that is not there the place is as it was.
[[nodiscard]] Span span_of(TomlPlace place, std::string_view text);

/// The value and all in it as of the same kind as values of JSON.
[[nodiscard]] FileValue file_value(TomlNode node);

}  // namespace roofline::core
