// Functions that generate source code for several kinds of steps. Internal to src/measure/gpu.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/gpu/gpu_steps.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core {

inline constexpr unsigned gpu_step_threads = 256;
inline constexpr std::int64_t max_gpu_blocks = 1 << 20;

/// The dtypes of a step's arrays.
struct GpuStepArrays {
    std::vector<Dtype> inputs;
    Dtype output = Dtype::f32;
    std::size_t out = 0;  ///< index of the output among the arguments
};

/// Errors, code "unsupported": a dtype that the kernels do not support, too many arrays.
[[nodiscard]] Result<GpuStepArrays> gpu_step_arrays(const RunStep& step, const StepProgram& program);

/// The product of sizes [first, last).
[[nodiscard]] std::int64_t product_of_sizes(const std::vector<std::int64_t>& sizes, std::size_t first,
                                            std::size_t last);
/// Name of a stored element type of the prelude, e.g. "S_bf16"; null for an unsupported dtype.
[[nodiscard]] const char* gpu_stored_type(Dtype dtype);
/// Type of registers: "float", "double" or "int".
[[nodiscard]] const char* gpu_register_type(Dtype arithmetic);
/// An offset computed from the positions of the loops, e.g. "p0 * 4096 + p2".
[[nodiscard]] std::string gpu_offset_text(const std::vector<std::int64_t>& strides);
/// Code that computes positions p0, p1 ... of loops [first, last) from the number `from`; the last loop is fastest.
[[nodiscard]] std::string gpu_places_text(const std::string& from, const std::vector<std::int64_t>& loops,
                                          std::size_t first, std::size_t last);
/// Returns whether the tape has a rope, which reads neighbours.
[[nodiscard]] bool turns_neighbours(const Tape& tape);

/// Generates code for a tape, for arrays of `dtypes` and registers of `type`. Each register holds `lanes` neighbours
/// along the last of `loops` loops; `LAST` is defined as the size of that loop.
class GpuTapeText {
public:
    GpuTapeText(const Tape& tape, const std::vector<Dtype>& dtypes, const char* type, std::size_t loops, int lanes)
        : tape_(tape), dtypes_(dtypes), type_(type), loops_(loops), lanes_(lanes) {}

    /// Code for registers 0 to `count` at positions p0, p1 ... Names of the functions for rope's neighbours begin with
    /// `prefix`.
    [[nodiscard]] std::string statements(std::size_t count, const std::string& prefix) const;
    /// A function that computes the tape at one position, and the functions that it needs.
    [[nodiscard]] std::string function(const std::string& name) const;

private:
    [[nodiscard]] std::string one_function(const std::string& name, std::size_t count, const std::string& prefix) const;
    [[nodiscard]] std::string parameters() const;
    [[nodiscard]] std::string statement(std::size_t i, const std::string& prefix) const;
    [[nodiscard]] std::string place(std::size_t loop) const;
    [[nodiscard]] std::string load(const TapeOp& op, std::size_t i, std::string& before) const;
    [[nodiscard]] std::string shifted(const TapeOp& op, std::size_t i, std::string& before) const;
    [[nodiscard]] std::string call(const TapeOp& op) const;
    [[nodiscard]] std::string rope(const TapeOp& op, const std::string& prefix) const;

    const Tape& tape_;
    const std::vector<Dtype>& dtypes_;
    const char* type_;
    std::size_t loops_;
    int lanes_;
};

/// Source for softmax, norms, reductions and scans.
[[nodiscard]] Result<GpuStepSource> gpu_row_source(const RowStep& row, const GpuStepArrays& arrays,
                                                   int multiprocessors);

}  // namespace roofline::core
