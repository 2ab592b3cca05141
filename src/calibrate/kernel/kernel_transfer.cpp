#include "calibrate/kernel/kernel_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/expected_program.hpp"
#include "machine/catalogue.hpp"
#include "machine/identity.hpp"

namespace roofline::core {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

double doublings(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log2(a / b)) : 0; }

double matrix_rate(const Machine& machine) {
    const auto assigned = assign(machine, Unit::matmul, Dtype::bf16);
    return assigned && assigned->peak->rate.value ? assigned->peak->rate.value->value : 0;
}

double memory_rate(const Machine& machine) {
    const MemoryLevel* memory = machine.level("hbm");
    return memory != nullptr && memory->bandwidth.value ? memory->bandwidth.value->value : 0;
}

bool comparable(const Machine& a, const Machine& b) { return a.vendor == b.vendor && a.kind == b.kind; }

struct NearMachine {
    double unlike = 0;
    std::string machine;
};

}  // namespace

Machine without_changes(const Machine& machine) {
    Machine itself = machine;
    std::vector<Change> changes = std::exchange(itself.changes, {});
    std::reverse(changes.begin(), changes.end());
    for (const Change& change : changes) {
        const bool compared =
            change.path == "hbm.bandwidth" || change.path == "vector.f32" || change.path.starts_with("matmul.");
        // one that the machine lacked stays as it was set
        if (compared) (void)set_figure(itself, fmt::format("{}={}", change.path, change.before));
    }
    itself.changes.clear();
    return itself;
}

double machine_distance(const Machine& a, const Machine& b) {
    if (!comparable(a, b)) return never;
    const double years = a.year > 0 && b.year > 0 ? std::abs(a.year - b.year) : 0;  // measured machines have no year
    return years + doublings(matrix_rate(a), matrix_rate(b)) + doublings(memory_rate(a), memory_rate(b)) +
           doublings(static_cast<double>(a.cores), static_cast<double>(b.cores));
}

const std::vector<std::string>& Calibrations::most_similar_machines(const Machine& machine) {
    const auto known = most_similar_machines_.find(machine.id);
    if (known != most_similar_machines_.end()) return known->second;
    const Machine itself = without_changes(machine);
    std::vector<NearMachine> candidates;
    for (const std::string& id : machines()) {
        if (id == machine.id) continue;
        // reading a whole file takes much longer than its first lines
        const auto identity = find_identity(id);
        if (!identity || !comparable(machine, *identity)) continue;
        const auto other = find_machine(id);
        if (!other) continue;
        const double unlike = machine_distance(itself, *other);
        if (unlike < never) candidates.push_back({unlike, id});
    }
    std::sort(candidates.begin(), candidates.end(), [](const NearMachine& a, const NearMachine& b) {
        return a.unlike != b.unlike ? a.unlike < b.unlike : a.machine < b.machine;
    });
    std::vector<std::string>& ids = most_similar_machines_[machine.id];
    for (NearMachine& each : candidates) ids.push_back(std::move(each.machine));
    return ids;
}

TransferredKernel transferred_kernel(Calibrations& calibrations, const Machine& machine, const KernelKey& key,
                                     const std::string& software) {
    for (const std::string& id : calibrations.most_similar_machines(machine)) {
        const CalibratedKernel* model = choose_kernel(calibrations, id, key, software);
        if (model != nullptr && !launched_by_host(model->key)) return {model, id};
    }
    return {};
}

void measure_transfer_errors(std::vector<Calibration>& all, const std::vector<KernelSample>& samples) {
    Calibrations calibrations{all};
    struct TransferErrors {
        TransferredKernel kernel;
        double sum = 0;
        double rows = 0;
    };
    std::map<std::tuple<std::string, KernelKey>, TransferErrors> transferred;
    for (const KernelSample& sample : samples) {
        const auto [at, added] = transferred.try_emplace({sample.machine, sample.key});
        TransferErrors& each = at->second;
        if (added) {
            const auto machine = find_machine(sample.machine);
            if (machine && machine->id == sample.machine) {
                each.kernel = transferred_kernel(calibrations, *machine, sample.key, sample.key.software);
            }
        }
        const Calibration* own = calibrations.find(sample.machine);
        if (each.kernel.model == nullptr || own == nullptr) continue;
        TimedKernel timed = sample.timed;
        timed.known_s = seconds_of_others(sample, own);
        const double error = error_of(each.kernel.model->fit, timed);
        if (error > 30) continue;  // a wrong unit; the fit excludes it, too
        each.sum += error;
        each.rows += 1;
    }
    for (Calibration& calibration : all) {
        for (CalibratedKernel& kernel : calibration.kernels) {
            const auto found = transferred.find({calibration.machine, kernel.key});
            if (found == transferred.end() || !(found->second.rows > 0)) continue;
            kernel.fit.error_transferred = found->second.sum / found->second.rows;
        }
    }
}

}  // namespace roofline::core
