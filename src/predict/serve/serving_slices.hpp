// Passes of a served model on slices: their layout, times and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/exchange/exchange_kernels.hpp"
#include "model/serving_program.hpp"
#include "network/slice.hpp"
#include "predict/predict.hpp"
#include "predict/serve/serve_answer.hpp"
#include "predict/serve/served_model.hpp"
#include "predict/serve/speculation.hpp"

namespace roofline::core {

/// What all passes have in common. It refers to the objects it was made from.
struct ServingSetup {
    const ServedModel& prefill;
    const ServedModel& decode;
    const Slice& slice;
    const std::shared_ptr<Calibrations>& calibrations;
    std::string software;  ///< of the kernels; see expect()
    CollectiveOptions collectives{};
    double balancedness = 0;                   ///< of experts on their chips under load; see PlacedExperts
    bool two_batches = false;                  ///< under load; see two_batch_seconds()
    const Speculation* speculation = nullptr;  ///< null: a step generates one token of each sequence
    /// The last stage of a pipeline runs all of the model, as a drafter. Otherwise stages share its layers.
    bool in_last_stage = false;
    ExchangeChoice exchange{};  ///< kernels by which tokens get to experts on chips that have other tokens
    std::string whole{};        ///< library whose forward-pass model gives the expected times; "": kernel models do

    [[nodiscard]] const ServedModel& of(const ServingPass& pass) const {
        return pass.phase == ServingPhase::decode ? decode : prefill;
    }
    /// Returns the kernels of a pass; null if it exchanges no tokens with experts, or if they are not known.
    [[nodiscard]] const ExchangeKernels* exchange_of(const Plan& plan, ServingPhase phase) const;
};

/// A slice on which a model is served, with the plan. It refers to the objects it was made from.
struct PlannedSlice {
    const ServingSetup& setup;
    const Plan& plan;
};

/// Returns what passes of the drafter have in common; there must be one.
[[nodiscard]] ServingSetup drafting(const ServingSetup& setup);

/// Returns the plan of the drafter on the chips of `plan`. Chips that share out the experts of the model work on
/// different sequences of a drafter without experts.
[[nodiscard]] Plan drafting_plan(const ServingSetup& setup, const Plan& plan);

/// Returns the tokens of each sequence that a step processes: the newest, and those that were drafted.
[[nodiscard]] std::int64_t step_queries(const ServingSetup& setup);

/// Returns the plans that are tried if none is given: those of instance_plans() with replicas, as far as each of their
/// members and stages has a sequence of the batch.
[[nodiscard]] std::vector<Plan> serving_plans(const ServedModel& served, const Slice& slice, std::int64_t batch);

/// Returns the prefill of one prompt per member of `data`.
[[nodiscard]] ServingPass prefill_pass(const Plan& plan, std::int64_t prompt);

/// Returns the last chunk of a chunked prefill, whose context is the whole prompt.
[[nodiscard]] ServingPass chunk_pass(const Plan& plan, std::int64_t prompt, std::int64_t chunk);

/// Returns the peak activation memory of that chunk on one chip in bytes. `prefill` is the pass over whole prompts,
/// which is used if a chunk holds them. Errors: those of priced_pass().
[[nodiscard]] Result<double> prefill_activations(const ServingSetup& setup, const Plan& plan, std::int64_t prompt,
                                                 std::int64_t chunk, const Prediction& prefill);

/// Returns a lower bound of a pass for any choice of experts, which so many chips share. Each resource takes the
/// smaller of two amounts of work: that of a choice with which every chip has as many routes, also where their number
/// does not divide that of the experts, and that of all tokens choosing the same experts. No dispatch is counted,
/// because every token may find its experts on its own chip. Without experts this is the bound of the pass. Errors:
/// those of price_network().
[[nodiscard]] Result<RoutingBound> least_pass(const Prediction& pass, double chips);

/// Returns the prediction of a pass. The stages of a pipeline run one after another, and the transfers of activations
/// between them are included. Errors: those of check_placement(), split_for_serving(), serving_program() and predict().
[[nodiscard]] Result<Prediction> priced_pass(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                             const ServingPass& pass);

/// Returns the smaller least_pass() of two passes of the set-up: if experts were alike and had no replicas, and if all
/// tokens chose the same ones. Their layouts may differ, and neither depends on the routing of the set-up. The seconds
/// are in the order of the resources of `priced`, the pass as it is. Errors: those of priced_pass() and least_pass().
[[nodiscard]] Result<RoutingBound> least_of(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                            const ServingPass& pass, const Prediction& priced);

/// The transfers between the stages of a pipeline in a whole pass.
struct StageSends {
    double latency_s = 0;
    double s_per_token = 0;

