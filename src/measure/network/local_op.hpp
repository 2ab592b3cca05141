// One operation on this rank's shards.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "layout/op_ways.hpp"
#include "measure/run/device.hpp"
#include "measure/run/steps.hpp"
#include "program/program.hpp"

namespace roofline {

/// An operation of a program as a program of its own, whose inputs are its operands, on the share of each dimension that a chip has
/// when it is split so. Errors: a dimension without a size or that does not divide; a causal mask over a split dimension.
[[nodiscard]] Result<Program> share_of_op(const Program& program, const OpWays& ways, const Way& way,
                                          const System& system);

/// Such a program, ready to run: its kernels and the arrays between them. Inputs and output are given at every call.
class LocalOp {
public:
    LocalOp(const LocalOp&) = delete;
    LocalOp& operator=(const LocalOp&) = delete;
    ~LocalOp();

    /// Errors: what make_steps() and the device refuse.
    [[nodiscard]] static Result<std::unique_ptr<LocalOp>> make(Program program, Device& device);

    [[nodiscard]] std::string text() const;  ///< "matmul 64 x 2048 x 4096"

    /// Whether a kernel likes this operand laid out anew.
    [[nodiscard]] bool packs(std::size_t operand) const;
    /// Lays out anew, once, what kernels like to have so: the inputs by operand that will not change any more.
    [[nodiscard]] Status pack(const std::vector<const void*>& inputs);
    /// `inputs` by operand; operands that are one value are one array.
    [[nodiscard]] Status run(const std::vector<const void*>& inputs, void* output);

private:
    explicit LocalOp(Program program, Device& device) : program_(std::move(program)), device_(device) {}
    [[nodiscard]] void* array(std::size_t index, const std::vector<const void*>& inputs, void* output) const;

    Program program_;
    Device& device_;
    StepProgram steps_;
    std::vector<std::unique_ptr<StepKernel>> kernels_;
    std::vector<void*> scratch_;  ///< by array; null for inputs and the output
    std::vector<void*> packed_;   ///< by step
    std::vector<bool> is_packed_;
};

}  // namespace roofline
