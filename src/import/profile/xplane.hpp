// XSpace protos (`.xplane.pb`) of XLA's profiler, which jax.profiler writes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Whether bytes may be an XSpace: they begin as its list of planes does.
[[nodiscard]] bool is_xplane(std::string_view bytes);

/// Reads the planes of devices, as read_chrome_trace() reads their lines, with FLOPs, bytes, categories, scopes and
/// source lines of instructions. Of a CPU, which has no plane of its own, the threads on which XLA's instructions ran
/// are the device. Names of hosts are not kept. Errors: those of the wire format, `no_kernels` without any
/// instruction.
[[nodiscard]] Result<RecordedProfile> read_xplane(std::string_view bytes, const std::string& name);

}  // namespace roofline::core
