// The answer of `roofline measure import`: the imported values next to those that they replace.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "machine/imported_figure.hpp"
#include "report/format.hpp"

namespace roofline::core {

struct ImportView {
    std::string id;
    std::string name;
    std::string base;    ///< name of the machine that all other values come from; "" if there is none
    std::string output;  ///< the file that is written; "" if none is
    std::size_t files = 0;
    std::vector<ImportedFigure> taken;
    std::vector<std::string> notes;
};

[[nodiscard]] std::string import_view(const ImportView& view, Format format);

}  // namespace roofline::core
