// The one way from a program and a system to times: lay out, count, price, expect.
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

/// Which experts tokens choose.
enum class TokenRouting {
    least,    ///< those that send the least
    uniform,  ///< all equally likely (route_uniformly())
    both,     ///< as `least`, with the bound of `uniform` beside it (Prediction::uniform)
};

/// How a program is laid out, priced and expected.
struct PredictOptions {
    std::string name{};                          ///< of the program, for headings: its file, or ""
    LayoutFreedom freedom = LayoutFreedom::any;  ///< of the dimensions over which products are split; of textbooks none
    StayingAxes stay{};                          ///< as lay_out() has it
    TokenRouting routing = TokenRouting::both;
    std::vector<SweepAxis> axes{};    ///< that the program is swept over
    std::vector<TileChoice> tiles{};  ///< of a program on one chip
    bool exact_flops = false;         ///< 2 K - 1 FLOPs for each sum of K products, not 2 K
    bool growth = true;               ///< critical sizes and limits, too
    Expect expect = Expect::all;
    std::string software{};  ///< "nccl 2.29": whose calibration; "": the newest
};

/// Of a program that a plan has split: its products run where the plan puts them, and its sizes are not asked to grow.
[[nodiscard]] PredictOptions as_planned(std::string name, std::string software, StayingAxes stay);

/// What a program runs on: a slice and the mesh that is given beside the program, or else the program's own. Notes:
/// those of the slice, a mesh of the program that is overruled, chips that all do the same. Errors: a mesh that is not
/// the slice; a program that is split over a mesh, and there is none (`no_mesh`).
[[nodiscard]] Result<System> make_system(Slice slice, const std::vector<MeshAxis>& given,
                                         const CollectiveOptions& collectives, const Program& program,
                                         std::vector<std::string>& notes);

/// A slice with the axes of a program's mesh on it, the innermost tiers first. Errors: a mesh that is not the slice.
[[nodiscard]] Result<System> plan_system(const Slice& slice, const Program& program,
                                         const CollectiveOptions& collectives);

/// The program on the system, by the calibrations that `calibrations` holds; it is kept by the prediction. Errors: no
/// legal layout; work that the machine has no rate for; tiles that do not fit; software that no calibration names.
[[nodiscard]] Result<Prediction> predict(Program program, System system, PredictOptions options,
                                         const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
