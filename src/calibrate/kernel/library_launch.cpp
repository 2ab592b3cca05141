#include "calibrate/kernel/library_launch.hpp"

#include <algorithm>

#include "calibrate/collective/software_name.hpp"

namespace roofline::core {

namespace {

/// The launch overhead that was fitted to the kernels with the fewest rows.
double fitted_launch(const KernelFit& fit) {
    return fit.bands.empty() ? fit.model.fixed_s : fit.bands.front().sized.model.fixed_s;
}

bool shows_launch(const KernelFit& fit) { return 4 * fitted_launch(fit) >= fit.least_s; }

/// Plain matmuls only: an expert layer is several kernels, and the constant of attention is more than a launch.
bool is_matmul_of_library(const CalibratedKernel& kernel) {
    return kernel.key.kind == KernelKind::contraction && !kernel.key.software.empty() && !launched_by_host(kernel.key);
}

}  // namespace

void add_launches(std::vector<CalibratedKernel>& kernels) {
    for (CalibratedKernel& kernel : kernels) {
        double& launch_s = kernel.fit.launch_s;
        launch_s = 0;
        if (!is_matmul_of_library(kernel) || shows_launch(kernel.fit)) continue;
        const auto library = split_software_name(kernel.key.software).library;
        for (const CalibratedKernel& other : kernels) {
            if (!is_matmul_of_library(other) || !shows_launch(other.fit)) continue;
            if (split_software_name(other.key.software).library != library) continue;
            const double launch = fitted_launch(other.fit);
            launch_s = launch_s > 0 ? std::min(launch_s, launch) : launch;
        }
    }
}

}  // namespace roofline::core
