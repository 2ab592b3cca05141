// Interface of the readers for each kind of row in a table of timed kernels.
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

/// The reader of one kind of row. It returns what the row computes, or an empty program with a reason in `skip`.
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
    /// A number from an existing column; an empty field is a reason to skip the row.
    Result<std::int64_t> whole(std::string_view column, std::string& skip) const {
        const auto value = fields_.whole(*find_column(columns_, {column}));
        if (value && *value == 0 && skip.empty()) skip = fmt::format("{} is empty", column);
        return value;
    }
    /// The notation's name of a dtype, or "" with a reason if there is none.
    [[nodiscard]] static std::string dtype(std::string_view text, std::string& skip) {
        if (const auto found = find_dtype(text)) return std::string(name(*found));
        if (skip.empty()) skip = fmt::format("the dtype {} is unknown", in_ticks(text));
        return "";
    }

    const std::vector<std::string>& columns_;
    TableFields fields_;
};

/// Returns " using bf16" where XLA multiplies operands of a row's dtype in one pass of bf16: matmuls in f32 on TPUs, at
/// JAX's default precision. "" elsewhere.
[[nodiscard]] std::string default_passes(const MeasuredKernel& row, std::string_view dtype);

/// Returns the dtype of an attention operand as it is multiplied: f16 on TPUs is bf16, in one pass and with as many
/// bytes.
[[nodiscard]] std::string multiplied_dtype(const MeasuredKernel& row, std::string_view dtype);

/// Reader of matmul rows; kernel_table.hpp lists the columns.
[[nodiscard]] std::unique_ptr<KernelReader> product_reader(CsvReader& reader);
/// Reader of attention rows.
[[nodiscard]] std::unique_ptr<KernelReader> attention_reader(CsvReader& reader);
/// Reader of expert layers.
[[nodiscard]] std::unique_ptr<KernelReader> expert_reader(CsvReader& reader);

/// Reader of rows without a matmul, and of LM heads with cross-entropy loss.
[[nodiscard]] std::unique_ptr<KernelReader> elementwise_reader(CsvReader& reader);

/// A quantised format of tables: the dtypes of the multiplication.
struct Quantised {
    std::string_view name;
    /// Activations are first quantised to this dtype by a separate kernel; "" if they are not.
    std::string_view activations;
    std::string_view weights;
    std::string_view variant{};  ///< of the kernels, if one dtype has several
};
[[nodiscard]] const Quantised* find_quantised(std::string_view name);

}  // namespace roofline::core
