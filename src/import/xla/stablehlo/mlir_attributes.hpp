// Attributes of MLIR, and how HLO writes what they say.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "import/xla/stablehlo/mlir_scanner.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Takes a dictionary, `{a = 1 : i64, "b", c = dense<0> : tensor<2xi64>}`, and appends its entries; an entry without a
/// value has the value "". Errors: no key, a bracket that is not closed.
[[nodiscard]] Status take_mlir_dictionary(MlirScanner& scanner, std::vector<XlaAttribute>& entries);

/// The entries of a dictionary that has been taken as a group already; empty if it cannot be read.
[[nodiscard]] std::vector<XlaAttribute> mlir_dictionary(std::string_view group);

/// The value of a key at the top of `#stablehlo.gather<offset_dims = [2], index_vector_dim = 1>` or of a dictionary; ""
/// if it is not there.
[[nodiscard]] std::string_view mlir_field(std::string_view value, std::string_view key);

/// `1 : i64` without its type.
[[nodiscard]] std::string_view without_mlir_type(std::string_view value);

/// `#stablehlo<comparison_direction LT>`, or only `LT`: the last word of it.
[[nodiscard]] std::string_view mlir_enum(std::string_view value);

/// A string without its quotation marks; "" if the value is no string.
[[nodiscard]] std::string_view mlir_string(std::string_view value);

/// Numbers in one row, or in `rows` of equal length.
struct MlirNumbers {
    std::vector<std::int64_t> values;
    std::optional<std::size_t> rows;  ///< nothing if they are in one row
};

/// The numbers of `[1, 0]`, `[[1, 2], [0, 1]]`, `array<i64: 1, 0>`, or `dense<...> : tensor<4x2xi64>`, also where all
/// are the same (`dense<0>`) or written in hexadecimal. Truth values are 0 and 1. Nothing if it is anything else, or if
/// there are more than 256 of the same.
[[nodiscard]] std::optional<MlirNumbers> mlir_numbers(std::string_view value);

/// Writes in HLO's notation, and keeps what is written; the same text is kept once.
class HloNotation {
public:
    explicit HloNotation(std::deque<std::string>& spoken) : spoken_(spoken) {}

    /// Keeps a text.
    [[nodiscard]] std::string_view keep(std::string text);
    [[nodiscard]] std::string_view number(std::uint64_t number);
    /// `[1, 0]` is `{1,0}`, and `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>` is `{{0,1},{2,3}}`; the value itself if it
    /// holds no numbers.
    [[nodiscard]] std::string_view braces(std::string_view value);
    [[nodiscard]] std::string_view braces(const std::vector<std::int64_t>& numbers);
    /// `"a\22b"` is `"a\"b"`; the value has quotation marks.
    [[nodiscard]] std::string_view string(std::string_view value);
    /// Entries `key="value"` for frontend_attributes: strings as they are, and anything else as a string.
    void add_frontend(std::string& list, std::string_view key, std::string_view value) const;

private:
    std::deque<std::string>& spoken_;
    std::vector<std::string_view> numbers_;
    std::unordered_map<std::string_view, std::string_view> braces_;
    std::unordered_map<std::string_view, std::string_view> kept_;
};

}  // namespace roofline::core
