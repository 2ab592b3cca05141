// How servers divide a chip's memory: the part that they use, and the blocks of their KV caches. The defaults of each
// software are read from data/server_memory.toml; none of them is fitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// What a server's fraction of memory is a fraction of.
enum class MemoryShare {
    all,       ///< the chip's memory: weights, activations and KV cache may take this fraction of it
    unmoving,  ///< the same, but for weights and KV cache alone; activations take the rest
    left       ///< what weights and activations leave: the KV cache takes this fraction of it
};
/// Returns the word of data files and JSON: "all", "static", "free".
[[nodiscard]] std::string_view name(MemoryShare of);

/// How the memory of a chip is divided.
struct MemoryRule {
    std::string software{};  ///< the server; "": none, all of the memory may be used
    MemoryShare of = MemoryShare::all;
    double fraction = 1;
    std::int64_t block = 1;  ///< tokens per block of the KV cache
    std::string source{};    ///< citation of the server's defaults; "" without a server

    bool operator==(const MemoryRule&) const = default;
};

/// Returns the bytes of a chip of `capacity` bytes that KV caches may take beside weights and activations; negative if
/// these are too large.
[[nodiscard]] double cache_room(const MemoryRule& rule, double capacity, double weights, double activations);

/// Returns the smallest fraction with which caches of `cache` bytes have room; above 1 if none does.
[[nodiscard]] double least_fraction(MemoryShare of, double capacity, double weights, double activations, double cache);

/// The chips of a server.
struct ServerChips {
    double capacity = 0;       ///< bytes of memory of each
    std::int64_t chips = 1;    ///< of a worker
    std::int64_t stages = 1;   ///< of its pipeline
    std::int64_t members = 1;  ///< of data parallelism of attention
};

/// Memory that a server keeps free by a formula of its own, in MiB (SGLang, server_args.py).
struct MemoryReserve {
    /// Defaults on chips with less than `below` MiB of memory; 0: on all others.
    struct Class {
        std::int64_t below = 0;
        double tokens = 0;          ///< of a chunk of prompts
        double sequences = 0;       ///< of the largest graph, with fewer than four chips per stage
        double wide_sequences = 0;  ///< with at least four
    };
    double fixed = 0;
    double prompt_token = 0;           ///< for each token of a chunk
    double graph_sequence = 0;         ///< for each sequence of the largest graph
    double chip = 0;                   ///< for each chip of a worker
    double member_sequence = 0;        ///< with several members: for each of them and each sequence of the graph
    double large_member_sequence = 0;  ///< in addition for graphs of more than `large` sequences
    double large = 0;
    double least = 0;  ///< at least so much on chips with more than `least_above` MiB
    double least_above = 0;
    std::vector<Class> classes{};  ///< by increasing memory

    /// Returns the fraction of memory that is not reserved, rounded to three digits; at least 0.001.
    [[nodiscard]] double fraction_left(const ServerChips& chips) const;
};

/// The defaults of a software.
struct ServerMemory {
    std::string software;  ///< "vllm", or with the oldest version that they are of
    MemoryShare of = MemoryShare::all;
    double fraction = 1;
    std::int64_t block = 1;
    std::string source;
    std::optional<MemoryReserve> reserve{};  ///< determines the fraction if given
    std::vector<std::string> vendors{};      ///< of the chips that it runs on; empty: any

    [[nodiscard]] MemoryRule on(const ServerChips& chips) const;
};

/// The defaults of all software.
struct ServerMemories {
    std::vector<ServerMemory> servers;

    /// Returns those of a version: of the newest entry that is not newer. Without a version, or with a date in its
    /// place, it is the entry without one. Null if the software has none.
    [[nodiscard]] const ServerMemory* find(std::string_view software) const;
    /// Returns whether the software runs on chips of a vendor. Software without an entry does, and everything runs on
    /// chips of a vendor that is not known ("").
    [[nodiscard]] bool runs_on(std::string_view software, std::string_view vendor) const;
};

/// Reads data/server_memory.toml strictly. Errors carry the line and the column.
[[nodiscard]] Result<ServerMemories> parse_server_memories(const TomlInput& toml, std::string_view origin);

/// Returns the built-in ones.
[[nodiscard]] const ServerMemories& built_in_server_memories();

/// Which rule holds for a server: the defaults of its software, and what the user chose in their place.
struct MemoryChoice {
    const ServerMemory* server = nullptr;  ///< null: none, all of the memory may be used
    std::optional<double> fraction{};      ///< above 0, at most 1
    std::int64_t block = 0;                ///< tokens; 0: the default

    /// Returns whether the rule differs from using all of the memory.
    [[nodiscard]] bool any() const { return server != nullptr || fraction || block > 0; }
    [[nodiscard]] MemoryRule on(const ServerChips& chips) const;
};

/// Returns a number of tokens rounded up to whole blocks.
[[nodiscard]] constexpr std::int64_t in_blocks(std::int64_t tokens, std::int64_t block) {
    return (tokens + block - 1) / block * block;
}

}  // namespace roofline::core
