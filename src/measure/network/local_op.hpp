// One operation on this rank's shards.
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

/// A share of an operation, ready to run: its kernels and the arrays between them. Inputs and output are given at every call.
class LocalOp {
public:
    LocalOp(const LocalOp&) = delete;
    LocalOp& operator=(const LocalOp&) = delete;
    ~LocalOp();

    /// Errors: what make_steps() and the device refuse.
    [[nodiscard]] static Result<std::unique_ptr<LocalOp>> make(OpShare share, Device& device);

    [[nodiscard]] std::string text() const;  ///< "matmul 64 x 2048 x 4096"

    /// The operand whose memory the result is: of rows that are written in place.
    [[nodiscard]] std::optional<std::size_t> writes_into() const;
    /// Whether a kernel likes this operand laid out anew.
    [[nodiscard]] bool packs(std::size_t operand) const;
    /// Lays out anew, once, what kernels like to have so: the inputs by operand that will not change any more.
    [[nodiscard]] Status pack(const std::vector<const void*>& inputs);
    /// `inputs` by operand; operands that are one value are one array.
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
