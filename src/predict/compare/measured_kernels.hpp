// Timed kernels of measurement tables, each priced as the program that it is on the machine that it ran on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/expected_program.hpp"
#include "calibrate/kernel/fit_kernel_laws.hpp"
#include "import/kernel_table.hpp"
#include "predict/compare/comparison.hpp"
#include "predict/compare/measured_systems.hpp"

namespace roofline::core {

class MeasuredKernels {
public:
    /// Rows ran on `systems`; their expected times are by `calibrations`.
    MeasuredKernels(MeasuredSystems systems, Calibrations calibrations)
        : systems_(std::move(systems)), calibrations_(std::move(calibrations)) {}

    /// The row beside its prediction. The error's message is the reason for which it cannot be compared.
    [[nodiscard]] Result<Comparison> compare(const MeasuredKernel& row);

    /// The row as a fit takes it: of several kernels those with products, beside the others. Error: none of several has
    /// one, or they are of different kinds or dtypes, and nobody can tell their times apart; it cannot be priced.
    [[nodiscard]] Result<KernelSample> sample_of(const MeasuredKernel& row);

    /// The rates used so far, with the machine that each belongs to.
    [[nodiscard]] std::vector<std::pair<std::string, Rate>> rates() const;

private:
    /// A cache that can hold what a program works on.
    struct Cache {
        double capacity = 0;
        std::optional<double> bytes_per_s;
    };
    /// A program on a machine with the constants of some software, ready for any size.
    struct Compiled {
        Program program;
        System system;
        ProgramAnalysis analysis;
        std::optional<CompiledProgram> bounds;
        CompiledProgram::Point point;
        CompiledSums bytes;                 ///< of all its tensors
        std::optional<std::size_t> memory;  ///< the resource of the main memory
        double memory_rate = 0;
        std::vector<Cache> caches;  ///< innermost first
        ProgramLaws laws;
        std::optional<CompiledExpected> expected;
        CompiledSums traffic;  ///< of the whole program
        std::vector<CompiledKernel> kernels;
        std::vector<KernelKey> keys;     ///< of the kernels
        std::vector<std::size_t> timed;  ///< the kernels whose law the row's time tells of
        std::vector<double> scratch;
    };
    /// Machine, program, software, variant, and the formulas of its masks at a row's sizes.
    using Key = std::tuple<std::string, std::string, std::string, std::string, std::vector<MaskCase>>;

    /// Lives as long as this object; its sizes are passed in the order of the row's.
    [[nodiscard]] Result<Compiled*> compiled(const MeasuredKernel& row);
    [[nodiscard]] Result<std::unique_ptr<Compiled>> compile(const MeasuredKernel& row);
    /// A row's program without sizes. Lives as long as this object.
    [[nodiscard]] const Result<Program>& parsed(const std::string& text);
    /// The bound where everything stays in the innermost cache that holds it; where none does, that of what is more
    /// than the largest of them can keep from one kernel to the next. Empty without caches.
    [[nodiscard]] static std::optional<double> resident_bound(const Compiled& compiled, double bytes);

    MeasuredSystems systems_;
    Calibrations calibrations_;
    std::map<std::string, Result<Program>> programs_;
    std::map<Key, Result<std::unique_ptr<Compiled>>> compiled_;
};

}  // namespace roofline::core
