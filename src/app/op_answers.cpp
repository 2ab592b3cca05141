#include "app/op_answers.hpp"

#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/system_option.hpp"
#include "app/tile_option.hpp"
#include "predict/predict.hpp"

namespace roofline::core {

namespace {

// Ranks compute where the operands or the result are stored.
LayoutFreedom layout_freedom_of(const OpRequest& request) {
    return request.in_place ? LayoutFreedom::as_written : LayoutFreedom::any;
}

CalibrationRef beside(const OpRequest& request) {
    CalibrationRef reference = request.calibration;
    for (const MachineRef& machine : request.machines) reference.beside.push_back(machine.name);
    return reference;
}

}  // namespace

Result<std::vector<Prediction>> op_answers(const OpRequest& request, const std::vector<SweepAxis>& axes) {
    ROOFLINE_TRY(auto read, read_program(request, axes));
    if (!axes.empty()) {
        ROOFLINE_CHECK(apply_sweep(read.program, axes));
    }
    return answers_of(request, read, axes);
}

Result<std::vector<Prediction>> answers_of(const OpRequest& request, const UserProgram& read,
                                           const std::vector<SweepAxis>& axes) {
    const Program& program = read.program;
    PredictOptions options;
    options.name = request.program_name;
    options.freedom = layout_freedom_of(request);
    options.axes = axes;
    options.exact_flops = request.exact_flops;
    options.software = request.software;
    ROOFLINE_TRY(options.tiles, tile_choices(request.tiles));
    ROOFLINE_CHECK(check_no_servers(request.calibration));
    std::vector<Prediction> answers;
    for (const MachineRef& reference : request.machines) {
        std::vector<std::string> said = read.notes;
        ROOFLINE_TRY(auto system, resolve_system(reference, request, program, said));
        // Two files may have different calibrations for the same machine.
        ROOFLINE_TRY(auto calibrations, resolve_calibrations(beside(request), {reference}));
        ROOFLINE_TRY(auto answer, predict(program, std::move(system), options,
                                          std::make_shared<Calibrations>(std::move(calibrations))));
        answer.notes.insert(answer.notes.begin(), said.begin(), said.end());
        answers.push_back(std::move(answer));
    }
    return answers;
}

}  // namespace roofline::core
