// Predictions of measured forward passes: prompts and generated tokens of quantised models.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/pass/fit_passes.hpp"
#include "import/model_names.hpp"
#include "import/pass_table.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/serve/served_model.hpp"

namespace roofline::core {

/// Predicts the rows of a table, each model and each pass once.
class MeasuredPassRuns {
public:
    /// Errors: those of the built-in data.
    [[nodiscard]] static Result<MeasuredPassRuns> make(MeasuredSystems systems, const Calibrations& calibrations);

    /// Returns a row with its prediction: `generation` (seconds per token) or `prompt` (seconds of all of it). The
    /// message of the error is the reason why it cannot be compared.
    [[nodiscard]] Result<Comparison> compare(const MeasuredPass& row);

    /// Returns a row as the fit takes it, with the same errors.
    [[nodiscard]] Result<PassSample> sample(const MeasuredPass& row);

    /// Returns the rates of the chips used so far, each with its machine.
    [[nodiscard]] std::vector<std::pair<std::string, Rate>> rates() const;

private:
    /// A model in one quantisation.
    struct Quantised {
        ServedModel prefill;
        ServedModel decode;
    };
    /// A pass on one chip.
    struct Priced {
        PassParts parts;
        double lower_s = 0;
        std::string machine;
        std::int64_t cores = 0;
    };

    MeasuredPassRuns(MeasuredSystems systems, ModelNames names, const Calibrations& calibrations)
        : systems_(std::move(systems)), names_(std::move(names)), models_(calibrations.passes()) {}

    [[nodiscard]] Result<const Quantised*> quantised(const MeasuredPass& row);
    [[nodiscard]] static Result<std::unique_ptr<Quantised>> quantise(const std::string& preset,
                                                                     const std::string& weights);
    [[nodiscard]] Result<Priced> priced(const MeasuredPass& row);
    [[nodiscard]] Result<Priced> price(const MeasuredPass& row);

    MeasuredSystems systems_;
    ModelNames names_;
    PassModels models_;
    std::map<std::pair<std::string, std::string>, Result<std::unique_ptr<Quantised>>> quantised_;
    std::map<std::tuple<std::string, std::string, std::string, std::string, bool, std::int64_t>, Result<Priced>>
        priced_;
    std::map<std::string, std::pair<std::string, Rate>> rates_;
};

}  // namespace roofline::core
