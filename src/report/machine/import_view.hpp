// What `roofline measure import` answers: which figures were taken over, beside those that they replace.
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
    std::string base;    ///< the name of the machine that the other figures come from; "" without one
    std::string output;  ///< the file that is written; "" when none is
    std::size_t files = 0;
    std::vector<ImportedFigure> taken;
    std::vector<std::string> notes;
};

[[nodiscard]] std::string import_view(const ImportView& view, Format format);

}  // namespace roofline::core
