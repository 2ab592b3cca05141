// A machine: its rates, its capacities, and the source of each of these figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "text/toml_node.hpp"
#include "units/compute_unit.hpp"
#include "units/dtype.hpp"
#include "units/quantity.hpp"

namespace roofline::core {

enum class Basis { spec, measured, derived, assumed };
[[nodiscard]] std::string_view name(Basis basis);

/// The value of another source for the same figure.
struct Alternative {
    double value = 0;  ///< in the figure's unit, SI base
    std::string source;
    std::string note;
};

/// One number of a machine with its source. Without a value it was searched for and not found (the note says so).
template <class Q>
struct Figure {
    std::optional<Q> value;
    Basis basis = Basis::spec;
    char confidence = 'A';  ///< A: read at the source; B: secondary, or derived reliably; C: weak; D: sources disagree
    std::string source;     ///< in full, as printed
    std::string note;
    std::vector<Alternative> alternatives;
    bool what_if = false;  ///< set by the user for this answer

    [[nodiscard]] bool low_confidence() const { return !what_if && (confidence == 'C' || confidence == 'D'); }
};

/// A dense peak rate of one chip.
struct Peak {
    Unit unit = Unit::matmul;
    Dtype dtype = Dtype::bf16;
    Dtype accumulator = Dtype::f32;
    Figure<FlopRate> rate;
    bool quoted_sparse = false;  ///< the vendor's headline assumes 2:4 sparsity; `rate` is half of it
    std::int64_t sum_bits = 0;   ///< bits of the accumulator that the units really keep; 0: all
    /// A multiplication takes this many passes over `of`, whose rate determines its own; 0: it has its own unit.
    std::int64_t passes = 0;
    Dtype of = Dtype::bf16;
};

enum class Managed { hardware, software, compiler };

/// The ids of memory levels, from the chip's edge inwards. `hbm` is always the main device memory, whatever the vendor
/// calls it.
inline const std::vector<std::string> level_ids{"hbm", "l3", "l2", "cmem", "vmem", "smem", "l1", "tmem", "psum", "reg"};

/// One memory level.
struct MemoryLevel {
    std::string id;
    std::string label;           ///< the vendor's name: "HBM3e", "GDDR6", "SBUF"
    std::string scope;           ///< "chip", "core", "SM", "CU", "XCD", "GCD"
    std::int64_t instances = 1;  ///< per chip
    Managed managed = Managed::hardware;
    Figure<Bytes> capacity;       ///< per instance
    Figure<Bytes> block;          ///< shared memory: the part of an instance that one thread block can use
    Figure<Bandwidth> bandwidth;  ///< of the whole chip, reads and writes together
    Figure<Bandwidth> measured_bandwidth;

    [[nodiscard]] std::optional<Bytes> total_capacity() const;
};

/// Square systolic arrays, to whose side matmul dimensions are padded (TPUs).
struct MatrixUnit {
    std::int64_t side = 0;
    std::int64_t count_per_core = 0;
};

/// The link between the chip and its host.
struct HostLink {
    std::string kind;             ///< "PCIe5 x16", "NVLink-C2C"
    Figure<Bandwidth> bandwidth;  ///< one direction, one chip's share
    Figure<Bandwidth> measured_bandwidth;
    Figure<Bytes> memory_capacity;       ///< host DRAM, one chip's share
    Figure<Bandwidth> memory_bandwidth;  ///< host DRAM
};

/// One tier of the network between chips, innermost first; all rates are per direction.
struct NetworkTier {
    std::string id;     ///< ici nvlink xgmi dcn ib ethernet ...
    std::string label;  ///< "ICI", "NVLink4"
    /// Topology: torus2d torus3d switch full_mesh partial_mesh pair ring pcie_tree hybrid_cube_mesh mesh2d dragonfly
    /// nic none.
    std::string topology;
    std::int64_t domain = 0;  ///< chips that one instance of the tier connects; 0: unknown
    std::int64_t links = 0;   ///< per chip; 0: unknown
    bool in_network_reduction = false;
    Figure<Bandwidth> link_bandwidth;  ///< of one link
    Figure<Bandwidth> chip_bandwidth;  ///< of all links of one chip together
    Figure<Bandwidth> effective_link_bandwidth;
    Figure<Seconds> hop_latency;
    Figure<Bandwidth> bisection;            ///< of the whole domain
    Figure<Bandwidth> allreduce_bandwidth;  ///< of the whole domain, as published
    std::vector<std::int64_t> pod_shape;    ///< largest torus
    std::vector<std::int64_t> host_shape;   ///< chips of one host, as a part of the torus
    std::vector<std::int64_t> max_job;      ///< largest available slice if it is smaller than the pod
    std::int64_t wrap_multiple = 0;         ///< an axis closes into a ring if its length is a multiple; 0: unknown
    bool wrap_needs_blocks = false;  ///< and only if every axis is a multiple: the slice is built of cubes of that side
    std::int64_t leaf = 0;           ///< chips whose ports share a leaf switch; 0: unknown
    /// Leaf switches that the chips of a node are spread over, by their index in the node.
    std::int64_t rails = 1;
    Rational oversubscription = 1;  ///< of leaf switches: rate of the ports over rate of the uplinks, at least 1
    std::int64_t parts = 1;  ///< number of members that share one machine, each with its part of the rates and memory
    std::string wrap_rule;   ///< when an axis closes into a ring, in words
    std::string note;
};

struct PriceQuote {
    std::vector<double> usd_per_chip_hour;  ///< one number, or a range (low, high)
    std::string kind;                       ///< "on-demand list", "37-provider median"
    std::string date;
    std::string source;
    char confidence = 'B';
};

/// A figure that was measured on this chip: "bf16_matmul_flops", "allreduce_busbw_8", "l2_latency".
struct Measurement {
    std::string what;
    Figure<Scalar> value;  ///< SI base units
    std::string unit;      ///< "FLOP/s", "B/s" or "s"
};

/// One change of a what-if, such as `hbm.bandwidth`, from the file's figure to the user's.
struct Change {
    std::string path;
    std::string before;  ///< as text; "none" if the machine had no such figure
    std::string after;
    double number = 0;   ///< `after` in `unit`, exactly
    std::string unit{};  ///< "B/s"; "" of a number of passes
};

struct Machine {
    std::string id;
    std::string name;
    std::string vendor;
    std::string kind;  ///< tpu gpu cpu asic soc, or chip if the file does not say
    int year = 0;
    std::vector<std::string> aliases;
    std::string origin;       ///< the file that it was read from: "machines/tpu-v5e.toml", or the user's path
    std::int64_t cores = 0;   ///< cores, SMs, CUs; 0: unknown
    std::string cores_label;  ///< "TensorCores", "SMs", "CUs", "cores"
    std::optional<MatrixUnit> matrix_unit;
    Figure<Frequency> clock;
    std::vector<Peak> peaks;
    std::vector<MemoryLevel> memory;  ///< outermost (hbm) first
    std::optional<HostLink> host;
    std::vector<NetworkTier> network;  ///< innermost first
    Figure<Power> power;
    std::vector<PriceQuote> prices;
    std::optional<Price> price;  ///< used for cost: that of the what-if, else the median quote
    std::vector<Measurement> measured;
    std::string notes;
    std::vector<Change> changes;

