// Compares a recorded step with that of a plan: which kernels are not in the plan, which are missing, and where each
// class loses time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "predict/profile/planned_pass.hpp"
#include "predict/profile/profile_row.hpp"

namespace roofline::core {

/// The passes that a recorded step should consist of.
struct PlannedStep {
    std::string job;  ///< "training step of llama.json, 4,096 tokens, data=8"
    std::vector<PlannedPass> passes;
    bool counted = true;      ///< each pass runs once; otherwise the recorded matmuls tell how often each of them ran
    bool recomputes = false;  ///< the plan has recomputation
};

/// Kernels of one class. Times are seconds of an average step.
struct ComparedClass {
    std::string kind;
    double runs = 0;          ///< recorded kernels or calls
    double measured_s = 0;    ///< of these
    double planned_runs = 0;  ///< of the plan
    double planned_s = 0;     ///< their expected times, or bounds
    double extra_s = 0;       ///< part of `measured_s` of what the plan does not have
    double missing_s = 0;     ///< part of `planned_s` of what was not recorded

    /// How much longer the kernels take that both have.
    [[nodiscard]] double slower_s() const { return (measured_s - extra_s) - (planned_s - missing_s); }
};

/// Kernels that only one of the two has.
struct UnmatchedKernels {
    std::string what;   ///< "matmul 4096 x 512 x 1536"
    std::string cause;  ///< why they may be there, or ""
    double runs = 0;
    double seconds = 0;  ///< as measured; of what is missing as expected
};

struct StepComparison {
    std::string job;
    std::vector<std::pair<std::string, double>> passes;  ///< names, and how often each ran
    std::vector<ComparedClass> classes;                  ///< those that lose most first
    std::vector<UnmatchedKernels> extra;                 ///< recorded, and not in the plan; the longest first
    std::vector<UnmatchedKernels> missing;               ///< in the plan, and not recorded; likewise
    std::vector<UnmatchedKernels> unknown;               ///< recorded, and nothing is known of what they compute
    double measured_s = 0;                               ///< of all kernels and collectives
    double planned_s = 0;                                ///< likewise
    std::vector<std::string> notes;
};

/// Compares the operations of a recorded step with those of a plan. Matmuls are matched by their sizes up to
/// transposition, those of several weights side by side as one wider matmul, and, where the profile has FLOPs and no
/// shapes, by their FLOPs; attention as one kernel or as the matmuls in it; collectives by kind and bytes; everything
/// else by class. Classes that only one of the two has, such as norms that run as elementwise kernels, are
/// compared together. Errors: `other_model` if no recorded matmul is one of the plan's.
[[nodiscard]] Result<StepComparison> compare_step(const std::vector<ProfileRow>& rows, const PlannedStep& planned,
                                                  const std::string& profile);

}  // namespace roofline::core
