// A machine: what it can do per second, what it can hold, and where each of those figures comes from.
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

/// What another source says of the same figure.
struct Alternative {
    double value = 0;  ///< in the figure's unit, SI base
    std::string source;
    std::string note;
};

/// One number of a machine with its origin. No value: looked for and not found (the note says so).
template <class Q>
struct Figure {
    std::optional<Q> value;
    Basis basis = Basis::spec;
    char confidence = 'A';  ///< A read at the source, B secondary or well derived, C weak, D sources disagree
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
    std::int64_t sum_bits = 0;   ///< of the accumulator's, which the units really keep of a sum; 0: all
    std::int64_t passes = 0;     ///< its products are so many of `of`, whose rate gives its own; 0: a unit of its own
    Dtype of = Dtype::bf16;
};

enum class Managed { hardware, software, compiler };

/// One memory level. `hbm` is always the main device memory, whatever the vendor calls it; others: l1 l2 l3 smem vmem cmem
/// tmem psum reg.
struct MemoryLevel {
    std::string id;
    std::string label;           ///< the vendor's name: "HBM3e", "GDDR6", "SBUF"
    std::string scope;           ///< "chip", "core", "SM", "CU", "XCD", "GCD"
    std::int64_t instances = 1;  ///< on one chip
    Managed managed = Managed::hardware;
    Figure<Bytes> capacity;       ///< of one instance
    Figure<Bytes> block;          ///< of it what one thread block can have: shared memory
    Figure<Bandwidth> bandwidth;  ///< of the whole chip, read and write together
    Figure<Bandwidth> measured_bandwidth;

    [[nodiscard]] std::optional<Bytes> total_capacity() const;
};

/// Square systolic arrays whose side a matmul is padded to (TPUs).
struct MatrixUnit {
    std::int64_t side = 0;
    std::int64_t count_per_core = 0;
};

/// How the chip reaches its host.
struct HostLink {
    std::string kind;             ///< "PCIe5 x16", "NVLink-C2C"
    Figure<Bandwidth> bandwidth;  ///< one direction, one chip's share
    Figure<Bandwidth> measured_bandwidth;
    Figure<Bytes> memory_capacity;       ///< host DRAM, one chip's share
    Figure<Bandwidth> memory_bandwidth;  ///< host DRAM
};

/// One tier of the network between chips, innermost first; all rates are one direction.
struct NetworkTier {
    std::string id;     ///< ici nvlink xgmi dcn ib ethernet ...
    std::string label;  ///< "ICI", "NVLink4"
    std::string
        topology;  ///< torus2d torus3d switch full_mesh partial_mesh pair ring pcie_tree hybrid_cube_mesh mesh2d dragonfly nic none
    std::int64_t domain = 0;  ///< chips that one instance of the tier joins; 0: not said
    std::int64_t links = 0;   ///< of one chip; 0: not said
    bool in_network_reduction = false;
    Figure<Bandwidth> link_bandwidth;  ///< of one link
    Figure<Bandwidth> chip_bandwidth;  ///< of one chip's links together
    Figure<Bandwidth> effective_link_bandwidth;
    Figure<Seconds> hop_latency;
    Figure<Bandwidth> bisection;            ///< of the whole domain
    Figure<Bandwidth> allreduce_bandwidth;  ///< of the whole domain, as published
    std::vector<std::int64_t> pod_shape;    ///< largest torus
    std::vector<std::int64_t> host_shape;   ///< chips of one host, as a part of the torus
    std::vector<std::int64_t> max_job;      ///< largest slice sold, when smaller than the pod
    std::int64_t wrap_multiple = 0;         ///< an axis closes into a ring when its length is a multiple; 0: not said
    bool wrap_needs_blocks = false;  ///< and only when every axis is one: the slice is built of cubes of that side
    std::int64_t leaf = 0;           ///< chips whose ports share a leaf switch; 0: not said
    std::int64_t rails = 1;          ///< leaves that the chips of a node are spread over, by their index in it
    Rational oversubscription = 1;   ///< of leaves: rate of a leaf's ports over the rate out of it, at least 1
    std::int64_t parts = 1;  ///< so many of its members share one machine, each with its part of the rates and memory
    std::string wrap_rule;   ///< when an axis closes into a ring, in words
    std::string note;
};

