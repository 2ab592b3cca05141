// Collective operations between chips.
#pragma once

#include <cstdint>
#include <string_view>

namespace roofline {

/// What chips exchange. The last four are between one chip and another or all of them. The program's table of
/// collectives has the same order.
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

/// "all_gather": as JSON has it.
[[nodiscard]] std::string_view name(CollectiveKind kind);

}  // namespace roofline