    [[nodiscard]] const MemoryLevel* level(std::string_view wanted) const;
    /// The peak of exactly this unit and dtype; if there are several accumulators, the dtype's usual one (f32, int32)
    /// is preferred.
    [[nodiscard]] const Peak* peak(Unit unit, Dtype dtype) const;
    [[nodiscard]] const NetworkTier* tier(std::string_view wanted) const;
};

/// The peak of a machine that an operation uses, and whether it is a replacement.
struct Assigned {
    const Peak* peak = nullptr;
    bool stands_in = false;  ///< the machine has no such unit or dtype, so the next capable one is used
};

/// Derives the rates of peaks that are passes over another dtype's unit. Must be called when rates have changed.
void update_pass_rates(Machine& machine);

/// Describes passes: "3 bf16 passes: about 16 significant bits, XLA's HIGH precision".
[[nodiscard]] std::string passes_text(const Peak& peak);

/// Finds the peak at which a contraction (unit matmul) or elementwise work (unit vector) in this arithmetic runs. A
/// contraction tries each dtype of info(dtype).runs_as in order, first on its matrix unit and then on its vector unit;
/// integers of 16 bits and more without a matrix unit of their own run as vector work because f64 units would lose the
/// low half of their products. Vector work uses its own rate, else that of f32, else that of the next wider dtype.
/// Error: the machine has no unit that is wide enough.
[[nodiscard]] Result<Assigned> assign(const Machine& machine, Unit unit, Dtype arithmetic);

/// One of `parts` equal parts of a machine that the ranks of a program divide among themselves: rates, memory, power
/// and price are divided. The network is unchanged.
[[nodiscard]] Machine part_of(Machine machine, std::int64_t parts);

/// Reads a machine file. `origin` is its name in messages. Errors carry line and column.
[[nodiscard]] Result<Machine> parse_machine(const TomlInput& toml, std::string_view origin);

/// Applies a what-if: `hbm.bandwidth=3TB/s`, `matmul.bf16=*2`, `price=2`. Paths: matmul.DTYPE vector.DTYPE passes.DTYPE
/// (the number of passes of a multiplication in a dtype that is split into narrower ones) LEVEL.bandwidth
/// LEVEL.capacity TIER.bandwidth TIER.latency pcie.bandwidth dram.bandwidth dram.capacity price power clock. Levels and
/// tiers must exist on the machine; a matmul or vector rate may be added. TIER.bandwidth is that of one link in a torus
/// or ring and that of the whole chip elsewhere, and the tier's other rates change in proportion; compute rates change
/// with the clock. The figure becomes `what_if` and the change is recorded. Errors name the nearest path and leave the
/// machine unchanged.
[[nodiscard]] Status set_figure(Machine& machine, std::string_view assignment);

/// Returns what set_figure() would change, whose clock changes other figures too. Errors: those of set_figure().
[[nodiscard]] Result<Change> changed_figure(const Machine& machine, std::string_view assignment);

/// Returns the assignment that sets a figure to a Change's number in its unit, with all digits.
[[nodiscard]] std::string figure_assignment(std::string_view path, double number, std::string_view unit);

}  // namespace roofline::core
