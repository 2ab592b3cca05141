// What the printed forms of an `op` answer are made from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "bound/network_pricing.hpp"
#include "bound/sweep.hpp"
#include "calibrate/expected_program.hpp"
#include "layout/lay_out.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The lower bound of a program where it depends on which experts tokens choose: under one assumption about that.
struct RoutingBound {
    double lower_s = 0;
    std::string bound_by{};         ///< the id of the resource that decides, "nvlink"; "" where nothing takes time
    std::string bound_label{};      ///< "NVLink"
    std::vector<double> seconds{};  ///< by resource, as the program's pricing has them
};

/// The bound that some resources' times make.
[[nodiscard]] RoutingBound bound_of(const Pricing& pricing, std::vector<double> seconds);

/// A program on one machine.
struct Prediction {
    std::string name;  ///< of the program: its file, or ""
    Program program;
    Program local;  ///< what one chip does of it; the program itself on one chip
    System system;
    std::vector<LaidStatement> layouts;  ///< of a program that is split over a mesh
    std::vector<TensorType> types;       ///< how each value of such a program lies; empty for others
    Machine machine;
    ProgramAnalysis analysis;
    WorkOptions options;
    std::vector<std::string> notes;  ///< of the request: sizes overruled, a tile that was chosen
    /// The same program in other layouts, and with other formulas of its work: those that are best at some points of a
    /// sweep, and those that may be the fastest in fact.
    std::vector<Prediction> elsewhere;
    std::uint32_t region = 0;                ///< answers with the same number have the same formulas of work
    std::vector<std::uint32_t> which;        ///< by point: 0 for this answer, else 1 + the place in `elsewhere`
    std::optional<RoutingBound> uniform;     ///< where tokens go to experts on other chips
    ProgramLaws laws;                        ///< of expected times
    std::vector<CompiledKernel::Runs> runs;  ///< by kernel: what its law sees; empty without sizes
    std::optional<double>
        expected_s;  ///< of the whole program, where its laws lack nothing, in the layout of this answer
    std::optional<double> expected_error;
    std::string why_not_expected;                ///< "" where the machine is not calibrated
    std::shared_ptr<Calibrations> calibrations;  ///< keeps what `laws` points at
};

/// The answer in the layout that is expected to be the fastest: this one, or another one of those elsewhere with the
/// same formulas.
[[nodiscard]] const Prediction& fastest(const Prediction& answer);

/// What communicates in the layout that was chosen: "all-reduce C over X", or "".
[[nodiscard]] std::string communication_text(const Prediction& answer);

/// What is expected of one kernel, all its runs and collectives together. Empty where something in it has no law.
[[nodiscard]] std::optional<double> expected_of_kernel(const Prediction& answer, std::size_t kernel);

/// The same without its collectives.
[[nodiscard]] std::optional<double> expected_of_work(const Prediction& answer, std::size_t kernel);

/// Visits the points of a sweep, each with the answer whose layout is best there, and the expected time where laws lack
/// nothing. The Point is filled anew each time.
void for_each_point(const Prediction& answer, const std::vector<SweepAxis>& axes,
                    const std::function<void(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
                                             const Prediction& at, std::optional<double> expected_s)>& visit);

/// All notes of an answer, the request's first.
[[nodiscard]] std::vector<std::string> notes_of(const Prediction& answer);

/// The number of a polynomial at the program's sizes, if they are all known.
[[nodiscard]] std::optional<Rational> count(const Program& program, const Polynomial& polynomial);

/// A polynomial for printing: bare numbers put in, and shares as fractions where the size divides or is not known yet.
[[nodiscard]] Polynomial shown(const Prediction& answer, const Polynomial& polynomial);

/// The time of one collective by itself, when it has sizes and rates.
[[nodiscard]] std::optional<CollectiveTime> message_time(const Prediction& answer, const Message& message);

/// The whole size that a crossing comes down to: "256".
[[nodiscard]] std::string whole_text(const Crossing& crossing);

}  // namespace roofline::core
