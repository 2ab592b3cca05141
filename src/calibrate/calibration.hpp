// The calibration of a machine: models fitted to measurements, with the provenance of the measurements and the errors
// of the fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/collective/collective_model.hpp"
#include "calibrate/exchange/exchange_model.hpp"
#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_kinds.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// What a collective model is valid for. Algorithm, launch mode and library are part of the key, because parameters
/// fitted to one of them do not transfer to another.
struct CollectiveKey {
    std::string system;  ///< name of data/systems.toml: "h100-sxm", "h100-aws-p5"
    std::string tiers;   ///< network tiers that the group spans, innermost first: "nvlink", "nvlink+ib"
    CollectiveKind kind = CollectiveKind::all_gather;
    std::string software;  ///< "nccl 2.29.2"; "" if the tables do not specify it
    std::string variant;   ///< "custom graph"; "" for the default of the library
    std::string dtypes;    ///< of a collective with a reduction: "integer" or "float"; "" for any

    auto operator<=>(const CollectiveKey&) const = default;
};

/// The innermost tier of the group. The fractions of a model refer to its rate.
struct CollectiveLink {
    std::string topology;     ///< "switch"
    std::int64_t domain = 0;  ///< number of chips that it connects
    double bytes_per_s = 0;   ///< per direction

    bool operator==(const CollectiveLink&) const = default;
};

/// The error of a collective model: mean of |predicted - measured| / measured.
struct FitErrors {
    double fitted = 0;              ///< on the measurements it was fitted to
    double sizes = 0;               ///< held-out: one fifth of the sizes at a time
    std::optional<double> members;  ///< held-out: one number of members at a time
    /// On all measurements, predicted by models of other machines with the same link rate.
    std::optional<double> relative;
    std::optional<double> far;  ///< on all measurements, predicted by models of machines with other link rates
    /// Of this model on measurements of others: of other systems if the group spans several nodes, of other machines on
    /// a torus. Each of these systems or machines has the same weight. Other models do not have it.
    std::optional<double> elsewhere;

    bool operator==(const FitErrors&) const = default;
};

/// A collective model with the measurements that it was fitted to and its errors.
struct CalibratedCollective {
    CollectiveKey key;
    CollectiveLink link;
    CollectiveModel model;
    std::vector<std::int64_t> members;  ///< numbers of members in the measurements, ascending
    double least_bytes = 0;             ///< range of the measured buffer sizes
    double most_bytes = 0;
    std::int64_t rows = 0;  ///< number of measurements it was fitted to
    /// Number of measurements that must be wrong: they deviate from their neighbours by more than a factor of 30,
    /// or are faster than the links allow.
    std::int64_t left_out = 0;
    std::vector<std::string> sources;
    FitErrors errors;

    bool operator==(const CalibratedCollective&) const = default;
};

/// What a kernel model is valid for.
struct KernelKey {
    KernelKind kind = KernelKind::contraction;
    std::string dtype;     ///< of the operands, "bf16", "bf16 x int8"; "" for any
    std::string software;  ///< "vllm 0.14.0"; "" if the tables do not specify it
    std::string variant;   ///< "graph"; "" for the default of the software

    auto operator<=>(const KernelKey&) const = default;
};
/// Returns whether the host launched the kernels one by one, so that the measurements depend on that host.
[[nodiscard]] inline bool launched_by_host(const KernelKey& key) {
    return key.variant == "eager" || key.variant == "wall clock";
}

/// A kernel model with its key and the publishers of its measurements.
struct CalibratedKernel {
    KernelKey key;
    KernelFit fit;
    std::vector<std::string> sources;
    /// Model whose predictions the fit corrects: "sglang 0.5.10", "b200-sxm trtllm 1.3.0"; "" for a model of its own.
    std::string like{};

    bool operator==(const CalibratedKernel&) const = default;
};

/// What a model of expert dispatch or combine is valid for.
struct ExchangeKey {
    std::string system;  ///< see CollectiveKey
    std::string tiers;
    ExchangeStep step = ExchangeStep::dispatch;
    std::string software;      ///< "sglang 0.5.12"
    std::string variant;       ///< library and mode of the kernels: "deepep normal", "deepep low latency"
    std::int64_t members = 0;  ///< number of chips that exchange data

    auto operator<=>(const ExchangeKey&) const = default;
};

/// The error of an exchange model: mean of |predicted - measured| / measured.
struct ExchangeErrors {
    double fitted = 0;  ///< on the measurements it was fitted to
    double sizes = 0;   ///< held-out: one fifth of the numbers of tokens at a time
    /// Held-out: one fifth of the combinations of row width, choices and experts at a time.
    std::optional<double> shapes;
    /// On all measurements, predicted by the model of the nearest other number of members.
    std::optional<double> members;
    std::optional<double> relative;  ///< on all measurements, predicted by the model of the nearest calibrated machine

    bool operator==(const ExchangeErrors&) const = default;
};

/// An exchange model with the measurements that it was fitted to and its errors.
struct CalibratedExchange {
    ExchangeKey key;
    CollectiveLink link;
    ExchangeModel model;
    double least_tokens = 0;  ///< range of the measured numbers of tokens per member
    double most_tokens = 0;
    std::int64_t rows = 0;
    std::int64_t left_out = 0;
    std::vector<std::string> sources;
    ExchangeErrors errors;

    bool operator==(const CalibratedExchange&) const = default;
};

/// All models of one machine.
struct Calibration {
    std::string machine;  ///< id of the catalogue, or of the machine file that contains the calibration
    std::string fitted;   ///< date of the fit, "2026-01-31"; "" if not given
    std::string tool;     ///< program that made the fit: "roofline 0.1.0"
    std::vector<CalibratedCollective> models;
    std::vector<CalibratedExchange> exchanges{};
    std::vector<CalibratedKernel> kernels{};

    bool operator==(const Calibration&) const = default;
};

struct ModelGroup;

/// Reads a calibration file strictly; if a group is given, only its models. Errors carry the line and the column.
[[nodiscard]] Result<Calibration> parse_calibration(const TomlInput& toml, std::string_view origin,
                                                    const ModelGroup* group = nullptr);

/// Reads the calibration in the table [calibration] of a machine file, which belongs to the machine of that file. Empty
/// if there is no such table. Errors carry the line and the column; other parts of the file are not checked.
[[nodiscard]] Result<std::optional<Calibration>> parse_machine_calibration(const TomlInput& toml,
                                                                           std::string_view origin);

/// Returns the text of a calibration file, with parameters rounded to four digits. Reading it gives the rounded
/// calibration.
[[nodiscard]] std::string calibration_text(const Calibration& calibration);

/// Returns the same calibration as a table [calibration], to be appended to a machine file.
[[nodiscard]] std::string machine_calibration_text(const Calibration& calibration);

/// Rounds parameters to the digits that calibration_text() writes.
[[nodiscard]] CollectiveModel rounded(CollectiveModel model);
[[nodiscard]] ExchangeModel rounded(ExchangeModel model);

}  // namespace roofline::core
