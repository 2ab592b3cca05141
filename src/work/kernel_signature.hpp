// Kernels that are equal but for the names of their tensors: layers of a model repeat them hundreds of times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algebra/polynomial.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// What the work of a kernel follows from.
struct KernelParts {
    const std::vector<const Statement*>& statements;
    const Polynomial& count;
    bool fused = false;
    std::function<bool(ValueId)> stays_inside;  ///< whether a value that it computes is not needed after it
    std::function<bool(ValueId)> computed;      ///< whether a statement of the program computes a value
};

/// Text that is equal for kernels with the same work, and the tensors of a kernel in the order in which they appear.
struct KernelSignature {
    std::string text;
    std::vector<ValueId> values;
};

/// Returns the signature of a kernel; nothing for one that is compared with none: with very many statements, or with a
/// message that depends on others or on single chips.
[[nodiscard]] std::optional<KernelSignature> kernel_signature(const Program& program, const KernelParts& kernel);

}  // namespace roofline::core
