// Collective operations between chips.
#pragma once

#include <cstdint>
#include <string_view>

namespace roofline {

/// A collective operation. `send`, `gather`, `scatter` and `broadcast` transfer data between one chip (the root) and
/// one or all other chips. The internal table of collectives (src/program) has the same order.
enum class CollectiveKind : std::uint8_t {
    all_gather,
    reduce_scatter,
    all_reduce,
    all_to_all,
    permute,
    send,
    gather,
    scatter,
    broadcast,
};

/// Returns the name of a collective as JSON spells it: "all_gather".
[[nodiscard]] std::string_view name(CollectiveKind kind);

}  // namespace roofline
