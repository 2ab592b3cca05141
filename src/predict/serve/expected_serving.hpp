// Expected times of the passes of a served model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/compiled_expected.hpp"
#include "calibrate/server/server_model.hpp"
#include "plan/expert_placement.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// Kernels of half a batch, and its collectives.
struct HalfBatch {
    double kernels_s = 0;
    double collectives_s = 0;
};
/// Returns the time of two equal halves of a batch in a model of so many layers whose layers take turns (two-batch
/// overlap): the collectives of one run beside the kernels of the other. All of what takes longer is waited for, and
/// the first layer's part of the other.
[[nodiscard]] double two_batch_seconds(const HalfBatch& half, double layers);

/// The expected times of a model's passes on slices, as sums over their kernels and collectives, for any batch and
/// context.
class ExpectedServing {
public:
    /// Compiles the passes of the slices that prefill and decode, which may be the same, in the KV cache split that is
    /// best for `typical`, a decode pass; those of a drafter lie as these do. `best`, if it is given, is the
    /// best_split() of that pass, which is then not looked for again. Errors: those of priced_pass(); `not_calibrated`
    /// if a part of a pass has no model.
    [[nodiscard]] static Result<ExpectedServing> make(const PlannedSlice& prefilling, const PlannedSlice& decoding,
                                                      const ServingPass& typical, const SplitPass* best = nullptr);

    /// A decode step of `sequences` sequences with `context` tokens of context each; with speculation, its drafts and
    /// their verification.
    [[nodiscard]] StepKernels decode(double sequences, double context) const;
    /// Mean number of tokens that a decode step yields for each sequence.
    [[nodiscard]] double tokens_per_step() const { return tokens_per_step_; }
    /// Seconds of a prefill pass over `prompts` prompts of `tokens` tokens each, by the model and by a drafter. Members
    /// of data parallelism have a prompt each as far as there are enough.
    [[nodiscard]] double prompts_s(double prompts, double tokens) const;
    /// Number of members of data parallelism that process different prompts.
    [[nodiscard]] double members() const { return passes_.prefill.members; }
    /// Number of those that decode different sequences.
    [[nodiscard]] double decode_members() const { return passes_.decode.members; }
    /// Mean over largest number of tokens that experts of a chip get in such a decode step; empty if chips do not share
    /// experts.
    [[nodiscard]] std::optional<double> balancedness(double sequences) const;
    /// Number of kernels and collectives of such a prefill pass.
    [[nodiscard]] double launches() const { return launches_; }

private:
    struct Pass {
        CompiledExpected expected;
        /// Dimensions whose sizes are arguments: B, S, T of a prefill pass, windows, and for each element of `routed`
        /// its experts that are read and the rows of each.
        std::vector<std::string> dims;
        std::vector<double> windows;        ///< sizes of the attention windows
        std::vector<PlacedExperts> routed;  ///< a pass takes the time of the chip that is expected to be the busiest
        double balancedness = 0;            ///< see PlacedExperts::busiest_chip()
        bool two_batches = false;           ///< where that is faster; see two_batch_seconds()
        double layers = 1;
        double queries = 0;  ///< per sequence of a decode pass; 0: of a prefill, the whole context
        double stages = 1;   ///< of a pipeline, each of which processes other sequences
        double members = 1;  ///< of data parallelism; prefill takes no less time for fewer prompts
        StageSends sends{};
    };

    /// The passes of a model.
    struct Passes {
        Pass decode;
        Pass prefill;
        double launches = 0;  ///< of prefill
    };

    ExpectedServing(Passes passes, std::shared_ptr<Calibrations> calibrations)
        : passes_(std::move(passes)), launches_(passes_.launches), calibrations_(std::move(calibrations)) {}

    [[nodiscard]] static Result<Passes> compile(const PlannedSlice& prefilling, const PlannedSlice& decoding,
                                                const Prediction& decode, std::int64_t context);
    [[nodiscard]] static Result<Pass> compile(const Prediction& pass, const PlannedSlice& slice, ServingPhase phase);
    [[nodiscard]] static double tokens_of(const Pass& pass, double sequences, double context);
    [[nodiscard]] static StepKernels seconds(const Pass& pass, double batch, double context);
    [[nodiscard]] static ExpectedProgramTime time_of(const Pass& pass, double sequences, double context);

    Passes passes_;
    std::optional<Passes> drafter_;
    double drafts_ = 0;  ///< passes of the drafter in a step
    double tokens_per_step_ = 1;
    double launches_ = 0;
    std::shared_ptr<Calibrations> calibrations_;  ///< keeps what the compiled passes point to alive
};

/// Tokens of a request; all requests have the same size.
struct RequestSize {
    double prompt = 1;
    double output = 1;

    /// Average context of a decode step in tokens.
    [[nodiscard]] double context() const { return prompt + output / 2; }
};

}  // namespace roofline::core
