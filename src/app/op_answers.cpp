#include "app/op_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/expected_op.hpp"
#include "app/system_option.hpp"
#include "app/tile_option.hpp"
#include "layout/lay_out.hpp"
#include "layout/sweep_layouts.hpp"
#include "notation/notation.hpp"

namespace roofline {

namespace {

// A dimension has one size or a sweep's.
Status check_not_swept(const Sizes& sizes, const std::vector<SweepAxis>& axes) {
    for (const SweepAxis& axis : axes) {
        for (const std::string& dim : axis.dims) {
            if (!sizes.contains(dim)) continue;
            return fail("bad_request", fmt::format("`{}` has a size in --dims and is swept", dim),
                        "leave it out of one of them");
        }
    }
    return {};
}

// At some point of a sweep any resource may decide.
void note_low_confidence(OpAnswer& answer) {
    std::vector<std::string>& notes = answer.analysis.total.notes;
    for (const Resource& resource : answer.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            if (!term.rate.low_confidence()) continue;
            std::string note = low_confidence_note(term.rate);
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
        }
    }
}

void take_layout(OpAnswer& answer, LaidOut laid) {
    answer.local = std::move(laid.local);
    answer.layouts = std::move(laid.statements);
    answer.types = std::move(laid.types);
}

// What one chip does; of a program of one chip all of it. In a sweep the layout may be another at every point.
Status lay_out_answer(OpAnswer& answer, const OpRequest& request, const std::vector<SweepAxis>& axes) {
    answer.local = answer.program;
    if (!answer.program.sharded()) return {};
    if (!request.tiles.empty()) {
        return fail("unsupported", "a program that is split over a mesh takes no --tile yet",
                    "price what one chip does as a program of its own");
    }
    if (axes.empty()) {
        auto laid = lay_out(answer.program, answer.system);
        if (!laid) return fail(laid.error());
        answer.notes.insert(answer.notes.end(), laid->notes.begin(), laid->notes.end());
        take_layout(answer, std::move(*laid));
        return {};
    }
    auto swept = lay_out_sweep(answer.program, answer.system, axes);
    if (!swept) return fail(swept.error());
    const OpAnswer alike = answer;
    for (std::size_t i = 1; i < swept->layouts.size(); ++i) {
        answer.elsewhere.push_back(alike);
        take_layout(answer.elsewhere.back(), std::move(swept->layouts[i]));
    }
    take_layout(answer, std::move(swept->layouts.front()));
    answer.which = std::move(swept->which);
    return {};
}

CalibrationRef beside(const OpRequest& request) {
    CalibrationRef reference = request.calibration;
    for (const MachineRef& machine : request.machines) reference.beside.push_back(machine.name);
    return reference;
}

Status analyse_answer(OpAnswer& answer) {
    auto analysis = analyse(answer.program, answer.local, answer.system, {answer.options, true});
    if (!analysis) return fail(analysis.error());
    answer.analysis = std::move(*analysis);
    for (OpAnswer& other : answer.elsewhere) {
        if (auto status = analyse_answer(other); !status) return status;
    }
    return {};
}

}  // namespace

Result<Program> read_program(const OpRequest& request, const std::vector<SweepAxis>& axes,
                             std::vector<std::string>& notes) {
    auto program = parse_program(request.program, request.program_name);
    if (!program) return program;
    for (const std::string& text : request.dims) {
        auto sizes = parse_sizes(text, "--dims");
        if (!sizes) return fail(sizes.error());
        if (auto status = check_not_swept(*sizes, axes); !status) return fail(status.error());
        auto overruled = bind_sizes(*program, *sizes);
        if (!overruled) return fail(overruled.error());
        notes.insert(notes.end(), overruled->begin(), overruled->end());
    }
    return program;
}

Result<std::vector<SweepAxis>> sweep_axes(const OpRequest& request) {
    if (request.sweeps.size() > 2) {
        return fail("bad_sweep", "a sweep has at most two axes", "keep dimensions equal with D=F=1024,4096");
    }
    std::vector<SweepAxis> axes;
    for (const std::string& text : request.sweeps) {
        auto axis = parse_sweep(text);
        if (!axis) return fail(axis.error());
        axes.push_back(std::move(*axis));
    }
    return axes;
}

Result<std::vector<OpAnswer>> op_answers(const OpRequest& request, const std::vector<SweepAxis>& axes) {
    std::vector<std::string> notes;
    auto program = read_program(request, axes, notes);
    if (!program) return fail(program.error());
    if (!axes.empty()) {
        if (auto status = apply_sweep(*program, axes); !status) return fail(status.error());
    }
    std::vector<OpAnswer> answers;
    for (const MachineRef& reference : request.machines) {
        OpAnswer answer;
        answer.notes = notes;
        auto system = resolve_system(reference, request, *program, answer.notes);
        if (!system) return fail(system.error());
        answer.name = request.program_name;
        answer.program = *program;
        answer.machine = system->machine();
        answer.options.exact_flops = request.exact_flops;
        answer.system = std::move(*system);
        if (auto status = lay_out_answer(answer, request, axes); !status) return fail(status.error());
        auto tiles = resolve_tiles(answer.local, answer.machine, request.exact_flops, request.tiles, answer.notes);
        if (!tiles) return fail(tiles.error());
        answer.options.tiles = std::move(*tiles);
        answers.push_back(std::move(answer));
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        OpAnswer& answer = answers[i];
        if (auto status = analyse_answer(answer); !status) return fail(status.error());
        // two files may give the same machine other constants
        if (auto status = without_servers(request.calibration); !status) return fail(status.error());
        auto calibrations = resolve_calibrations(beside(request), {request.machines[i]});
        if (!calibrations) return fail(calibrations.error());
        auto shared = std::make_shared<Calibrations>(std::move(*calibrations));
        if (auto status = expect(answer, request.software, std::move(shared)); !status) return fail(status.error());
        if (!axes.empty()) note_low_confidence(answer);
    }
    return answers;
}

}  // namespace roofline
