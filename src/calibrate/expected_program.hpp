// Expected times of whole programs: the law of every kernel and collective, one after another.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "bound/times.hpp"
#include "calibrate/calibration.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/kernel/extrapolation.hpp"
#include "calibrate/kernel/kernel_kind.hpp"

namespace roofline::core {

/// The law of a calibration for such a kernel: its kind (else attention for causal, latent and windowed attention,
/// elementwise for reductions and quantisations), its dtype (else the narrow one that operands are quantised to, else a
/// law for any), then the software that is asked for where it has one, then what software does by itself, then the
/// library that `rank` puts first (0), then the newest version, then the least error. Null where there is none.
using LibraryRank = std::function<std::size_t(const KernelKey&)>;
[[nodiscard]] const CalibratedKernel* choose_kernel(const Calibration& calibration, const KernelKey& key,
                                                    const std::string& software, const LibraryRank& rank = {});
/// The same of a machine's laws, of which those are read that may speak for it. Libraries are ranked by
/// Calibrations::libraries().
[[nodiscard]] const CalibratedKernel* choose_kernel(Calibrations& calibrations, std::string_view machine,
                                                    const KernelKey& key, const std::string& software);

/// What laws of kernels know of a chip beside its rates; 0 where nothing is published.
struct ChipTraits {
    double cores = 0;        ///< that tiles of a result are spread over
    double cache_bytes = 0;  ///< of its largest cache
};
[[nodiscard]] ChipTraits chip_traits(const Machine& machine);

/// The bytes that a program moves across main memory, all kernels together: what their laws know of its caches. The
/// first and only sum.
[[nodiscard]] CompiledSums program_traffic(const ProgramAnalysis& analysis, const std::vector<std::string>& swept,
                                           const Sizes& fixed);

/// A kernel's resource times, compiled: sizes in, the law's point of one run and the number of runs out.
class CompiledKernel {
public:
    /// The kernel at `index` of the program's. `swept` are the dimensions whose sizes will be passed; all others must
    /// be in `fixed`.
    CompiledKernel(const ProgramAnalysis& analysis, std::size_t index, const ChipTraits& chip,
                   const std::vector<std::string>& swept, const Sizes& fixed);

    struct Runs {
        KernelPoint point;
        double count = 0;
    };
    [[nodiscard]] std::size_t places() const { return times_.places() + counts_.size(); }
    /// No allocation; `scratch` has places() places, `traffic` is what program_traffic() gives for these sizes.
    [[nodiscard]] Runs evaluate(std::span<const double> sizes, double traffic, std::span<double> scratch) const;

private:
    [[nodiscard]] static double KernelPoint::* part_of(const Resource& resource, const KernelWork& kernel);
    /// Fills the counts of the product that is cut, and adds of all the depths, with and without heads.
    void add_products(const KernelWork& kernel, std::vector<WeightedSum>& sums);

    CompiledTimes times_;
    CompiledSums counts_;  ///< what evaluate() names, and the depths of all products
    ChipTraits chip_;
    double memory_rate_ = 0;
    bool whole_rows_ = false;
    bool tiled_product_ = false;
    std::vector<double KernelPoint::*> parts_;  ///< by resource; null for a tier of the network
};

/// What of a program its kernels ask of the chip, at its sizes. By kernel; empty when a dimension has no size.
[[nodiscard]] std::vector<CompiledKernel::Runs> kernel_runs(const Program& program, const ProgramAnalysis& analysis,
                                                            const ChipTraits& chip);

/// What a quantisation's launch and rows take, of the operand of a product at this point: seconds.
[[nodiscard]] double quantisation_s(const KernelFit& quantisation, const KernelPoint& product);

/// The laws that speak for a program.
struct ProgramLaws {
    std::vector<const CalibratedKernel*>
        kernels;  ///< by kernel; null where there is none, or nothing to do on the chip
    std::vector<std::optional<ExpectedTime>> messages;  ///< by message of the whole program
    std::string missing;                                ///< what has no law: "contraction in fp8"; "" when all is there
    std::vector<std::string> carried;  ///< by kernel: the relative whose law it is; "" for the machine's own
    /// By kernel: the law of the quantisation that was timed together with the kernel's rows, and taken out of them by
    /// a fit; null where there was none, and where the program quantises itself.
    std::vector<const CalibratedKernel*> quantised;
    std::vector<std::optional<KernelKind>> instead;  ///< by kernel: its kind where the law is that of a broader one
    /// The error that a kernel's law is likely to have here.
    [[nodiscard]] double error_of(std::size_t kernel) const;
    /// The same at these sizes: more beyond those that the law was fitted to, and where a quantisation was timed with
    /// them. As much as its launch and rows take may be left in the product's time, for no measurement tells the two
    /// apart.
    [[nodiscard]] double error_of(std::size_t kernel, const KernelPoint& point) const;
};

/// An expected time and the relative error it is likely to have: the kernels' and collectives', weighted by their
/// times.
struct ExpectedProgramTime {
    double seconds = 0;
    double error = 0;
};

/// The expected time of a program, compiled: as fast in a sweep as for one answer, and the same. Kernels run one after
/// another, and collectives wait for them.
class CompiledExpected {
public:
    /// The laws lack nothing. `system` is where the messages go.
    CompiledExpected(const Program& program, const ProgramAnalysis& analysis, const System& system,
                     const ProgramLaws& laws, const std::vector<std::string>& swept);

    [[nodiscard]] std::size_t places() const { return places_; }
    /// No allocation; `scratch` has places() places.
    [[nodiscard]] ExpectedProgramTime evaluate(std::span<const double> sizes, std::span<double> scratch) const;

private:
    struct Kernel {
        CompiledKernel compiled;
        KernelFit fit;
        double error = 0;  ///< at sizes that were measured
        const Growths* growths = nullptr;
        const KernelFit* quantised = nullptr;
    };
    struct MessageLaw {
        ExpectedTime expected;
        CollectivePoint of_byte;  ///< the point of a single byte: points grow in proportion
        double lower_of_byte_s = 0;
        double latency_s = 0;                  ///< the bound of no bytes
        std::optional<ExchangeWires> wires{};  ///< of an exchange with experts
        double choices = 1;                    ///< of its tokens
    };
    /// Places of `messages_`: four for each.
    enum MessageCount : std::size_t { bytes_place, times_place, row_bytes_place, experts_place, counts_of_message };
    [[nodiscard]] static double seconds(const MessageLaw& law, std::span<const double> counts);
    CompiledSums traffic_;
    std::vector<Kernel> kernels_;
    std::vector<MessageLaw> message_laws_;
    CompiledSums
        messages_;  ///< of each its bytes, how often it goes and, of an exchange, the bytes of a row and the experts
    std::size_t places_ = 0;
};

}  // namespace roofline::core
