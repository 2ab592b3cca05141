// How communication libraries and frameworks call their collectives.
#pragma once

#include <optional>
#include <string_view>

#include "program/program.hpp"

namespace roofline::core {

/// Whether a kernel is one of a communication library: NCCL, RCCL, or one of those that frameworks bring.
[[nodiscard]] bool is_communication_kernel(std::string_view kernel);

/// Whether a name is that of a message from one member to another: "send", "nccl:recv 1<-0".
[[nodiscard]] bool is_message_between_two(std::string_view name);

/// The collective in the name of a kernel, of an operation, or of an instruction of XLA:
/// "ncclDevKernel_AllGather_RING", "nccl:all_reduce", "reduce-scatter.3". Nothing if the name has none, or several.
[[nodiscard]] std::optional<CollectiveKind> collective_in_name(std::string_view name);

}  // namespace roofline::core
