// Expected times of the passes of a served model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// The expected times of a model's passes on a slice, as sums over their kernels and collectives, for any batch and
/// context.
class ExpectedServing {
public:
    /// Compiles the passes in the KV cache split that is best for `typical`, a decode step. Errors: those of
    /// priced_pass(); `not_calibrated` if a part of a pass has no model; `unsupported` for models with experts, because
    /// the number of experts read depends on the batch, and for pipelines.
    [[nodiscard]] static Result<ExpectedServing> make(const ServingSetup& setup, const Plan& plan,
                                                      const ServingPass& typical);

    /// Seconds of a decode step of `sequences` sequences with `context` tokens of context each.
    [[nodiscard]] double decode_s(double sequences, double context) const;
    /// Seconds of a prefill pass over `prompts` prompts of `tokens` tokens each.
    [[nodiscard]] double prompts_s(double prompts, double tokens) const;
    /// Number of kernels and collectives of a prefill pass.
    [[nodiscard]] double launches() const { return launches_; }

private:
    struct Pass {
        CompiledExpected expected;
        std::vector<std::string> dims;  ///< dimensions whose sizes are arguments
        std::vector<double> windows;    ///< per dimension: the size of an attention window, or 0
    };

    ExpectedServing(Pass decode, Pass prefill, double launches, std::shared_ptr<Calibrations> calibrations)
        : decode_(std::move(decode)),
          prefill_(std::move(prefill)),
          launches_(launches),
          calibrations_(std::move(calibrations)) {}

    [[nodiscard]] static Result<Pass> compile(const Prediction& pass, const Model& model, bool decoding);
    [[nodiscard]] static double seconds(const Pass& pass, double batch, double context);

    Pass decode_;
    Pass prefill_;
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
