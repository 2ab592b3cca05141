// Constants of a machine that were fitted to measurements, with what they were fitted to and how far off they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/collective/collective_law.hpp"
#include "calibrate/exchange/exchange_law.hpp"
#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_kinds.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// What a law holds for. Algorithm, launch mode and library are inputs: constants of one say nothing about another.
struct LawKey {
    std::string system;  ///< as data/systems.toml has it: "h100-sxm", "h100-aws-p5"
    std::string tiers;   ///< that the group spans, innermost first: "nvlink", "nvlink+ib"
    CollectiveKind kind = CollectiveKind::all_gather;
    std::string software;  ///< "nccl 2.29.2"; "" where the tables do not say
    std::string variant;   ///< "custom graph"; "" for what the library does by itself
    std::string dtypes;    ///< of a collective that adds up: "integer" or "float"; "" for any

    auto operator<=>(const LawKey&) const = default;
};

/// The innermost tier of the group, at whose rate a law's fractions are meant.
struct LawLink {
    std::string topology;     ///< "switch"
    std::int64_t domain = 0;  ///< chips that it joins
    double bytes_per_s = 0;   ///< one way

    bool operator==(const LawLink&) const = default;
};

/// Mean of |predicted - measured| / measured.
struct LawErrors {
    double fitted = 0;               ///< of the rows it was fitted to
    double sizes = 0;                ///< of rows whose sizes were held out, every fifth in turn
    std::optional<double> members;   ///< of rows whose number of members was held out
    std::optional<double> relative;  ///< of all rows, predicted from machines with the same link rate alone
    std::optional<double> far;       ///< of all rows, predicted from machines with other rates alone

    bool operator==(const LawErrors&) const = default;
};

struct CalibratedLaw {
    LawKey key;
    LawLink link;
    CollectiveLaw law;
    std::vector<std::int64_t> members;  ///< numbers of members in the rows, ascending
    double least_bytes = 0;             ///< of the buffers in the rows
    double most_bytes = 0;
    std::int64_t rows = 0;  ///< that it was fitted to
    std::int64_t left_out =
        0;  ///< rows that cannot be right: more than 30 times off their neighbours, faster than the wires
    std::vector<std::string> sources;
    LawErrors errors;

    bool operator==(const CalibratedLaw&) const = default;
};

/// What a law of kernels holds for.
struct KernelKey {
    KernelKind kind = KernelKind::contraction;
    std::string dtype;     ///< of its operands, "bf16", "bf16 x int8"; "" for any
    std::string software;  ///< "vllm 0.14.0"; "" where the tables do not say
    std::string variant;   ///< "graph"; "" for what the software does by itself

    auto operator<=>(const KernelKey&) const = default;
};
/// True of what a host launched one by one, which tells of that host.
[[nodiscard]] inline bool of_host(const KernelKey& key) {
    return key.variant == "eager" || key.variant == "wall clock";
}

struct CalibratedKernel {
    KernelKey key;
    KernelFit fit;
    std::vector<std::string> sources;
    std::string
        like{};  ///< whose laws the fit corrects: "sglang 0.5.10", "b200-sxm trtllm 1.3.0"; "" where they are its own

    bool operator==(const CalibratedKernel&) const = default;
};

/// What a law of exchanges with experts holds for.
struct ExchangeKey {
    std::string system;  ///< as LawKey has it
    std::string tiers;
    ExchangeStep step = ExchangeStep::dispatch;
    std::string software;      ///< "sglang 0.5.12"
    std::string variant;       ///< whose kernels, and which: "deepep normal", "deepep low latency"
    std::int64_t members = 0;  ///< chips that exchange

    auto operator<=>(const ExchangeKey&) const = default;
};

/// Mean of |predicted - measured| / measured.
struct ExchangeErrors {
    double fitted = 0;              ///< of the rows it was fitted to
    double sizes = 0;               ///< of rows whose number of tokens was held out, every fifth in turn
    std::optional<double> shapes;   ///< of rows whose row width, choices and experts were held out, every fifth in turn
    std::optional<double> members;  ///< of all rows, by the law of the nearest other number of members
    std::optional<double> relative;  ///< of all rows, by the law of the nearest relative

    bool operator==(const ExchangeErrors&) const = default;
};

struct CalibratedExchange {
    ExchangeKey key;
    LawLink link;
    ExchangeLaw law;
    double least_tokens = 0;  ///< of one member, in the rows
    double most_tokens = 0;
    std::int64_t rows = 0;
    std::int64_t left_out = 0;
    std::vector<std::string> sources;
    ExchangeErrors errors;

    bool operator==(const CalibratedExchange&) const = default;
};

struct Calibration {
    std::string machine;  ///< of the catalogue, or the id of the file that it stands in
    std::string fitted;   ///< the day of the fit, "2026-01-31"; "" when not said
    std::string tool;     ///< what fitted it: "roofline 0.1.0"
    std::vector<CalibratedLaw> laws;
    std::vector<CalibratedExchange> exchanges{};
    std::vector<CalibratedKernel> kernels{};

    bool operator==(const Calibration&) const = default;
};

struct LawGroup;

/// Reads a calibration file, strictly; of its laws those of one group alone where there is one. Errors carry line and
/// column.
[[nodiscard]] Result<Calibration> parse_calibration(const TomlInput& toml, std::string_view origin,
                                                    const LawGroup* group = nullptr);

/// The constants that a machine file carries in its table [calibration], of the machine that it describes. Empty when
/// it has no such table. Errors carry line and column; what else is wrong with the file is not looked at.
[[nodiscard]] Result<std::optional<Calibration>> parse_machine_calibration(const TomlInput& toml,
                                                                           std::string_view origin);

/// The file: constants to four digits. What is read back equals what was written once it is rounded so.
[[nodiscard]] std::string calibration_text(const Calibration& calibration);

/// The table [calibration] with the same, to stand at the end of a machine file.
[[nodiscard]] std::string machine_calibration_text(const Calibration& calibration);

/// Constants to the digits that calibration_text() writes.
[[nodiscard]] CollectiveLaw rounded(CollectiveLaw law);
[[nodiscard]] ExchangeLaw rounded(ExchangeLaw law);

}  // namespace roofline::core
