// Reads a machine file table by table. Every key is requested by name, and unrequested keys are errors.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "machine/plausible.hpp"
#include "text/toml_node.hpp"
#include "units/text.hpp"

namespace roofline::core {

/// The first error of a file by its position. Reading continues after an error.
class Problems {
public:
    struct Problem {
        TomlPlace at;
        std::string code;
        std::string message;
        std::string hint;
    };

    void add(TomlPlace at, std::string code, std::string message, std::string hint = {});
    /// Whether a problem at this place would be the first: a message that nobody sees need not be written.
    [[nodiscard]] bool earlier(TomlPlace at) const;
    [[nodiscard]] const std::optional<Problem>& first() const { return first_; }

private:
    std::optional<Problem> first_;
};

/// Citations by key: the file's own [sources], then the table that comes with the program. Any other text is itself a
/// citation.
class Citations {
public:
    void add(std::string key, std::string citation) { own_.emplace_back(std::move(key), std::move(citation)); }
    [[nodiscard]] std::string resolve(std::string_view source) const;

private:
    std::vector<std::pair<std::string, std::string>> own_;
};

/// How a figure's value is read: the parser of its unit, and its plausible range.
struct ValueReader {
    Result<double> (*parse)(std::string_view);
    Plausible plausible;
};

template <class Q>
ValueReader value_reader() {
    return {[](std::string_view text) -> Result<double> {
                ROOFLINE_TRY(const auto q, parse_quantity<Q>(text));
                return q.value;
            },
            plausible<Q>};
}

class Reader {
public:
    /// `what` names the table in messages: "[[memory]]".
    Reader(TomlNode table, std::string what, Problems& problems, const Citations& citations);

    [[nodiscard]] bool has(std::string_view key) const { return static_cast<bool>(table_.find(key)); }
    [[nodiscard]] bool has_text(std::string_view key) const {
        const TomlNode node = table_.find(key);
        return node && node.is(TomlKind::text);
    }

    /// The string of a key; "" if the key is absent.
    std::string text(std::string_view key);
    std::string required_text(std::string_view key);
    /// The string of a key, or a number as text; "" if the key is absent: an option of a command as a key.
    std::string word(std::string_view key);
    /// One of `choices`, else the first of them.
    std::string choice(std::string_view key, std::span<const std::string_view> choices);
    std::string choice(std::string_view key, std::initializer_list<std::string_view> choices) {
        return choice(key, std::span(choices.begin(), choices.size()));
    }
    std::vector<std::string> texts(std::string_view key);
    std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t otherwise);
    /// A shape: at most six sizes, each at least 1.
    std::vector<std::int64_t> shape(std::string_view key);
    /// Whole numbers from 1 to `most`, at most 256 of them.
    std::vector<std::int64_t> wholes(std::string_view key, std::int64_t most);
    /// A positive number or a list of them.
    std::vector<double> numbers(std::string_view key);
    /// A positive number.
    double number(std::string_view key, double otherwise);
    bool flag(std::string_view key);
    std::optional<Dtype> dtype(std::string_view key);
    char confidence();

    /// The figure whose keys (value, basis, source ...) are in this table.
    template <class Q>
    Figure<Q> figure() {
        Figure<Scalar> f = figure(value_reader<Q>());
        Figure<Q> result;
        if (f.value) result.value = Q{f.value->value};
        result.basis = f.basis;
        result.confidence = f.confidence;
        result.source = std::move(f.source);
        result.note = std::move(f.note);
        result.alternatives = std::move(f.alternatives);
        return result;
    }
    Figure<Scalar> figure(const ValueReader& reader);

    /// The figure that is a separate table: [memory.capacity].
    template <class Q>
    Figure<Q> figure_at(std::string_view key) {
        Figure<Q> result;
        if (auto reader = inner(key)) {
            result = reader->figure<Q>();
            reader->finish();
        }
        return result;
    }

    [[nodiscard]] std::optional<Reader> inner(std::string_view key);
    /// The entries of an array of tables, [[memory]]; of those the ones that are wanted.
    [[nodiscard]] std::vector<Reader> each(std::string_view key, const std::function<bool(TomlNode)>& wanted = {});
    [[nodiscard]] std::vector<std::pair<std::string, Reader>> members();

    /// Reports the keys that were not requested.
    void finish();

    void fault(std::string_view key, std::string code, std::string message, std::string hint = {});
    /// Names a key in messages: "`value` of [[memory]]".
    [[nodiscard]] std::string of(std::string_view key) const;

private:
    TomlNode find(std::string_view key);
    /// Whether it is one; else that is a fault.
    bool check_table(TomlNode node, std::string_view key, std::string (*hint)(std::string_view key));
    std::optional<std::string> string_of(TomlNode node, std::string_view key);
    std::optional<double> value_of(TomlNode node, std::string_view key, const ValueReader& reader);
    std::vector<Alternative> alternatives(const ValueReader& reader);

    TomlNode table_;
    std::string what_;
    Problems& problems_;
    const Citations& citations_;
    std::vector<bool> asked_;  ///< by the table's members: whether somebody asked for them
    std::string known_;        ///< all keys that were asked for, each followed by a line end; some more than once
};

}  // namespace roofline::core
