#include "app/serve_question.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/model_option.hpp"
#include "app/system_option.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<std::int64_t> count_option(const std::string& word, std::string_view option, std::int64_t otherwise,
                                  std::vector<std::string>& notes) {
    if (word.empty()) {
        notes.push_back(fmt::format("without {} it is {}", option, otherwise));
        return otherwise;
    }
    auto size = parse_size(word);
    if (!size) return fail(size.error().code, fmt::format("{}: {}", option, size.error().message), size.error().hint);
    if (*size >= 1 && *size <= max_serving_size) return *size;
    return fail("size", fmt::format("{} is {}: it must be 1 to {}", option, *size, max_serving_size));
}

}  // namespace

Result<ServeQuestion> serve_question(const ServeRequest& request) {
    ServeQuestion question;
    ROOFLINE_TRY(question.prompt, count_option(request.prompt, "--prompt", question.prompt, question.notes));
    ROOFLINE_TRY(question.output, count_option(request.output, "--output", question.output, question.notes));
    ROOFLINE_TRY(question.batch, count_option(request.batch, "--batch", question.batch, question.notes));
    // The default is stated next to the activations, and only if it makes a difference there.
    std::vector<std::string> unsaid;
    ROOFLINE_TRY(question.chunk, count_option(request.chunk, "--chunk", question.chunk, unsaid));
    ROOFLINE_TRY(question.kv_dtype, dtype_option(request.kv_dtype, "--kv-dtype"));
    ROOFLINE_TRY(question.weights, dtype_option(request.weights, "--weights"));
    ROOFLINE_TRY(question.config, resolve_config(request.config));
    std::vector<std::string> sets = request.sets;
    if (!request.price.empty()) sets.push_back("price=" + request.price);
    const MachineRef& machine = request.machines.front();
    ROOFLINE_TRY(question.slice, resolve_slice(machine, sets));
    question.machine = machine.name.substr(0, machine.name.find(':'));
    if (!request.mesh.empty()) {
        ROOFLINE_TRY(question.plan, parse_plan(request.mesh, question.slice.chips(), &question.notes));
    }
    question.software = request.software;
    question.textbook = request.textbook;
    question.disaggregated = request.disaggregated;
    return question;
}

Result<ServeAnswer> serve_answer_of(const ServeRequest& request) {
    ROOFLINE_TRY(auto question, serve_question(request));
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, request.machines));
    return predict_serving(std::move(question), std::make_shared<Calibrations>(std::move(calibrations)));
}

}  // namespace roofline::core
