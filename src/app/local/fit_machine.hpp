// Constants of expected times for this machine, from programs that run on it.
#pragma once

#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "calibrate/calibration.hpp"
#include "measure/run/device.hpp"

namespace roofline::core {

/// A program and the sizes that it is timed at.
struct FitSubject {
    std::string program;
    std::string dims;
    std::string sweep;
};

/// Contractions in the dtypes that run everywhere, and elementwise work in long rows and short ones; each from small to large.
[[nodiscard]] std::vector<FitSubject> fit_subjects(Effort effort);

/// A program that was timed, beside what is expected by the law that it took part in.
struct TimedProgram {
    std::string program;    ///< with the sizes that all its runs have
    std::int64_t size = 0;  ///< of its first dimension
    double measured_s = 0;  ///< the median, inputs and results in other memory every time
    double lower_s = 0;
    double expected_s = 0;
};

struct MachineFit {
    Calibration calibration;
    std::vector<TimedProgram> programs;
    std::size_t disturbed = 0;       ///< runs that were timed and are no part of the fit
    std::vector<std::string> notes;  ///< what was not timed, and why
};

/// Times the programs and fits the law of each kind to them. `toml` is the machine's file, without constants. What does not run here is
/// noted. Errors: interrupted.
[[nodiscard]] Result<MachineFit> fit_machine(const std::string& toml, const std::string& date, Device& device,
                                             Effort effort, const std::vector<FitSubject>& subjects,
                                             Progress& progress);

/// The machine's file with constants behind it, and with those of collectives that `before`, the file so far, has for its network.
/// Likewise its tiers. What `before` says of anything else is not kept.
[[nodiscard]] std::string calibrated_file(Machine machine, Calibration calibration,
                                          const std::optional<NamedText>& before);

}  // namespace roofline::core
