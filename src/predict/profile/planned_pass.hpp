// What a pass of a model consists of by its plan: kernels, with the sizes of their matmuls, and collectives. Recorded
// operations are compared with it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "predict/profile/matmul_size.hpp"
#include "predict/train/train_answer.hpp"

namespace roofline::core {

struct PlannedKernel {
    std::string kind;    ///< as kernel_class() calls it
    std::string result;  ///< name of what it computes: "Qp"
    std::vector<MatmulSize> matmuls{};
    double count = 1;    ///< runs in a pass
    double seconds = 0;  ///< of all of them: the expected time, or the lower bound where nothing is calibrated
};

struct PlannedPass {
    std::string name;  ///< "training step", "prefill", "decode step"
    std::vector<PlannedKernel> kernels;
    std::vector<StepCollective> collectives;
};

/// Returns the kernels and collectives of a predicted pass on one chip.
[[nodiscard]] PlannedPass planned_pass(std::string name, const Prediction& pass);

}  // namespace roofline::core
