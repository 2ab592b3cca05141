// Expected times of whole programs: the sum over the models of all kernels and collectives.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "bound/times.hpp"
#include "calibrate/attention_blend.hpp"
#include "calibrate/calibration.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/kernel/extrapolation.hpp"
#include "calibrate/kernel/kernel_kind.hpp"

namespace roofline::core {

/// Orders libraries: of two models that match a request equally well, the one with the lower rank is selected.
using LibraryRank = std::function<std::size_t(const KernelKey&)>;
/// Selects the model of a calibration for a kernel; null if there is none. The criteria are, in this order: the kind,
/// or else a broader kind (attention for causal, latent and windowed attention, elementwise for reductions and
/// quantizations); the dtype, or else the narrow dtype that operands are quantized to, or else one whose weights have
/// that dtype, or else a model for any dtype;
/// the requested `software` and its version; the variant, or else the default variant. Among versions of one library
/// the newest is selected, among libraries the one with the lowest `rank`, then with the lowest held-out error. Models
/// of kernels that a host launched one by one come last, unless they are requested.
[[nodiscard]] const CalibratedKernel* choose_kernel(const Calibration& calibration, const KernelKey& key,
                                                    const std::string& software, const LibraryRank& rank = {});
/// As above for all models of a machine; only those that may apply are read. Libraries are ranked by
/// Calibrations::libraries().
[[nodiscard]] const CalibratedKernel* choose_kernel(Calibrations& calibrations, std::string_view machine,
                                                    const KernelKey& key, const std::string& software);

/// Properties of a chip that kernel models use in addition to its rates; 0 if not published.
struct ChipTraits {
    double cores = 0;        ///< number of cores that tiles of a result are distributed over
    double cache_bytes = 0;  ///< capacity of its largest cache
    double array_side = 0;   ///< of its matrix units, if they are square arrays; 0: unknown
};
/// Returns these properties of a machine's chip. Its main memory does not count as a cache.
[[nodiscard]] ChipTraits chip_traits(const Machine& machine);

/// Returns the main-memory traffic of a program in bytes, summed over all kernels, as a single sum. Kernel models
/// compare it with the cache.
[[nodiscard]] CompiledSums program_traffic(const ProgramAnalysis& analysis, const std::vector<std::string>& swept,
                                           const Sizes& fixed);

/// The times of a kernel's resources, compiled: given sizes, it returns the input of the kernel model for one run and
/// the number of runs.
class CompiledKernel {
public:
    /// Compiles the kernel at `index` of the program. `swept` are the dimensions whose sizes are arguments; all others
    /// must be in `fixed`.
    CompiledKernel(const ProgramAnalysis& analysis, std::size_t index, const ChipTraits& chip,
                   const std::vector<std::string>& swept, const Sizes& fixed);

    struct Runs {
        KernelPoint point;
        double count = 0;
    };
    [[nodiscard]] std::size_t places() const { return times_.places() + counts_.size(); }
    /// Does not allocate. `scratch` has places() elements; `traffic` is the value of program_traffic() for these sizes.
    [[nodiscard]] Runs evaluate(std::span<const double> sizes, double traffic, std::span<double> scratch) const;

private:
    [[nodiscard]] static double KernelPoint::* part_of(const Resource& resource, const KernelWork& kernel);
    /// Adds the counts of the matmul that is tiled, and the depths of all matmuls with and without heads.
    void add_matmuls(const LocalDims& local, const KernelWork& kernel, std::vector<WeightedSum>& sums);

    CompiledTimes times_;
    CompiledSums counts_;  ///< the values that Count names, followed by the depths of all matmuls
    ChipTraits chip_;
    double memory_rate_ = 0;
    std::size_t products_ = 0;  ///< matmuls of the matrix units
    bool whole_rows_ = false;
    bool tiled_product_ = false;
    std::vector<double KernelPoint::*> parts_;  ///< per resource; null for a tier of the network
};

/// Returns the model inputs of all kernels at the program's sizes, one per kernel. Empty if a dimension has no size.
[[nodiscard]] std::vector<CompiledKernel::Runs> kernel_runs(const Program& program, const ProgramAnalysis& analysis,
                                                            const ChipTraits& chip);

/// Returns the time in seconds that quantizing the operand of a matmul takes: its launch and its rows.
[[nodiscard]] double quantisation_s(const KernelFit& quantisation, const KernelPoint& product);

/// The models selected for a program.
struct ProgramModels {
    std::vector<const CalibratedKernel*> kernels;  ///< per kernel; null if there is none or the chip has nothing to do
    std::vector<std::optional<ExpectedTime>> messages;  ///< per message of the whole program
    std::string missing;  ///< the first part without a model: "contraction in fp8"; "" if none is missing
    /// Per kernel: the machine from which the model is transferred; "" for the machine's own.
    std::vector<std::string> transferred_from;
    /// Per kernel of attention: the model of the other kind, with which its own is blended, because tables have
    /// attention without a mask in decode steps only, and causal attention with as many keys as queries. Null for other
    /// kernels.
    std::vector<const CalibratedKernel*> others{};
    /// Per kernel: the model of the quantization that is included in the kernel's measurements and was subtracted in
    /// the fit. Null if there was none or if the program itself quantizes.
    std::vector<const CalibratedKernel*> quantised;
    std::vector<std::optional<KernelKind>> instead;  ///< per kernel: its kind if the model is of another kind or dtype
    /// Per kernel: its dtype if the model is of the other 16-bit floating-point dtype; otherwise "".
    std::vector<std::string> twin_of{};
    /// Returns the model with the greater part in a kernel's time; null if there is none.
    [[nodiscard]] const CalibratedKernel* model_at(std::size_t kernel, const KernelPoint& point) const;
    /// Returns the seconds of one run of a kernel that has a model.
    [[nodiscard]] double seconds_at(std::size_t kernel, const KernelPoint& point) const;
    /// Returns the expected relative error of a kernel's model, within the measured sizes.
    [[nodiscard]] double error_of(std::size_t kernel) const;
    /// Returns the same of the model at these sizes.
    [[nodiscard]] double error_inside(std::size_t kernel, const KernelPoint& point) const;
    /// Returns the error at these sizes. It is larger outside the measured range and if the measurements include a
    /// quantization. Up to the time of its launch and rows may remain in the time of the matmul, because no measurement
    /// separates the two.
    [[nodiscard]] double error_of(std::size_t kernel, const KernelPoint& point) const;
};

/// Returns what is added to a model's error at these sizes: for those outside the measured range, and for a
/// quantization (null: none) that its measurements include.
[[nodiscard]] double added_error(const KernelFit& fit, const Growths& growths, const KernelFit* quantised,
                                 const KernelPoint& point);

}  // namespace roofline::core
