// Rows of tables of served models beside the bounds that the model's own passes set.
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

/// The passes of a row are those of `roofline serve`. Their bound is that of the work of a whole pass, shared out
/// evenly among the chips that may do it: nothing is done twice, nothing is sent, all tokens choose the same experts.
/// So it holds whatever the chips really share, which tables name in ways that contradict each other.
class MeasuredServings {
public:
    /// Rows ran on `systems`; their expected times are by `calibrations`. Errors: those of the data of the program.
    [[nodiscard]] static Result<MeasuredServings> make(MeasuredSystems systems, Calibrations calibrations);

    /// The row beside its predictions: `decode` (seconds from one token to the next), `prefill` (to the first one) and
    /// `throughput` (seconds in which the whole set-up makes a token), as far as it says them. The error's message is
    /// the reason for which nothing can be compared.
    [[nodiscard]] Result<std::vector<Comparison>> compare(const MeasuredServing& row);

    /// The row as the constants of its server are fitted to it. The error's message is the reason for which they are
    /// not.
    [[nodiscard]] Result<ServerSample> sample(const MeasuredServing& row);

    /// The rates used so far, with the machine that each belongs to.
    [[nodiscard]] std::vector<std::pair<std::string, Rate>> rates() const;

private:
    /// A pass of one kind on one chip, ready for any batch and context.
    struct Compiled {
        Program program;
        ProgramAnalysis analysis;
        std::vector<std::string> dims;  ///< that a pass sets
        CompiledTimes times;
    };
    /// A model with its weights and caches in some dtypes, on a machine.
    struct Served {
        ServedModel prefill;
        ServedModel decode;
        const System* chip = nullptr;
        std::array<Compiled, 2> passes;         ///< prefill, decode
        std::map<std::int64_t, double> caches;  ///< bytes that a sequence keeps, by its tokens
    };
    /// Seconds of one chip, by resource.
    using Times = std::map<std::string, double>;
    using Key = std::tuple<std::string, std::string, std::string, std::string>;  ///< machine, model, dtypes

    MeasuredServings(MeasuredSystems systems, ModelNames names, Calibrations calibrations)
        : systems_(std::move(systems)), names_(std::move(names)), under_load_(std::move(calibrations)) {}

    [[nodiscard]] Result<Served*> served(const MeasuredServing& row);
    [[nodiscard]] Result<std::unique_ptr<Served>> serve(const MeasuredServing& row);
    [[nodiscard]] static Status compile(Served& served, bool decoding);
    [[nodiscard]] static Times prefill_times(const Served& served, double batch, double prompt);
    [[nodiscard]] static Times decode_times(const Served& served, double batch, const MeasuredServing& row);
    [[nodiscard]] static Times times(const Served& served, bool decoding, double batch, double context);
    [[nodiscard]] static bool prompts_computed(const Served& served, const MeasuredServing& row);
    [[nodiscard]] static Result<double> most_sequences(Served& served, const MeasuredServing& row, std::int64_t chips);
    [[nodiscard]] static Result<double> decode_seconds(Served& served, const MeasuredServing& row);
    [[nodiscard]] static Result<double> seconds_a_token(Served& served, const MeasuredServing& row);

    MeasuredSystems systems_;
    ModelNames names_;
    ServedUnderLoad under_load_;
    std::map<Key, Result<std::unique_ptr<Served>>> served_;
};

}  // namespace roofline::core
