// A program on a machine, analysed: times, bounds, intensities, critical sizes, and the notes a careful reader wants.
#pragma once

#include <map>
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
    /// With the other dimensions at their sizes; none when they have none.
    std::optional<Crossing> crossing;
    /// With all others growing together without bound.
    std::optional<double> limit;
};

/// What padding to the sides of a matrix unit adds.
struct Padding {
    double useful_flops = 0;
    double padded_flops = 0;
    double padded_seconds = 0;       ///< math time with the padding done
    std::vector<std::string> sides;  ///< "D 8000 -> 8064"
};

/// What must be kept at a level at once, when that is easily said: all tensors of the program that live there.
struct Footprint {
    double bytes = 0;
    std::optional<double> capacity;
};

/// One kernel, or the whole program.
struct Analysis {
    std::string title;  ///< the statement
    Work work;          ///< repeats included
    Pricing pricing;
    std::map<std::string, Ratio> intensity;  ///< FLOPs over bytes, by level
    std::map<std::string, double> ridge;     ///< FLOP/byte at which the compute rate and the level's bandwidth meet
    std::vector<std::pair<std::string, Ratio>> limits;  ///< of the main level's intensity, by the dimension that stays
    std::string main_level;                             ///< hbm, or the only level with traffic; "" when there is none
    std::optional<std::vector<double>> seconds;         ///< by resource; none when a dimension has no size
    std::vector<double> least_seconds;  ///< likewise, of what there is at the least: `lower` is the longest
    Bounds bounds;
    double sequential = 0;  ///< sum of the kernels' own lower bounds
    /// With communication: the same, if each kernel's collectives wait for its work, or it for them. What this is longer than
    /// `sequential` is the communication that overlapping hides.
    std::optional<double> exposed;
    std::optional<double> peak_fraction;  ///< compute time over lower bound
    std::optional<double> energy_j;       ///< rated power times lower bound
    std::optional<Padding> padding;
    std::map<std::string, Footprint> footprint;
    std::vector<CriticalSize> critical;
    std::vector<std::string> notes;

    [[nodiscard]] const Resource* bound_resource() const;
    /// Of a resource: "math". Empty where the work has none of it, or a dimension has no size.
    [[nodiscard]] std::optional<double> seconds_of(std::string_view resource) const;
};

struct ProgramAnalysis {
    Analysis total;
    std::vector<Analysis> kernels;  ///< one for each statement or fuse block
    ProgramWork work;
};

struct AnalysisOptions {
    WorkOptions work;
    bool kernels = true;  ///< analyse each kernel too, when there are several
    bool growth = true;   ///< solve for critical sizes and limits of the intensity
};

/// A program of one chip.
[[nodiscard]] Result<ProgramAnalysis> analyse(const Program& program, const Machine& machine,
                                              const AnalysisOptions& options);

/// A program on a slice. `local` is what one chip does of it, as the layout made it: the same statements, on shares of the
/// dimensions, with the collectives between. Titles and dimensions are those of `program`.
[[nodiscard]] Result<ProgramAnalysis> analyse(const Program& program, const Program& local, const System& system,
                                              const AnalysisOptions& options);

/// The numbers of one point, for a sweep: compiled once, evaluated often.
class CompiledProgram {
public:
    /// `swept` are the dimensions whose sizes will be passed; all others must be in program.sizes.
    CompiledProgram(const Program& program, const ProgramAnalysis& analysis, const std::vector<std::string>& swept);

    struct Point {
        std::vector<double> seconds;  ///< by resource of the whole program, then what lower has of each, then scratch
        std::vector<double> term_flops;  ///< by entry of pricing.flops_by()
        std::vector<double> read;        ///< by level of work.memory, in order
        std::vector<double> write;
        double transcendentals = 0;
        Bounds bounds;
        double sequential = 0;
        std::vector<double> scratch;
        std::size_t resources = 0;

        /// Of a resource, as `lower` has it.
        [[nodiscard]] double least_seconds(std::size_t resource) const { return seconds[resources + resource]; }
    };
    [[nodiscard]] Point make_point() const;
    void evaluate(std::span<const double> sizes, Point& point) const;  ///< no allocation

    /// Only the bounds of the whole program; `seconds` has places() places, the resources' times first.
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
