// Timed kernels of measurement tables, each priced as a program on the machine that it ran on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/compiled_expected.hpp"
#include "calibrate/kernel/fit_kernel_models.hpp"
#include "import/kernel_table.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/compare/resident_bound.hpp"

namespace roofline::core {

/// Compares timed kernels with their predictions. It keeps compiled programs between rows.
class MeasuredKernels {
public:
    /// Compares measurements made on `systems` with expected times by the models in `calibrations`.
    MeasuredKernels(MeasuredSystems systems, Calibrations calibrations)
        : systems_(std::move(systems)), calibrations_(std::move(calibrations)) {}

    /// Returns a measurement with its prediction. The message of the error is the reason why they cannot be compared.
    [[nodiscard]] Result<Comparison> compare(const MeasuredKernel& row);

    /// Returns a measurement as the fit takes it: the kernels with matmuls are timed, the others of the program are
    /// listed separately. Errors: none of several kernels has a matmul, or those that do are of different kinds or
    /// dtypes, so that their times cannot be separated; the program cannot be priced.
    [[nodiscard]] Result<KernelSample> sample_of(const MeasuredKernel& row);

    /// Returns the rates used so far, each with its machine.
    [[nodiscard]] std::vector<std::pair<std::string, Rate>> rates() const;

private:
    /// A program on a machine, with the models of some software, compiled for any sizes.
    struct Compiled {
        Program program;
        System system;
        ProgramAnalysis analysis;
        std::optional<CompiledProgram> bounds;
        CompiledProgram::Point point;
        CompiledSums bytes;                 ///< of all its tensors
        std::optional<std::size_t> memory;  ///< index of the main memory among the resources
        double memory_rate = 0;
        std::vector<CacheRoof> caches;  ///< innermost first
        ProgramModels models;
        std::optional<CompiledExpected> expected;
        CompiledSums traffic;  ///< of the whole program
        std::vector<CompiledKernel> kernels;
        std::vector<KernelKey> keys;     ///< of the kernels
        std::vector<std::size_t> timed;  ///< kernels that the measured time is fitted to
        std::vector<double> scratch;
    };
    /// Machine, program, software, variant, and the formulas of its masks at a row's sizes.
    using Key = std::tuple<std::string, std::string, std::string, std::string, std::vector<MaskCase>>;

    /// Returns the compiled program of a row, which lives as long as this object. Its sizes are passed in the row's
    /// order.
    [[nodiscard]] Result<Compiled*> compiled(const MeasuredKernel& row);
    [[nodiscard]] Result<std::unique_ptr<Compiled>> compile(const MeasuredKernel& row);
    /// Returns a row's program without sizes. It lives as long as this object.
    [[nodiscard]] const Result<Program>& parsed(const std::string& text);
    /// Returns resident_bound(); empty for a program without traffic to main memory.
    [[nodiscard]] static std::optional<double> resident_bound(const Compiled& compiled, double bytes);

    MeasuredSystems systems_;
    Calibrations calibrations_;
    std::map<std::string, Result<Program>> programs_;
    std::map<Key, Result<std::unique_ptr<Compiled>>> compiled_;
};

}  // namespace roofline::core
