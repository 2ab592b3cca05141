// The prediction of a program on a system, from which all outputs of `roofline op` are formed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bound/analysis.hpp"
#include "bound/network_pricing.hpp"
#include "bound/sweep.hpp"
#include "calibrate/exchange/exchange_kernels.hpp"
#include "calibrate/expected_program.hpp"
#include "layout/lay_out.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The lower bound of a program under one assumption about the experts that tokens choose.
struct RoutingBound {
    double lower_s = 0;
    std::string bound_by{};         ///< id of the bottleneck resource: "nvlink"; "" if nothing takes time
    std::string bound_label{};      ///< "NVLink"
    std::vector<double> seconds{};  ///< per resource, in the order of the program's pricing
};

/// Returns the bound for given times of the resources.
[[nodiscard]] RoutingBound bound_of(const Pricing& pricing, std::vector<double> seconds);

/// The prediction of a program on one system.
struct Prediction {
    std::string name;  ///< of the program: its file, or ""
    Program program;
    /// The part of one chip; on a single chip the program itself. The kernels of `analysis` point to its statements:
    /// copies of a prediction share it.
    std::shared_ptr<const Program> local;
    System system;
    std::vector<LaidStatement> layouts;  ///< of a sharded program
    std::vector<TensorType> types;       ///< layout of each value of a sharded program; otherwise empty
    Machine machine;
    ProgramAnalysis analysis;
    WorkOptions options;
    std::vector<std::string> notes;  ///< of the request: overridden sizes, a tile that was chosen
    /// Predictions of the same program with other layouts or other formulas of its work: those with the lowest bound at
    /// some points of a sweep, and those that may have the shortest expected time.
    std::vector<Prediction> alternative_predictions;
    /// Whether the expected time may be that of this layout. Otherwise kernels of expert dispatch and combine are
    /// given, and it is that of the alternative prediction with the layout that they need.
    bool may_run = true;
    const ExchangeKernels* exchange = nullptr;  ///< kernels of expert dispatch and combine; null: none are given
    std::uint32_t region = 0;                   ///< predictions with the same number have the same formulas of work
    /// Per point of the sweep: 0 for this prediction, otherwise 1 + index in `alternative_predictions`.
    std::vector<std::uint32_t> which;
    std::optional<RoutingBound> uniform;  ///< only if tokens are sent to experts on other chips
    ProgramModels models;                 ///< models of the expected times
    /// Per kernel: the sizes that its model takes; empty if sizes are unknown.
    std::vector<CompiledKernel::Runs> runs;
    /// Expected time of the whole program in the layout of this prediction; empty if a part has no model.
    std::optional<double> expected_s;
    std::optional<double> expected_error;
    std::string why_not_expected;                ///< "" if the machine is not calibrated
    std::shared_ptr<Calibrations> calibrations;  ///< keeps what `models` points to alive
};

/// Returns the prediction with the shortest expected time among this one and those of `alternative_predictions` with
/// the same formulas, as far as they may run.
[[nodiscard]] const Prediction& fastest(const Prediction& answer);

/// Returns the collectives of the chosen layout: "all-reduce C over X", or "".
[[nodiscard]] std::string communication_text(const Prediction& answer);

/// Returns the expected time of one kernel: all its runs and its collectives. Empty if a part has no model.
[[nodiscard]] std::optional<double> expected_of_kernel(const Prediction& answer, std::size_t kernel);

/// Returns expected_of_kernel() of each kernel.
[[nodiscard]] std::vector<std::optional<double>> expected_of_kernels(const Prediction& answer);

/// As expected_of_kernel(), without the collectives.
[[nodiscard]] std::optional<double> expected_of_work(const Prediction& answer, std::size_t kernel);

/// Calls `visit` for each point of a sweep with the prediction that has the best layout there and the expected time,
/// which is empty if a part has no model. The same Point object is reused for all calls.
void for_each_point(const Prediction& answer, const std::vector<SweepAxis>& axes,
                    const std::function<void(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
                                             const Prediction& at, std::optional<double> expected_s)>& visit);

/// Returns all notes of a prediction, those of the request first.
[[nodiscard]] std::vector<std::string> notes_of(const Prediction& answer);
/// Returns whether a note names the layout that was chosen for a tensor without a written type. Programs that nobody
/// wrote, such as those of models and of modules, have many of these.
[[nodiscard]] bool is_layout_note(std::string_view note);

/// Returns the value of a polynomial at the program's sizes. Empty if a size is unknown.
[[nodiscard]] std::optional<Rational> count(const Program& program, const Polynomial& polynomial);

/// Returns a polynomial for printing: dimensions that are plain numbers are replaced by their values, and shards are
/// written as fractions if the size is divisible or unknown.
[[nodiscard]] Polynomial shown(const Prediction& answer, const Polynomial& polynomial);

/// Returns the time of one collective alone. Empty if a size or rate is unknown.
[[nodiscard]] std::optional<CollectiveTime> message_time(const Prediction& answer, const Message& message);

/// Returns a critical size rounded to a whole number: "256".
[[nodiscard]] std::string whole_text(const Crossing& crossing);

}  // namespace roofline::core
