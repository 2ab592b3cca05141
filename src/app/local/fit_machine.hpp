// Fits the kernel models of expected times for this machine to programs that run on it.
#pragma once

#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "calibrate/calibration.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// A program and the sizes at which it is timed.
struct FitSubject {
    std::string program;
    std::string dims;
    std::string sweep;
};

/// Returns contractions in the dtypes that run on every machine, and elementwise operations with long and with short
/// rows, each from small to large sizes.
[[nodiscard]] std::vector<FitSubject> fit_subjects(Effort effort);

/// A program that was timed, and its expected time from the kernel model that was fitted to it, among others.
struct TimedProgram {
    std::string program;    ///< with the sizes that all its runs have in common
    std::int64_t size = 0;  ///< of its first dimension
    double measured_s = 0;  ///< median, with inputs and results in other memory every time
    double lower_s = 0;
    double expected_s = 0;
};

struct MachineFit {
    Calibration calibration;
    std::vector<TimedProgram> programs;
    std::size_t disturbed = 0;       ///< runs that were timed but excluded from the fit
    std::vector<std::string> notes;  ///< what was not timed, and why
};

/// Times the programs and fits the kernel model of each kind to them. `toml` is the machine's file without a
/// calibration. Programs that cannot run on this machine are noted. Errors: interrupted.
[[nodiscard]] Result<MachineFit> fit_machine(const std::string& toml, const std::string& date, Device& device,
                                             Effort effort, const std::vector<FitSubject>& subjects,
                                             Progress& progress);

/// Returns the machine's file followed by its calibration. Tiers and models of collectives are taken over from
/// `before`, the existing file; nothing else of `before` is kept.
[[nodiscard]] std::string calibrated_file(Machine machine, Calibration calibration,
                                          const std::optional<NamedText>& before);

}  // namespace roofline::core
