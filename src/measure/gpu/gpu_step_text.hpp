// Pieces of the kernels' text that several kinds of steps share. Internal to src/measure/gpu.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/gpu/gpu_steps.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core {

inline constexpr unsigned gpu_step_threads = 256;
inline constexpr std::int64_t most_gpu_blocks = 1 << 20;

/// The dtypes of a step's arrays.
struct GpuStepArrays {
    std::vector<Dtype> inputs;
    Dtype output = Dtype::f32;
    std::size_t out = 0;  ///< its place among the arguments
};

/// Errors, code "unsupported": a dtype that the kernels do not have, too many arrays.
[[nodiscard]] Result<GpuStepArrays> gpu_step_arrays(const RunStep& step, const StepProgram& program);

/// The product of sizes [first, last).
[[nodiscard]] std::int64_t product_of_sizes(const std::vector<std::int64_t>& sizes, std::size_t first,
                                            std::size_t last);
/// "S_bf16": a stored element of the prelude; null for a dtype that it does not have.
[[nodiscard]] const char* gpu_stored_type(Dtype dtype);
/// "float", "double" or "int".
[[nodiscard]] const char* gpu_register_type(Dtype arithmetic);
/// "p0 * 4096 + p2": an offset from the loops' places.
[[nodiscard]] std::string gpu_offset_text(const std::vector<std::int64_t>& strides);
/// Places p0, p1 ... of loops [first, last) out of the number `from`, the last loop fastest.
[[nodiscard]] std::string gpu_places_text(const std::string& from, const std::vector<std::int64_t>& loops,
                                          std::size_t first, std::size_t last);
/// Whether it has a rope, which looks at neighbours.
[[nodiscard]] bool turns_neighbours(const Tape& tape);

/// A tape as text, for arrays of `dtypes` and registers of `type`. Each register holds `lanes` neighbours along the last of `loops`
/// loops; `LAST` is defined as the size of that loop.
class GpuTapeText {
public:
    GpuTapeText(const Tape& tape, const std::vector<Dtype>& dtypes, const char* type, std::size_t loops, int lanes)
        : tape_(tape), dtypes_(dtypes), type_(type), loops_(loops), lanes_(lanes) {}

    /// Registers 0 to `count`, at the places p0, p1 ... `prefix` begins the names of the functions of rope's neighbours.
    [[nodiscard]] std::string statements(std::size_t count, const std::string& prefix) const;
    /// The function of one place, and those that it needs.
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

/// Softmax, norms, reductions and scans.
[[nodiscard]] Result<GpuStepSource> gpu_row_source(const RowStep& row, const GpuStepArrays& arrays,
                                                   int multiprocessors);

}  // namespace roofline::core
