// Expected times of a served model under load: its passes' kernels and collectives, its server, and the requests that
// wait.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/server/server_law.hpp"
#include "plan/serving_queue.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// What the kernels and collectives of a model's passes take one after another on a slice, for any batch and context.
class ExpectedServing {
public:
    /// In the split of caches that suits `typical` best, a decode step. Errors: those of priced_pass();
    /// `not_calibrated` where something in a pass has no law; `unsupported` for models with experts, whose number
    /// depends on the batch, and for pipelines.
    [[nodiscard]] static Result<ExpectedServing> make(const ServingSetup& setup, const Plan& plan,
                                                      const ServingPass& typical);

    /// Seconds of a decode step of so many sequences that look back on `context` tokens.
    [[nodiscard]] double decode_s(double sequences, double context) const;
    /// Seconds of a pass that takes so many prompts of `tokens` in.
    [[nodiscard]] double prompts_s(double prompts, double tokens) const;
    /// Kernels and collectives of a pass that takes prompts in.
    [[nodiscard]] double launches() const { return launches_; }

private:
    struct Pass {
        CompiledExpected expected;
        std::vector<std::string> dims;  ///< that are passed
        std::vector<double> windows;    ///< by dim: the size of a window, or 0
    };

    ExpectedServing(Pass decode, Pass prefill, double launches, std::shared_ptr<Calibrations> laws)
        : decode_(std::move(decode)), prefill_(std::move(prefill)), launches_(launches), laws_(std::move(laws)) {}

    [[nodiscard]] static Result<Pass> compile(const Prediction& pass, const Model& model, bool decoding);
    [[nodiscard]] static double seconds(const Pass& pass, double batch, double context);

    Pass decode_;
    Pass prefill_;
    double launches_ = 0;
    std::shared_ptr<Calibrations> laws_;  ///< that the compiled passes point at
};

/// Requests of one size.
struct RequestSize {
    double prompt = 1;
    double output = 1;

    /// Tokens that a step looks back on, on average.
    [[nodiscard]] double context() const { return prompt + output / 2; }
};

/// What the steps of a server cost, as serving_times() takes them. They refer to `passes`. Steps in between of powers
/// of two of sequences are interpolated.
[[nodiscard]] ServingCosts serving_costs(const ExpectedServing& passes, const ServerLaw& law, const RequestSize& size,
                                         std::int64_t most_sequences);

/// So many requests at a time. A step takes in at most 8192 tokens of prompts, which is what vLLM, SGLang and
/// TensorRT-LLM do unless they are told otherwise; each of the requests is followed by nine more, as benchmarks of
/// servers have it, and they differ by a tenth in their tokens.
[[nodiscard]] ServingLoad serving_load(const RequestSize& size, double requests, double room);

}  // namespace roofline::core
