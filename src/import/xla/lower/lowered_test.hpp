// Programs made of HLO text, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/hlo_text.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// A program made of HLO text, and its work.
struct Lowered {
    ImportedProgram imported;
    ProgramWork work;

    [[nodiscard]] double value(const Polynomial& polynomial) const {
        const auto number = polynomial.evaluate(imported.program.sizes);
        return number ? number->to_double() : -1;
    }
    [[nodiscard]] double matmul_flops() const { return value(work.total.flops(Unit::matmul)); }
    [[nodiscard]] double vector_flops() const { return value(work.total.flops(Unit::vector)); }
    [[nodiscard]] double read() const { return value(traffic().read); }
    [[nodiscard]] double written() const { return value(traffic().write); }

private:
    [[nodiscard]] Traffic traffic() const {
        const auto found = work.total.memory.find("hbm");
        return found == work.total.memory.end() ? Traffic{} : found->second;
    }
};

inline Result<ImportedProgram> import_hlo(const std::string& text, const ImportOptions& options = {}) {
    ROOFLINE_TRY(const auto module, read_hlo_text(text, "m.hlo"));
    XlaCostOptions costs;
    costs.multiply_loops = costs.price_custom_calls = true;
    costs.unknown = 0;
    ROOFLINE_TRY(const auto cost, xla_cost(module, costs));
    return lower_module(module, cost, "m.hlo", options);
}

inline Lowered lowered(const std::string& text, const ImportOptions& options = {}) {
    auto imported = import_hlo(text, options);
    REQUIRE_MESSAGE(imported, imported.error().message);
    Lowered result{std::move(*imported), {}};
    auto work = derive_work(result.imported.program);
    REQUIRE_MESSAGE(work, work.error().message);
    result.work = std::move(*work);
    return result;
}

inline std::string entry(const std::string& body) { return "HloModule m\nENTRY e {\n" + body + "}\n"; }

}  // namespace roofline::core
