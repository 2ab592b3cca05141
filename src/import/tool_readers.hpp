// The readers behind read_tool_figures(), one for each tool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/tool_figures.hpp"
#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

[[nodiscard]] bool is_rocprof_table(const std::vector<std::string>& columns);
[[nodiscard]] Result<ToolFigures> read_rocprof_table(CsvReader& reader);

[[nodiscard]] bool is_babelstream_table(const std::vector<std::string>& columns);
[[nodiscard]] Result<ToolFigures> read_babelstream_table(CsvReader& reader);

/// `root` is the parsed JSON of `text`.
[[nodiscard]] bool is_ert(const FileValue& root);
[[nodiscard]] Result<ToolFigures> read_ert(const FileValue& root, std::string_view text, const std::string& source);

[[nodiscard]] bool is_likwid_bench(std::string_view text);
[[nodiscard]] Result<ToolFigures> read_likwid_bench(TextReader& reader);

[[nodiscard]] bool is_stream_text(std::string_view text);
[[nodiscard]] Result<ToolFigures> read_stream_text(TextReader& reader);

/// Why a value in FLOP/s or bytes/s is implausible for one chip; "" if it is plausible.
[[nodiscard]] std::string implausible(const ToolFigure& figure);

}  // namespace roofline::core
