// Traces of torch.profiler (Kineto) and of JAX in the trace event format of Chrome.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/profile/recorded_profile.hpp"
#include "text/byte_source.hpp"

namespace roofline::core {

/// Reads a trace that is not packed, event by event. Kernels, copies and memory sets of devices, the calls of
/// PyTorch that launched them (found by `External id`, else by the thread and the time of the launch), shapes where
/// they were recorded, annotations, and the collectives that NCCL's events describe. Of a trace of JAX the instructions
/// of XLA with their module, category and source, and whole modules and steps as annotations. Names of hosts and
/// users are not kept. What is incomplete is said in the notes: an event without its launch, a negative duration, a
/// file that ends too early. Errors: those of TraceEvents, `bad_trace` for an event that is
/// not JSON, with its byte, `no_kernels` for a trace in which no device does anything.
[[nodiscard]] Result<RecordedProfile> read_chrome_trace(ByteSource& file, const std::string& name);

}  // namespace roofline::core
