// Reads a machine file table by table. Every key is requested by name, and unrequested keys are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "machine/plausible.hpp"
#include "text/toml.hpp"
#include "units/text.hpp"

namespace roofline::core {

/// The first error of a file by its position. Reading continues after an error.
class Problems {
public:
    struct Problem {
        toml::source_position at;  ///< columns count characters
        std::string code;
        std::string message;
        std::string hint;
    };

    void add(toml::source_position at, std::string code, std::string message, std::string hint = {});
    /// Returns whether an error at this position would be the first one; otherwise its message is not needed.
    [[nodiscard]] bool earlier(toml::source_position at) const;
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
    Reader(const toml::table& table, std::string what, Problems& problems, const Citations& citations);

    [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
    [[nodiscard]] bool has_text(std::string_view key) const { return table_[key].is_string(); }

    /// The string of a key; "" if the key is absent.
    std::string text(std::string_view key);
    std::string required_text(std::string_view key);
    /// One of `choices`; the first one if the key is absent.
    std::string choice(std::string_view key, const std::vector<std::string>& choices);
    std::vector<std::string> texts(std::string_view key);
    std::int64_t whole(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t otherwise);
    /// A shape: at most six sizes, each at least 1.
    std::vector<std::int64_t> shape(std::string_view key);
    /// Whole numbers from 1 to `most`, at most 256 of them.
    std::vector<std::int64_t> wholes(std::string_view key, std::int64_t most);
    /// A positive number or a list of them.
    std::vector<double> numbers(std::string_view key);
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
    /// The entries of an array of tables, [[memory]].
    [[nodiscard]] std::vector<Reader> each(std::string_view key);
    [[nodiscard]] std::vector<std::pair<std::string, Reader>> members();

    /// Reports the keys that were not requested.
    void finish();

    void fault(std::string_view key, std::string code, std::string message, std::string hint = {});
    /// Names a key in messages: "`value` of [[memory]]".
    [[nodiscard]] std::string of(std::string_view key) const;

private:
    const toml::node* find(std::string_view key);
    const toml::table* as_table(const toml::node& node, std::string_view key, std::string hint);
    std::optional<std::string> string_of(const toml::node& node, std::string_view key);
    std::optional<double> value_of(const toml::node& node, std::string_view key, const ValueReader& reader);
    std::vector<Alternative> alternatives(const ValueReader& reader);

    const toml::table& table_;
    std::string what_;
    Problems& problems_;
    const Citations& citations_;
    std::vector<std::string> known_;
};

}  // namespace roofline::core
