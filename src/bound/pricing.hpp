// Work on a machine: each resource's time as polynomials over rates, with where each rate comes from.
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
    std::string path;    ///< as --set names it: "matmul.bf16", "hbm.bandwidth"
    std::string label;   ///< "bf16 matmul peak", "HBM bandwidth"
    double value = 0;    ///< per second: FLOP/s or bytes/s
    bool flops = false;  ///< FLOP/s, else bytes/s
    Basis basis = Basis::spec;
    char confidence = 'A';
    bool what_if = false;
    std::string source;
    std::string note;
    std::vector<Alternative> alternatives;

    [[nodiscard]] bool low_confidence() const { return !what_if && (confidence == 'C' || confidence == 'D'); }
    [[nodiscard]] std::string value_text() const;  ///< "197 TFLOP/s"
};

/// A machine's figure as a rate; without a value it is 0.
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

/// Work done at one rate.
struct Term {
    std::string key;  ///< of flops_by: "matmul/bf16"; of memory: the level
    Polynomial work;
    Rate rate;
    double latency_s = 0;  ///< of a collective: what its steps take at the least, each of the `count` times it happens
    Polynomial count{1};
    std::vector<Rational> cuts{};  ///< of a collective on a torus: the share of `work` over each cut (TierLoad)
    double sure = 1;               ///< the share of `work` that there is at the least: Message::sure
    WeightedSum waits{};           ///< latencies of earlier collectives on the same array, which this one waits for
};

/// A resource is busy for the sum of its terms; a torus for the longest sum over one of its cuts.
struct Resource {
    std::string id;     ///< math, vector, hbm, vmem, l2 ..., pcie; ici, nvlink ... of the network
    std::string label;  ///< "math", "HBM"
    std::vector<Term> terms;

    [[nodiscard]] WeightedSum time() const;  ///< seconds of all terms in turn, as polynomials times 1/rate
    [[nodiscard]] std::size_t cuts() const;  ///< 1, or those of a torus
    [[nodiscard]] WeightedSum time(std::size_t cut) const;
    [[nodiscard]] WeightedSum least_time(std::size_t cut) const;  ///< of what there is at the least
    [[nodiscard]] bool unsure() const;                            ///< whether that is less
    [[nodiscard]] Polynomial work() const;
    [[nodiscard]] bool compute() const { return id == "math" || id == "vector"; }
};

/// FLOPs under the name they are reported by.
struct KeyedFlops {
    std::string key;  ///< "matmul/bf16", "vector/f32"
    Polynomial flops;
};

struct Pricing {
    std::vector<Resource> resources;         ///< those with work: math, vector, then memory outermost first
    std::vector<KeyedFlops> unpriced_flops;  ///< vector work of a chip without a vector rate
    std::vector<std::string> unpriced;       ///< levels with traffic but no published bandwidth, "vector" likewise
    std::vector<std::string> notes;

    /// All FLOPs by key, priced or not, in the order of the resources.
    [[nodiscard]] std::vector<KeyedFlops> flops_by() const;

    [[nodiscard]] const Resource* find(std::string_view id) const;
    /// The compute resource that critical sizes and peak fractions speak of: math if there is any, else vector.
    [[nodiscard]] const Resource* compute() const;
};

/// Errors: the machine has no such level, no host link, or no unit wide enough for a dtype.
[[nodiscard]] Result<Pricing> price(const Work& work, const Machine& machine);

/// Bytes/s of a memory level or link as an answer quotes it; empty when the machine gives none.
[[nodiscard]] std::optional<Rate> bandwidth_of(const Machine& machine, const std::string& level);

/// A peak as an answer quotes it; `arithmetic` only names what it stands in for.
[[nodiscard]] Rate rate_of(const Peak& peak);

/// What to say where a figure of low confidence decides an answer.
[[nodiscard]] std::string low_confidence_note(const Rate& rate);

/// "HBM", "VMEM", "PCIe" of a level's id.
[[nodiscard]] std::string level_label(const std::string& level);
/// The same, but the main memory by its own name where it is of another kind: "DRAM", "GDDR6", "LPDDR5".
[[nodiscard]] std::string level_label(const Machine& machine, const std::string& level);

}  // namespace roofline::core
