// What reads one kind of rows of a table of timed kernels.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "import/kernel_table.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Of a row's kind: what it computes. Empty, with a reason in `skip`, when it cannot be said.
class KernelReader {
public:
    explicit KernelReader(CsvReader& reader) : columns_(reader.header()), fields_(reader) {}
    virtual ~KernelReader() = default;
    KernelReader(const KernelReader&) = delete;
    KernelReader& operator=(const KernelReader&) = delete;

    virtual Status read(MeasuredKernel& row, std::string& skip) = 0;

protected:
    [[nodiscard]] std::string_view text(std::string_view column) const {
        return fields_.text(find_column(columns_, {column}));
    }
    /// Of a column that is there; an empty field is a reason to skip the row.
    Result<std::int64_t> whole(std::string_view column, std::string& skip) const {
        const auto value = fields_.whole(*find_column(columns_, {column}));
        if (value && *value == 0 && skip.empty()) skip = fmt::format("{} is empty", column);
        return value;
    }
    /// The notation's name of a dtype, "" and a reason for one that there is not.
    [[nodiscard]] static std::string dtype(std::string_view text, std::string& skip) {
        if (const auto found = find_dtype(text)) return std::string(name(*found));
        if (skip.empty()) skip = fmt::format("the dtype {} is not known", in_ticks(text));
        return "";
    }

    const std::vector<std::string>& columns_;
    TableFields fields_;
};

/// Attention: kernel_table.hpp has the columns.
[[nodiscard]] std::unique_ptr<KernelReader> attention_reader(CsvReader& reader);
/// Layers of experts.
[[nodiscard]] std::unique_ptr<KernelReader> expert_reader(CsvReader& reader);

/// How tables call operands that were quantised: the dtypes that are multiplied.
struct Quantised {
    std::string_view name;
    std::string_view activations;  ///< are quantised first, a kernel of their own; "" where they stay as they are
    std::string_view weights;
    std::string_view variant{};  ///< of the kernels, where one dtype has several
};
[[nodiscard]] const Quantised* find_quantised(std::string_view name);

}  // namespace roofline::core
