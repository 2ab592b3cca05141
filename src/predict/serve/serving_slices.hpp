// Passes of a model that serves, on slices: priced, laid out, with the memory that they take.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/serving_program.hpp"
#include "network/slice.hpp"
#include "predict/predict.hpp"
#include "predict/serve/serve_answer.hpp"

namespace roofline::core {

/// A model as passes of one kind are written, and what its weights and caches are kept as.
struct ServedModel {
    Model model;
    WeightBytes weights;
    ServingDtypes stored;
};

/// `decoding` as build_model() has it, `all` and `quantisation` as weight_bytes(). Errors: theirs.
[[nodiscard]] Result<ServedModel> served_model(const Config& config, bool decoding, std::optional<Dtype> all,
                                               const std::optional<Quantisation>& quantisation, Dtype kv);

/// What all passes have in common. It refers to what it was made of.
struct ServingSetup {
    const ServedModel& prefill;
    const ServedModel& decode;
    const Slice& slice;
    const std::shared_ptr<Calibrations>& calibrations;
    std::string software;  ///< whose kernels, as expect() has it
    CollectiveOptions collectives{};

    [[nodiscard]] const ServedModel& of(const ServingPass& pass) const { return pass.queries == 1 ? decode : prefill; }
};

/// Plans that are tried where none is named: tensor over all chips, or over halves of them with data for the rest, as
/// far as heads and the batch go; the fastest first.
[[nodiscard]] std::vector<Plan> serving_plans(const Model& model, const Slice& slice, std::int64_t batch);

/// One prompt for each member of `data`.
[[nodiscard]] ServingPass prefill_pass(const Plan& plan, std::int64_t prompt);

/// The last of the chunks in which the prompts are taken in, which looks back on all tokens before it.
[[nodiscard]] ServingPass chunk_pass(const Plan& plan, std::int64_t prompt, std::int64_t chunk);

/// What lies between the kernels of that chunk on one chip, bytes. `prefill`, the pass of whole prompts, is that chunk
/// where it is long enough. Errors: as priced_pass().
[[nodiscard]] Result<double> prefill_activations(const ServingSetup& setup, const Plan& plan, std::int64_t prompt,
                                                 std::int64_t chunk, const Prediction& prefill);

/// Nothing is faster, whatever experts the tokens choose: each resource has its work for the even choice that the pass
/// is priced with, or that for all tokens choosing the same experts, whichever is less, and nothing is sent to experts,
/// for each token may find its own on its chip. Without experts the bound of the pass. Errors: as price_network().
[[nodiscard]] Result<RoutingBound> least_pass(const Prediction& pass);

/// The stages of a pipeline do a pass in turn, and send what goes from layer to layer on.
[[nodiscard]] Result<Prediction> priced_pass(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                             const ServingPass& pass);

/// A pass in the split of caches that makes it fastest.
struct SplitPass {
    CacheSplit caches = CacheSplit::heads;
    Prediction pass;
};
[[nodiscard]] Result<SplitPass> best_split(const ServingSetup& setup, const Plan& plan, const ServingPass& pass);

/// Of one chip: weights, caches at the end of `last`, and the larger of what prefill (prefill_activations()) and decode
/// keep between kernels.
[[nodiscard]] Result<ServingMemory> memory_of(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                              const ServingPass& last, double prefill, const Prediction& decode);

/// The same, each byte once, whatever the slice.
[[nodiscard]] Result<ServingMemory> whole_memory(const ServingSetup& setup, const ServingPass& last,
                                                 const ServingPass& prefill);

/// The smallest slice of the machine that holds it, in the order of chips; none where no slice does.
[[nodiscard]] Result<std::optional<SmallestSlice>> smallest_slice(const ServingSetup& setup, const std::string& machine,
                                                                  std::int64_t prompt, std::int64_t chunk,
                                                                  const ServingPass& last);

}  // namespace roofline::core
