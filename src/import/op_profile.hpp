// xprof's op_profile: a tree of the operations of a program, with the metrics of each node.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/kernel_profile.hpp"
#include "text/value.hpp"

namespace roofline::core {

/// Whether a JSON value is an op_profile, by the names of its trees.
[[nodiscard]] bool is_op_profile(const FileValue& root);

/// Reads the instructions of the tree by program, else of that by category, else of that by provenance; `text` is the
/// file that was parsed. Metrics are those of xprof's op_profile.proto: `rawTime` picoseconds, `rawFlops` the FLOPs of
/// the model, the first of `rawBytesAccessedArray` bytes of the HBM, the others of memories on the chip, all of them
/// sums over all executions and cores. Instructions inside of a fusion are its own. xprof prunes the children of a
/// node: what is left of its sums becomes one kernel. Idle time is no kernel. Dtypes are those of read_xprof_json().
/// Errors, with their place: a profile of shares without times, as xprof wrote before 2020; a metric that is no number.
[[nodiscard]] Result<KernelProfile> read_op_profile(const FileValue& root, std::string_view text,
                                                    const std::string& source);

}  // namespace roofline::core
