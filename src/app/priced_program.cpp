#include "app/priced_program.hpp"

#include "app/uniform_routing.hpp"

namespace roofline {

Result<OpAnswer> priced_program(Program program, const Slice& slice, const std::string& name,
                                const std::string& software, const std::shared_ptr<Calibrations>& calibrations,
                                const CollectiveOptions& collectives, const StayingAxes& stay,
                                const PriceOptions& asked) {
    OpAnswer answer;
    answer.name = name;
    answer.program = std::move(program);
    answer.system.slice = slice;
    answer.system.collectives = collectives;
    answer.machine = slice.machine;
    if (!answer.program.mesh.empty()) {
        auto placed = place_mesh(slice, answer.program.mesh, MeshOrder::innermost_first);
        if (!placed) return fail(placed.error());
        answer.system.mesh = std::move(*placed);
    }
    answer.local = answer.program;
    if (answer.program.sharded()) {
        auto laid = lay_out(answer.program, answer.system, stay, LayoutFreedom::as_written);
        if (!laid) return fail(laid.error());
        answer.notes = std::move(laid->notes);
        answer.local = std::move(laid->local);
        answer.layouts = std::move(laid->statements);
        answer.types = std::move(laid->types);
    }
    if (asked.routing == TokenRouting::uniform) route_uniformly(answer.local, answer.program.sizes, answer.system);
    constexpr bool kernels = true;
    constexpr bool growth = false;  // a plan's sizes are given; where others would lead its own thresholds say
    auto analysis = analyse(answer.program, answer.local, answer.system, {answer.options, kernels, growth});
    if (!analysis) return fail(analysis.error());
    answer.analysis = std::move(*analysis);
    if (auto status = expect(answer, software, calibrations, asked.what); !status) return fail(status.error());
    return answer;
}

}  // namespace roofline
