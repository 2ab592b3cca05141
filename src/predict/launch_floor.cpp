#include "predict/launch_floor.hpp"

#include <fmt/format.h>

#include "calibrate/expected_program.hpp"
#include "calibrate/kernel/kernel_transfer.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// A time on the clock of a host is that of its calls, not of a kernel.
bool tells_launch(const CalibratedKernel* model, KernelKind kind) {
    return model != nullptr && model->key.kind == kind && model->key.variant != "wall clock" &&
           model->fit.model.fixed_s > 0;
}

LaunchFloor floor_of(const CalibratedKernel& model, const std::string& machine) {
    const std::string& software = model.key.software;
    return {model.fit.model.fixed_s, fmt::format("the launch overhead of {} kernels{}{} on {}", name(model.key.kind),
                                                 software.empty() ? "" : " with ", software, machine)};
}

}  // namespace

std::optional<LaunchFloor> launch_floor(Calibrations& calibrations, const Machine& machine,
                                        const std::string& software) {
    for (const KernelKind kind : {KernelKind::elementwise, KernelKind::normalisation, KernelKind::activation}) {
        const CalibratedKernel* own = choose_kernel(calibrations, machine.id, {kind, "", "", ""}, software);
        if (tells_launch(own, kind)) return floor_of(*own, machine.name);
    }
    const KernelKey least{KernelKind::elementwise, "", "", ""};
    const TransferredKernel other = transferred_kernel(calibrations, machine, least, software);
    if (tells_launch(other.model, least.kind)) return floor_of(*other.model, other.machine);
    if (machine.kind == "cpu") return std::nullopt;
    return LaunchFloor{shortest_kernel_s, "the shortest time of any published kernel"};
}

std::string floor_text(const LaunchFloor& floor) {
    return fmt::format("{} per launch, {}", to_text(Seconds{floor.seconds}), floor.source);
}

}  // namespace roofline::core
