// Pricing of work on a machine: each resource's time as polynomials over rates, with the origin of each rate.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "algebra/roots.hpp"
#include "base/result.hpp"
#include "machine/machine.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// A rate as an answer quotes it.
struct Rate {
    std::string path;    ///< name for --set: "matmul.bf16", "hbm.bandwidth"
    std::string label;   ///< "bf16 matmul peak", "HBM bandwidth"
    double value = 0;    ///< per second: FLOP/s or bytes/s
    bool flops = false;  ///< true for FLOP/s, false for bytes/s
    Basis basis = Basis::spec;
    char confidence = 'A';
    bool what_if = false;
    std::string source;
    std::string note;
    std::vector<Alternative> alternatives;

    [[nodiscard]] bool low_confidence() const { return !what_if && (confidence == 'C' || confidence == 'D'); }
    [[nodiscard]] std::string value_text() const;  ///< "197 TFLOP/s"
};

/// Returns a machine's figure as a rate; a figure without a value gives 0.
template <class Q>
[[nodiscard]] Rate rate_from(const Figure<Q>& figure, std::string path, std::string label) {
    constexpr bool flops = std::is_same_v<Q, FlopRate>;
    return {std::move(path),
            std::move(label),
            figure.value ? figure.value->value : 0,
            flops,
            figure.basis,
            figure.confidence,
            figure.what_if,
            figure.source,
            figure.note,
            figure.alternatives};
}

/// Work that is done at one rate.
struct Term {
    std::string key;  ///< for flops_by: "matmul/bf16"; for memory: the level
    Polynomial work;
    Rate rate;
    double latency_s = 0;  ///< for a collective: minimum latency of its hops, each of the `count` times it runs
    Polynomial count{1};
    std::vector<Rational> cuts{};  ///< for a collective on a torus: the share of `work` over each cut (TierLoad)
    double sure = 1;               ///< the guaranteed share of `work`: Message::sure
    WeightedSum waits{};           ///< latencies of earlier collectives on the same array, for which this one waits
};

/// A resource is busy for the sum of its terms; a torus for the longest sum over one of its cuts.
struct Resource {
    std::string id;     ///< math, vector, hbm, vmem, l2 ..., pcie; for the network ici, nvlink ...
    std::string label;  ///< "math", "HBM"
    std::vector<Term> terms;

    [[nodiscard]] WeightedSum time() const;  ///< sum of the seconds of all terms, as polynomials times 1/rate
    [[nodiscard]] std::size_t cuts() const;  ///< 1, or the number of cuts of a torus
    [[nodiscard]] WeightedSum time(std::size_t cut) const;
    [[nodiscard]] WeightedSum least_time(std::size_t cut) const;  ///< for the guaranteed part of the work
    [[nodiscard]] bool unsure() const;                            ///< whether that is less
    [[nodiscard]] Polynomial work() const;
    [[nodiscard]] bool compute() const { return id == "math" || id == "vector"; }
};

/// FLOPs and the name under which they are reported.
struct KeyedFlops {
    std::string key;  ///< "matmul/bf16", "vector/f32"
    Polynomial flops;
};

struct Pricing {
    std::vector<Resource> resources;         ///< those with work: math, vector, then memory, outermost first
    std::vector<KeyedFlops> unpriced_flops;  ///< vector work of a chip without a vector rate
    std::vector<std::string> unpriced;       ///< levels with traffic but no published bandwidth, likewise "vector"
    std::vector<std::string> notes;

    /// Returns all FLOPs by key, priced or not, in the order of the resources.
    [[nodiscard]] std::vector<KeyedFlops> flops_by() const;

    [[nodiscard]] const Resource* find(std::string_view id) const;
    /// Returns the compute resource that critical sizes and peak fractions refer to: math if there is any, otherwise
    /// vector.
    [[nodiscard]] const Resource* compute() const;
};

/// Prices work on a machine. Errors: the machine has no such level, no host link, or no unit wide enough for a dtype.
[[nodiscard]] Result<Pricing> price(const Work& work, const Machine& machine);

/// Returns the bandwidth of a memory level or link as an answer quotes it, in bytes/s; empty when the machine gives
/// none.
[[nodiscard]] std::optional<Rate> bandwidth_of(const Machine& machine, const std::string& level);

/// Returns a peak as an answer quotes it; `arithmetic` only names the dtype that it replaces.
[[nodiscard]] Rate rate_of(const Peak& peak);

/// Returns the note for an answer that is determined by a figure of low confidence.
[[nodiscard]] std::string low_confidence_note(const Rate& rate);

/// Returns "HBM", "VMEM", "PCIe" for a level's id.
[[nodiscard]] std::string level_label(const std::string& level);
/// The same, but the main memory has its own name if it is of another kind: "DRAM", "GDDR6", "LPDDR5".
[[nodiscard]] std::string level_label(const Machine& machine, const std::string& level);

}  // namespace roofline::core
