// The analysis of a program on a machine: times, bounds, intensities, critical sizes, and notes.
#pragma once

#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/compiled.hpp"
#include "bound/pricing.hpp"
#include "bound/times.hpp"
#include "machine/machine.hpp"
#include "network/system.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// The size of one dimension at which compute time equals a memory level's.
struct CriticalSize {
    std::string dim;
    std::string level;
    /// With the other dimensions at their sizes; empty when they have none.
    std::optional<Crossing> crossing;
    /// The limit as all other dimensions grow together without bound.
    std::optional<double> limit;
};

/// The additional work from padding to the sides of a matrix unit.
struct Padding {
    double useful_flops = 0;
    double padded_flops = 0;
    double padded_seconds = 0;       ///< math time including the padding
    std::vector<std::string> sides;  ///< "D 8000 -> 8064"
};

/// The bytes that a memory level must hold at once, if they are easy to determine: all tensors of the program that live
/// there.
struct Footprint {
    double bytes = 0;
    std::optional<double> capacity;
};

/// The analysis of one kernel, or of the whole program.
struct Analysis {
    std::string title;  ///< the statement
    Work work;          ///< repeats included
    Pricing pricing;
    std::map<std::string, Ratio> intensity;  ///< FLOPs over bytes, by level; empty without AnalysisOptions::growth
    std::map<std::string, double> ridge;     ///< ridge point in FLOP/byte, by level: compute rate over bandwidth
    /// Of the main level's intensity, by the dimension that is kept.
    std::vector<std::pair<std::string, Ratio>> limits;
    std::string main_level;                      ///< hbm, or the only level with traffic; "" when there is none
    std::optional<std::vector<double>> seconds;  ///< by resource; empty when a dimension has no size
    /// Likewise, of the guaranteed part of the work: `lower` is the longest of these.
    std::vector<double> least_seconds;
    Bounds bounds;
    double sequential = 0;  ///< sum of the kernels' own lower bounds
    /// For programs with communication: the same, if no collective overlaps with the kernel it belongs to. The excess
    /// over `sequential` is the communication that overlap hides.
    std::optional<double> exposed;
    std::optional<double> peak_fraction;  ///< compute time over lower bound
    std::optional<double> energy_j;       ///< rated power times lower bound
    std::optional<Padding> padding;
    std::map<std::string, Footprint> footprint;
    std::vector<CriticalSize> critical;
    std::vector<std::string> notes;

    [[nodiscard]] const Resource* bound_resource() const;
    /// Returns the time of a resource such as "math". Empty if the work does not use it, or a dimension has no size.
    [[nodiscard]] std::optional<double> seconds_of(std::string_view resource) const;
};

struct ProgramAnalysis {
    Analysis total;
    std::vector<Analysis> kernels;  ///< one per statement or fuse block
    ProgramWork work;
};

struct AnalysisOptions {
    WorkOptions work;
    bool kernels = true;    ///< analyse each kernel too, if there are several
    bool growth = true;     ///< find intensities as formulas, their limits, and critical sizes
    bool titles = true;     ///< write the statements of each kernel as its title
    bool footprint = true;  ///< add up the tensors of each memory level, as if all were there at once
};

/// Analyses a program of one chip.
[[nodiscard]] Result<ProgramAnalysis> analyse(const Program& program, const Machine& machine,
                                              const AnalysisOptions& options);

/// Analyses a program on a slice. `local` is the part of one chip, as the layout derives it: the same statements on
/// shards, with collectives. Titles and dimensions are those of `program`.
[[nodiscard]] Result<ProgramAnalysis> analyse(const Program& program, const Program& local, const System& system,
                                              const AnalysisOptions& options);

/// The numbers of a program at one point of a sweep: compiled once, evaluated often.
class CompiledProgram {
public:
    /// `swept` are the dimensions whose sizes will be passed; all others must be in program.sizes.
    CompiledProgram(const Program& program, const ProgramAnalysis& analysis, const std::vector<std::string>& swept);

    struct Point {
        /// By resource of the whole program, then the part of each in the lower bound, then scratch.
        std::vector<double> seconds;
        std::vector<double> term_flops;  ///< by entry of pricing.flops_by()
        std::vector<double> read;        ///< by level of work.memory, in order
        std::vector<double> write;
        double transcendentals = 0;
        Bounds bounds;
        double sequential = 0;
        std::vector<double> scratch;
        std::size_t resources = 0;

        /// Returns the time of a resource in the lower bound.
        [[nodiscard]] double least_seconds(std::size_t resource) const { return seconds[resources + resource]; }
        [[nodiscard]] double flops() const { return std::accumulate(term_flops.begin(), term_flops.end(), 0.0); }
        /// Returns the FLOPs per byte of a level, in the order of `read`.
        [[nodiscard]] double intensity(std::size_t level) const { return flops() / (read[level] + write[level]); }
    };
    [[nodiscard]] Point make_point() const;
    void evaluate(std::span<const double> sizes, Point& point) const;  ///< does not allocate

    /// Computes only the bounds of the whole program; `seconds` has places() elements, the resources' times first.
    [[nodiscard]] std::size_t places() const { return times_.places(); }
    [[nodiscard]] Bounds price(std::span<const double> sizes, std::span<double> seconds) const;

private:
    CompiledTimes times_;
    CompiledSums counts_;  ///< compute terms, then reads, writes, transcendentals
    std::vector<CompiledTimes> kernel_times_;
    std::size_t terms_ = 0;
    std::size_t levels_ = 0;
};

}  // namespace roofline::core
