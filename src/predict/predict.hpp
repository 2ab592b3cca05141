// The pipeline from a program and a system to predicted times: layout, work counts, pricing, expected times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bound/sweep.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "layout/lay_out.hpp"
#include "network/system.hpp"
#include "predict/expect.hpp"
#include "predict/prediction.hpp"
#include "predict/tiles.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Assumption about the experts that tokens choose.
enum class TokenRouting {
    least,    ///< the choice with the least communication
    uniform,  ///< all experts are equally likely (routed_uniformly())
    both,     ///< as `least`, and additionally the bound for `uniform` (Prediction::uniform)
};

/// How a program is laid out, priced and given expected times.
struct PredictOptions {
    std::string name{};  ///< of the program, for headings: its file, or ""
    /// Dimensions over which matmuls may be split; `textbook` collectives restrict it to the layout as written.
    LayoutFreedom freedom = LayoutFreedom::any;
    StayingAxes stay{};                             ///< see lay_out()
    Alternatives alternatives = Alternatives::all;  ///< likewise
    /// Whether layouts are also compared by expected times if the freedom is as_written; always if it is not.
    bool fastest = false;
    TokenRouting routing = TokenRouting::both;
    std::vector<SweepAxis> axes{};    ///< axes of the sweep
    std::vector<TileChoice> tiles{};  ///< only for a program on one chip
    bool exact_flops = false;         ///< count 2 K - 1 FLOPs for each sum of K products instead of 2 K
    bool growth = true;               ///< also find intensities, their limits and critical sizes
    bool titles = true;               ///< of kernels: their statements. Without, Prediction::program is sizes only
    bool footprint = true;            ///< as AnalysisOptions::footprint; false: who asks knows when tensors are there
    Expect expect = Expect::all;
    std::string software{};                     ///< software whose calibration is used, "nccl 2.29"; "": the newest
    const ExchangeKernels* exchange = nullptr;  ///< of expert dispatch and combine; see expect()
    /// As `stay`, for the layout that these kernels need. Only such a layout has expected times then; bounds are those
    /// of any layout.
    StayingAxes exchange_stay{};
};

/// Returns the options for a program that a parallelism plan has split: matmuls run where the plan places them, and
/// neither alternatives to its layout nor critical sizes are computed.
[[nodiscard]] PredictOptions as_planned(std::string name, std::string software, StayingAxes stay);

/// Returns the system that a program runs on: a slice with the mesh `given`, or else with the program's own mesh. Adds
/// notes on the slice, on a mesh of the program that is overridden, and on chips that all do the same work. Errors: the
/// mesh does not match the slice; the program is sharded but there is no mesh (`no_mesh`).
[[nodiscard]] Result<System> make_system(Slice slice, const std::vector<MeshAxis>& given,
                                         const CollectiveOptions& collectives, const Program& program,
                                         std::vector<std::string>& notes);

/// Returns a slice with the axes of the program's mesh, placed on the innermost tiers first. Errors: the mesh does not
/// match the slice.
[[nodiscard]] Result<System> plan_system(const Slice& slice, const Program& program,
                                         const CollectiveOptions& collectives);

/// Predicts the times of a program on a system with the models in `calibrations`, which the prediction keeps alive.
/// Errors: there is no legal layout; the machine has no rate for some work; a tile does not fit; no calibration has the
/// software.
[[nodiscard]] Result<Prediction> predict(Program program, System system, PredictOptions options,
                                         const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
