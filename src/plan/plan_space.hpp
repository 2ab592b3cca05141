// The training plans of a model on a number of chips: every combination of degrees, ZeRO stage, recomputation,
// micro-batches, schedule and order of axes.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/apply_plan.hpp"
#include "plan/axis_orders.hpp"
#include "plan/pipeline.hpp"
#include "plan/plan.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// What limits the degrees of a job, and what its user fixed.
struct PlanSpace {
    std::int64_t chips = 1;
    std::int64_t layers = 1;
    std::int64_t sequence = 1;            ///< tokens of each sequence
    std::int64_t sequences = 1;           ///< of a batch
    std::optional<std::int64_t> heads{};  ///< KV heads
    std::int64_t queries = 1;             ///< query heads per KV head
    std::int64_t experts = 0;             ///< 0: a dense model

    /// On which axes are placed in every order; without it in the usual one.
    std::shared_ptr<const Slice> slice{};
    std::map<std::string, std::int64_t, std::less<>> fixed{};  ///< degrees that are given, by axis
    AxisOrder placed{};                                        ///< of these those whose links are given
    std::vector<std::string> without{};                        ///< axes that are not used
    std::vector<int> zero{0, 1, 2};                            ///< ZeRO stages over replicas
    std::vector<Remat> remat{Remat::none, Remat::selective, Remat::full};
    std::optional<std::int64_t> microbatches{};
    std::vector<Schedule> schedules{Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble};
    std::optional<std::int64_t> chunks{};  ///< of interleaved schedules; otherwise all that divide a stage's layers
};

/// One choice beside the degrees.
struct PlanChoice {
    Remat remat = Remat::none;
    std::int64_t microbatches = 1;
    Pipeline schedule{};
};

/// The axes that a plan uses, those with more than one chip, and whether its experts lie over `tensor`, too. Plans with
/// the same ones have programs of the same structure. Rarer axes have higher bits.
using PlanAxes = std::bitset<8>;
[[nodiscard]] PlanAxes axes_of(const Plan& plan);

/// What visit_plans() went through beside the plans themselves.
struct VisitedSplits {
    std::int64_t undivided = 0;  ///< splits that do not divide the model or the batch
    bool all = true;             ///< false if it was stopped
};

/// Calls `visit` for the plans of for_each_plan() that use exactly these axes, in the same order, until it returns
/// false or `most` splits were looked at. Splits that do not divide are counted where experts do not lie over `tensor`,
/// so that each is counted once.
VisitedSplits visit_plans(const PlanSpace& space, PlanAxes axes, const std::function<bool(const Plan&)>& visit,
                          std::int64_t most = INT64_MAX);

/// Calls `visit` for every split of the chips over axes, with every ZeRO stage that makes a difference, in a fixed
/// order. ZeRO-3 over `data` is the axis `fsdp` in other words, and GPipe takes as long as 1F1B and more memory, so
/// neither is among them. Returns the number of splits that do not divide heads, tokens, sequences, layers or experts
/// evenly.
std::int64_t for_each_plan(const PlanSpace& space, const std::function<void(const Plan&)>& visit);

/// Returns the schedules for a plan in a fixed order, with micro-batches of whole sequences per member: those that
/// pipeline_cost() accepts.
[[nodiscard]] std::vector<Pipeline> pipelines_of(const PlanSpace& space, const Plan& plan);

/// Returns the choices for a plan in a fixed order: each of pipelines_of() with each kind of recomputation.
[[nodiscard]] std::vector<PlanChoice> choices_of(const PlanSpace& space, const Plan& plan);

}  // namespace roofline::core