    [[nodiscard]] double seconds(double tokens) const { return latency_s + tokens * s_per_token; }
};
/// Returns those of a pass that was priced for a pipeline of `stages` stages. Errors: those of stage_transfer_s().
[[nodiscard]] Result<StageSends> sends_of(const Prediction& pass, std::int64_t stages);

/// A pass with a split of the KV cache.
struct SplitPass {
    CacheSplit caches = CacheSplit::heads;
    Prediction pass;
};
/// Predicts a pass with every split of the KV cache that the plan allows, the fastest first. Errors: those of
/// priced_pass().
[[nodiscard]] Result<std::vector<SplitPass>> priced_splits(const ServingSetup& setup, const Plan& plan,
                                                           const ServingPass& pass);
/// Returns the first of these.
[[nodiscard]] Result<SplitPass> best_split(const ServingSetup& setup, const Plan& plan, const ServingPass& pass);

/// The memory of weights and KV cache of sequences with one context, of one chip (the fullest stage of a pipeline) or
/// of all chips with each byte counted once, those of a drafter included. The model is split once for all numbers of
/// sequences. The cache has all tokens of the context, even if a step reads only a part of them, and a chip its part of
/// the redundant experts.
class KeptMemory {
public:
    /// Errors: those of check_placement() and split_for_serving(). `setup` must outlive the object.
    [[nodiscard]] static Result<KeptMemory> make(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                                 std::int64_t context, bool one_chip);
    [[nodiscard]] ServingMemory of(std::int64_t batch) const;

private:
    /// Stages that hold the same, each value as often as `held` has it.
    struct Held {
        std::vector<double> shares;
        bool last = true;
    };
    Program program_;
    const std::vector<StoredParam>* stored_ = nullptr;
    std::vector<Held> stages_;
    bool one_chip_ = true;
    std::shared_ptr<const KeptMemory> drafter_;  ///< null: there is none
};

/// Returns what KeptMemory has for the sequences of `last`. Errors: those of KeptMemory::make().
[[nodiscard]] Result<ServingMemory> kept_memory(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                                const ServingPass& last, bool one_chip);

/// Returns the memory of one chip: weights, KV cache at the end of `last`, and the larger of the activations of prefill
/// (prefill_activations()) and decode.
[[nodiscard]] Result<ServingMemory> memory_of(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                              const ServingPass& last, double prefill, const Prediction& decode);
/// Likewise of so many sequences for which the model is split already.
[[nodiscard]] ServingMemory memory_of(const KeptMemory& kept, const Plan& plan, std::int64_t batch, double prefill,
                                      const Prediction& decode);

/// Returns the memory of all chips together, with each byte counted once, for any slice.
[[nodiscard]] Result<ServingMemory> whole_memory(const ServingSetup& setup, const ServingPass& last,
                                                 const ServingPass& prefill);

/// Returns the slice of the machine with the fewest chips whose memory suffices; empty if none does. With a prompt of 0
/// tokens it only decodes.
[[nodiscard]] Result<std::optional<SmallestSlice>> smallest_slice(const ServingSetup& setup, const std::string& machine,
                                                                  std::int64_t prompt, std::int64_t chunk,
                                                                  const ServingPass& last);

}  // namespace roofline::core
