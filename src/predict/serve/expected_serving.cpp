#include "predict/serve/expected_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/routed_experts.hpp"

namespace roofline::core {

Result<ExpectedServing> ExpectedServing::make(const ServingSetup& setup, const Plan& plan, const ServingPass& typical) {
    if (plan.pipeline > 1 || !routed_experts(setup.decode.model.program).empty()) {
        return fail("unsupported",
                    "expected times under load are not available for models with experts and for pipelines");
    }
    ROOFLINE_TRY(auto split, best_split(setup, plan, typical));
    ROOFLINE_TRY(auto prefill, priced_pass(setup, plan, CacheSplit::heads, prefill_pass(plan, typical.context)));
    ROOFLINE_TRY(auto decoding, compile(split.pass, setup.decode.model, true));
    ROOFLINE_TRY(auto prefilling, compile(prefill, setup.prefill.model, false));
    double launches = 0;
    for (const CompiledKernel::Runs& kernel : prefill.runs) launches += kernel.count;
    for (const MessageWork& each : prefill.analysis.total.work.messages) {
        const auto count = each.count.evaluate(prefill.program.sizes);
        if (count) launches += count->to_double();
    }
    return ExpectedServing(std::move(decoding), std::move(prefilling), launches, setup.calibrations);
}

Result<ExpectedServing::Pass> ExpectedServing::compile(const Prediction& pass, const Model& model, bool decoding) {
    if (!pass.expected_s) {
        return fail("not_calibrated",
                    fmt::format("no calibration for {} on {}", pass.models.missing, pass.machine.name));
    }
    std::vector<std::string> dims{"B", "S"};
    std::vector<double> windows{0, 0};
    if (!decoding) {
        dims.emplace_back("T");
        windows.push_back(0);
    }
    for (const auto& [window, size] : model.windows) {
        dims.push_back(window);
        windows.push_back(static_cast<double>(size));
    }
    return Pass{CompiledExpected(pass.program, pass.analysis, pass.system, pass.models, dims), dims, windows};
}

double ExpectedServing::seconds(const Pass& pass, double batch, double context) {
    std::vector<double> sizes;
    for (std::size_t i = 0; i < pass.dims.size(); ++i) {
        sizes.push_back(i == 0 ? batch : pass.windows[i] > 0 ? std::min(context, pass.windows[i]) : context);
    }
    std::vector<double> scratch(pass.expected.places());
    return pass.expected.evaluate(sizes, scratch).seconds;
}

double ExpectedServing::decode_s(double sequences, double context) const {
    return seconds(decode_, sequences, context);
}

double ExpectedServing::prompts_s(double prompts, double tokens) const { return seconds(prefill_, prompts, tokens); }

}  // namespace roofline::core
