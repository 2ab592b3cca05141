// One operation on the shards of this rank.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "measure/network/op_share.hpp"
#include "measure/run/device.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core {

/// A rank's share of an operation, ready to run: its kernels and the arrays between them. Every call passes inputs and
/// output.
class LocalOp {
public:
    LocalOp(const LocalOp&) = delete;
    LocalOp& operator=(const LocalOp&) = delete;
    ~LocalOp();

    /// Errors: those of make_steps() and of the device.
    [[nodiscard]] static Result<std::unique_ptr<LocalOp>> make(OpShare share, Device& device);

    [[nodiscard]] std::string text() const;  ///< "matmul 64 x 2048 x 4096"

    /// The operand whose memory also holds the result, for rows that are written in place.
    [[nodiscard]] std::optional<std::size_t> writes_into() const;
    /// Returns whether a kernel prefers this operand in a packed layout.
    [[nodiscard]] bool packs(std::size_t operand) const;
    /// Packs the operands in the layouts that kernels prefer. Call it once; `inputs` holds, by operand, the arrays that
    /// will not change.
    [[nodiscard]] Status pack(const std::vector<const void*>& inputs);
    /// Runs the operation. `inputs` is by operand; operands that are the same value are one array.
    [[nodiscard]] Status run(const std::vector<const void*>& inputs, void* output);

private:
    explicit LocalOp(OpShare share, Device& device) : share_(std::move(share)), device_(device) {}
    [[nodiscard]] void* array(std::size_t index, const std::vector<const void*>& inputs, void* output) const;

    OpShare share_;
    Device& device_;
    StepProgram steps_;
    std::vector<std::unique_ptr<StepKernel>> kernels_;
    std::vector<void*> scratch_;  ///< by array; null for inputs and the output
    std::vector<void*> packed_;   ///< by step
    std::vector<bool> is_packed_;
};

}  // namespace roofline::core