struct PriceQuote {
    std::vector<double> usd_per_chip_hour;  ///< one number, or a range low, high
    std::string kind;                       ///< "on-demand list", "37-provider median"
    std::string date;
    std::string source;
    char confidence = 'B';
};

/// A figure that somebody measured on this chip: "bf16_matmul_flops", "allreduce_busbw_8", "l2_latency".
struct Measurement {
    std::string what;
    Figure<Scalar> value;  ///< SI base units
    std::string unit;      ///< "FLOP/s", "B/s" or "s"
};

/// One change of a what-if: `hbm.bandwidth` from the file's figure to the user's.
struct Change {
    std::string path;
    std::string before;  ///< as text; "none" when the machine had no such figure
    std::string after;
};

struct Machine {
    std::string id;
    std::string name;
    std::string vendor;
    std::string kind;  ///< tpu gpu cpu asic soc, or chip when its file does not say
    int year = 0;
    std::vector<std::string> aliases;
    std::string origin;       ///< the file it came from: "machines/tpu-v5e.toml", or the user's path
    std::int64_t cores = 0;   ///< cores, SMs, CUs; 0: not said
    std::string cores_label;  ///< "TensorCores", "SMs", "CUs", "cores"
    std::optional<MatrixUnit> matrix_unit;
    Figure<Frequency> clock;
    std::vector<Peak> peaks;
    std::vector<MemoryLevel> memory;  ///< outermost (hbm) first
    std::optional<HostLink> host;
    std::vector<NetworkTier> network;  ///< innermost first
    Figure<Power> power;
    std::vector<PriceQuote> prices;
    std::optional<Price> price;  ///< used for cost: the what-if's, else the median-most quote
    std::vector<Measurement> measured;
    std::string notes;
    std::vector<Change> changes;

    [[nodiscard]] const MemoryLevel* level(std::string_view wanted) const;
    /// The peak of exactly this unit and dtype; with several accumulators the dtype's usual one (f32, int32) is preferred.
    [[nodiscard]] const Peak* peak(Unit unit, Dtype dtype) const;
    [[nodiscard]] const NetworkTier* tier(std::string_view wanted) const;
};

/// Which of a machine's peaks does the work of an operation, and what stood in for what.
struct Assigned {
    const Peak* peak = nullptr;
    bool stands_in = false;  ///< the machine has no such unit or dtype: the next that can do it
};

/// Gives peaks that are passes over another dtype's unit the rate that follows from it: to be called when rates have changed.
void settle_passes(Machine& machine);

/// "3 bf16 passes: about 16 significant bits, XLA's HIGH precision"
[[nodiscard]] std::string passes_text(const Peak& peak);

/// The peak that a contraction (unit matmul) or elementwise work (unit vector) in this arithmetic runs at:
/// for matmul, dtype by dtype along info(dtype).runs_as, the matrix unit and then the vector unit of that dtype; int32 without a matrix unit
/// of its own runs as vector work does, for f64's units would lose the low half of its products;
/// for vector work its own rate, else f32's, else the next wider. Error: the machine has nothing wide enough.
[[nodiscard]] Result<Assigned> assign(const Machine& machine, Unit unit, Dtype arithmetic);

/// One of `parts` equal parts of a machine, as ranks of one program divide it among themselves: rates, memory, power and price
/// are divided. The network is left as it is.
[[nodiscard]] Machine part_of(Machine machine, std::int64_t parts);

/// Reads a machine file. `origin` is its name in messages. Errors carry line and column.
[[nodiscard]] Result<Machine> parse_machine(const TomlInput& toml, std::string_view origin);

/// A what-if: `hbm.bandwidth=3TB/s`, `matmul.bf16=*2`, `price=2`. Paths: matmul.DTYPE vector.DTYPE passes.DTYPE (how many a
/// product in that dtype takes, where it is made of narrower ones) LEVEL.bandwidth
/// LEVEL.capacity TIER.bandwidth TIER.latency pcie.bandwidth dram.bandwidth dram.capacity price power clock. Levels and tiers
/// must exist on the machine; a matmul or vector rate may be added. TIER.bandwidth is one link of a torus or ring, the whole
/// chip elsewhere, and the tier's other rates follow in proportion; the clock takes the compute rates with it. The figure becomes
/// `what_if` and the change is noted. Errors name the nearest path; the machine is then unchanged.
[[nodiscard]] Status set_figure(Machine& machine, std::string_view assignment);

}  // namespace roofline::core
