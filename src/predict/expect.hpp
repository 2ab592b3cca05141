// Expected times of programs: which laws speak for their kernels and collectives.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// The laws that speak for the kernels of a program, of the software that is named where it has some. They live as long
/// as the calibrations. `local` is what `analysis` is of.
[[nodiscard]] ProgramLaws kernel_laws(Calibrations& calibrations, const Machine& machine, const Program& local,
                                      const ProgramAnalysis& analysis, const std::string& software,
                                      const std::string& variant = "");

/// Whose kernels a server runs on a machine: those of its own library where a table has timed some, else "", the
/// newest.
[[nodiscard]] std::string kernels_of_server(Calibrations& calibrations, const Machine& machine,
                                            const std::string& server);

/// How much of what is expected somebody asks for: of `times` alone there are no total and no errors of stand-ins,
/// which take other machines' laws to tell. A training step makes its own total, of its parts.
enum class Expect { times, all };

/// Fills in what is expected of each kernel and collective of an analysed answer, and in total where all of them have
/// laws.
/// `software` is what --software names, "" for the newest. Errors: software that no table has measured; some named
/// where no law names any.
[[nodiscard]] Status expect(Prediction& answer, const std::string& software, std::shared_ptr<Calibrations> calibrations,
                            Expect what = Expect::all);

}  // namespace roofline::core
