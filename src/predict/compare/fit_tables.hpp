// Calibrations from tables of measurements: kernels, collectives, exchanges with experts, servers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "calibrate/exchange/fit_exchanges.hpp"
#include "calibrate/kernel/fit_kernel_laws.hpp"
#include "calibrate/server/server_law.hpp"
#include "import/nccl_tests.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// A file of measurements by its name and contents.
struct TableText {
    std::string name;
    std::string text;
};

/// Tables to which a calibration is fitted.
struct FitQuestion {
    std::vector<TableText> tables;   ///< CSV files, or what nccl-tests printed
    std::optional<MeasuredOn> on{};  ///< what all tables were measured on, whatever they say
    NcclHints hints{};               ///< what nccl-tests do not say of themselves
    bool strict = false;             ///< a cell that is no number costs the table, not its row
    std::string date{};              ///< of the fit, "2026-01-31"; "" when it is not to be said
};

/// What was fitted to kernels, collectives and exchanges with experts.
struct TablesFit {
    CollectiveFit fit;                                          ///< its calibrations have all laws
    ExchangeFit exchanges;                                      ///< the counts; its calibrations are in `fit`
    KernelLawsFit kernels;                                      ///< the counts; its calibrations are in `fit`
    std::vector<std::pair<std::string, std::int64_t>> skipped;  ///< rows that lack something, by reason, most first
    std::vector<std::string> files;                             ///< that are written
    int kinds = 0;                                              ///< of measurements that the tables hold
};

/// Errors: a table whose columns are those of no kind that is known; text that is no table, with line and column.
[[nodiscard]] Result<TablesFit> fit_tables(const FitQuestion& question);

/// What was fitted to served models.
struct ServersFit {
    ServerLaws laws;
    std::vector<std::pair<std::string, std::int64_t>> skipped;  ///< rows that say too little, by reason, most first
    std::string file;                                           ///< that is written; "" for none
};

/// Whether all tables are of served models.
[[nodiscard]] bool are_serving_tables(const std::vector<TableText>& tables);

/// Errors: those of fit_tables().
[[nodiscard]] Result<ServersFit> fit_serving_tables(const FitQuestion& question);

}  // namespace roofline::core
