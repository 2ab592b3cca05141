// Expected times of programs: selection of the kernel models and collective models that predict them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "calibrate/exchange/exchange_kernels.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the dtype of a tensor by the name that reports use. The dtype determines how partial sums are added.
[[nodiscard]] std::optional<Dtype> dtype_of(const Program& program, const std::string& tensor);

/// Selects a kernel model for each kernel of a program; `local` is the program of one chip that `analysis` describes.
/// If `software` is not empty, only models of that software are used. The models live as long as `calibrations`.
[[nodiscard]] ProgramModels kernel_models(Calibrations& calibrations, const Machine& machine, const Program& local,
                                          const ProgramAnalysis& analysis, const std::string& software,
                                          const std::string& variant = "");

/// Returns the software whose kernels a server runs on a machine: the server's own library if measurements of it exist,
/// otherwise "", which means the newest library.
[[nodiscard]] std::string server_kernel_software(Calibrations& calibrations, const Machine& machine,
                                                 const std::string& server);

/// How much of the expected time is computed. `times` gives the times of kernels and collectives only, without their
/// total and without the errors of transferred models, which are expensive because they require the models of other
/// machines. A training step computes its total from these parts itself.
enum class Expect { times, all };

/// Adds the expected time of each kernel and collective to an analysed prediction, and the total if all of them have a
/// model. `software` selects the calibration ("": the newest). Errors: no measurements exist with this software;
/// software was given although no model of this program depends on any. With `exchange` the all-to-alls of expert
/// dispatch and combine take the time of these kernels, measured with any software; if they have no model there, that
/// of an all-to-all.
[[nodiscard]] Status expect(Prediction& answer, const std::string& software, std::shared_ptr<Calibrations> calibrations,
                            Expect what = Expect::all, const ExchangeKernels* exchange = nullptr);

}  // namespace roofline::core
