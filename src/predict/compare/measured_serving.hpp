// Measurements of served models, compared with the bounds of the model's passes and with expected times under load.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bound/analysis.hpp"
#include "import/model_names.hpp"
#include "import/serving_table.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/compare/served_under_load.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// Measurements of served models with their predictions. The passes are those of `roofline serve`. Their lower bound is
/// the work of a whole pass divided evenly among the chips that may execute it, without duplicated work or
/// communication, and with all tokens choosing the same experts. It is therefore valid for any parallelism, which the
/// tables describe inconsistently.
class MeasuredServingRuns {
public:
    /// Makes a comparison of measurements on `systems` with expected times by the models in `calibrations`. Errors:
    /// those of the built-in data.
    [[nodiscard]] static Result<MeasuredServingRuns> make(MeasuredSystems systems, Calibrations calibrations);

    /// Returns a row with its predictions, as far as it contains the measurements: `decode` (time per output token),
    /// `prefill` (time to first token) and `throughput` (time per token that the whole set-up generates), in seconds.
    /// The message of the error is the reason why nothing can be compared.
    [[nodiscard]] Result<std::vector<Comparison>> compare(const MeasuredServing& row);

    /// Returns a row as the fit of its server's model takes it. The message of the error is the reason why it cannot be
    /// used.
    [[nodiscard]] Result<ServerSample> sample(const MeasuredServing& row);

    /// Returns platform_of() the machine of a row; "" if it is not known.
    [[nodiscard]] std::string platform_of_row(const MeasuredServing& row);

    /// Returns the rates used so far, each with its machine.
    [[nodiscard]] std::vector<std::pair<std::string, Rate>> rates() const;

private:
    /// A pass of one kind on one chip, compiled for any batch and context.
    struct Compiled {
        Program program;
        ProgramAnalysis analysis;
        std::vector<std::string> dims;  ///< dimensions that depend on the pass
        CompiledTimes times;
    };
    /// A model with given dtypes of weights and KV cache, on a machine.
    struct Served {
        ServedModel prefill;
        ServedModel decode;
        const System* chip = nullptr;
        std::array<Compiled, 2> passes;         ///< prefill, decode
        std::map<std::int64_t, double> caches;  ///< bytes of KV cache per sequence, by its number of tokens
    };
    /// Seconds on one chip per resource.
    using Times = std::map<std::string, double>;
    /// Machine, model, dtype of the weights, dtype of the KV cache.
    using Key = std::tuple<std::string, std::string, std::string, std::string>;

    MeasuredServingRuns(MeasuredSystems systems, ModelNames names, Calibrations calibrations)
        : systems_(std::move(systems)), names_(std::move(names)), under_load_(std::move(calibrations)) {}

    [[nodiscard]] Result<Served*> served(const MeasuredServing& row);
    [[nodiscard]] Result<std::unique_ptr<Served>> serve(const MeasuredServing& row);
    [[nodiscard]] static Status compile(Served& served, bool decoding);
    [[nodiscard]] static Times prefill_times(const Served& served, double batch, double prompt);
    [[nodiscard]] static Times decode_times(const Served& served, double batch, const MeasuredServing& row);
    [[nodiscard]] static Times times(const Served& served, bool decoding, double batch, double context);
    [[nodiscard]] static Status prompts_computed(const Served& served, const MeasuredServing& row);
    [[nodiscard]] Result<ServingTimes> expected(const Served& served, const MeasuredServing& row);
    [[nodiscard]] static Result<double> max_sequences(Served& served, const MeasuredServing& row, std::int64_t chips);
    [[nodiscard]] static Result<double> decode_seconds(Served& served, const MeasuredServing& row);
    [[nodiscard]] static Result<double> seconds_per_token(Served& served, const MeasuredServing& row);

    MeasuredSystems systems_;
    ModelNames names_;
    ServedUnderLoad under_load_;
    std::map<Key, Result<std::unique_ptr<Served>>> served_;
};

}  // namespace roofline::core
