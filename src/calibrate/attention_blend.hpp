// The time of attention between the kinds that tables have: decode steps, and causal prefill of whole prompts.
#pragma once

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// Returns the weight of the model of causal prefill in the logarithm of the time of attention without a mask: 0 up to
/// 128 query rows to the same keys, the most that measurements of decode steps have; 1 from 512, by when tiles of
/// queries fill the cores without splits of the keys; in between it grows with the logarithm of the rows.
[[nodiscard]] double prefill_share(const KernelPoint& point);
/// Returns the weight of the model of decode steps in the logarithm of the time of causal attention: 0 with as many
/// keys per query as `prefill` was fitted to, and from 512 query rows on; 1 with four times as many keys and up to 128
/// rows. Few queries to a long cache take kernels that split the keys over the cores, as decode steps do.
[[nodiscard]] double decode_share(const KernelFit& prefill, const KernelPoint& point);
/// Returns the weight of the model of another kind of attention in the logarithm of the time of one: prefill_share() of
/// a causal one, decode_share() of one without a mask.
[[nodiscard]] double share_of(const CalibratedKernel& other, const KernelFit& own, const KernelPoint& point);
/// Returns the seconds of a kernel by its model and, if it has one, that of the other kind of attention. Both take the
/// work that is done: without a mask twice that of a causal one.
[[nodiscard]] double seconds_of(const KernelFit& fit, const CalibratedKernel* other, const KernelPoint& point);

/// Returns whether a model of attention was fitted to prefill of 512 query rows and more alone, as on TPUs. Fewer rows
/// are then expected to take a launch and twice their bound, which is what servers show of their decode steps.
[[nodiscard]] bool lacks_decode(const KernelFit& fit);

/// Error of the model of the other kind of attention where it takes part, of which no table has measurements.
[[nodiscard]] double error_of_other(const CalibratedKernel& other);

}  // namespace roofline::core
