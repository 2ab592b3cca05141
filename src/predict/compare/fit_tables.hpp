// Calibrations fitted to tables of measurements: kernels, collectives, expert dispatch and combine, servers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "calibrate/exchange/fit_exchanges.hpp"
#include "calibrate/kernel/fit_kernel_models.hpp"
#include "calibrate/pass/pass_model.hpp"
#include "calibrate/server/server_model.hpp"
#include "import/nccl_tests.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

/// Name and contents of a file with measurements.
struct TableText {
    std::string name;
    std::string text;
};

/// The measurements of tables and profiles as they are fitted to.
struct TableSamples {
    std::vector<CollectiveSample> collectives;
    std::vector<ExchangeSample> exchanges;
    std::vector<KernelSample> kernels;
};

/// Numbers of measurements that are left out, by reason.
using Reasons = std::map<std::string, std::int64_t>;

/// Tables to which a calibration is fitted.
struct FitQuestion {
    std::vector<TableText> tables;       ///< CSV files or output of nccl-tests
    std::optional<SystemOverride> on{};  ///< machine of all tables, which overrides what they say
    NcclHints hints{};                   ///< what the output of nccl-tests does not contain
    bool strict = false;         ///< reject a table with a cell that is not a number, instead of skipping its row
    std::string date{};          ///< of the fit, "2026-01-31"; "" to omit it
    TableSamples recorded{};     ///< measurements of recorded profiles, beside those of the tables
    Reasons recorded_skipped{};  ///< of those that nothing is fitted to
};

/// Models fitted to kernels, collectives, and expert dispatch and combine.
struct TablesFit {
    CollectiveFit fit;        ///< its calibrations contain all models
    ExchangeFit exchanges;    ///< counts only; its calibrations are in `fit`
    KernelModelsFit kernels;  ///< counts only; its calibrations are in `fit`
    /// Rows with missing data, by reason, the most frequent first.
    std::vector<std::pair<std::string, std::int64_t>> skipped;
    std::vector<std::string> files;  ///< names of the files to be written
    int kinds = 0;                   ///< number of kinds of measurements in the tables
};

/// Fits models to tables of measurements. Errors: the columns of a table match no known kind; the text is not a table,
/// with line and column.
[[nodiscard]] Result<TablesFit> fit_tables(const FitQuestion& question);

/// Server models fitted to measurements of served models.
struct ServersFit {
    ServerModels models;
    /// Rows with insufficient data, by reason, the most frequent first.
    std::vector<std::pair<std::string, std::int64_t>> skipped;
    std::string file;  ///< name of the file to be written; "" for none
};

/// Returns whether all tables contain measurements of served models.
[[nodiscard]] bool are_serving_tables(const std::vector<TableText>& tables);

/// Fits server models to tables of served models. Errors: those of fit_tables().
[[nodiscard]] Result<ServersFit> fit_serving_tables(const FitQuestion& question);

/// Forward-pass models fitted to measurements of llama.cpp's benchmark.
struct PassesFit {
    PassModels models;
    /// Rows with insufficient data, by reason, the most frequent first.
    std::vector<std::pair<std::string, std::int64_t>> skipped;
    std::string file;  ///< name of the file to be written; "" for none
};

/// Returns whether all tables contain measurements of forward passes.
[[nodiscard]] bool are_pass_tables(const std::vector<TableText>& tables);

/// Fits forward-pass models, with the families of the built-in ones. Errors: those of fit_tables().
[[nodiscard]] Result<PassesFit> fit_pass_tables(const FitQuestion& question);

}  // namespace roofline::core
