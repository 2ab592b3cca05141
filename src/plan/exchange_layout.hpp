// The layout in which a served program exchanges tokens with experts on other chips.
#pragma once

#include "calibrate/exchange/exchange_kernels.hpp"
#include "layout/lay_out.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Adds to `stay` what fixes the exchange of tokens with experts over the axis `expert`, which otherwise the layout
/// search decides. All-to-all: neither tokens nor combined results move over this axis, so that the rows of experts do.
/// All-gather: the rows of experts do not move over it, so that tokens are gathered before they are dispatched, and
/// combined results are partial sums, which are reduced and scattered.
[[nodiscard]] StayingAxes staying_for_exchange(const Program& program, ExchangeForm form, StayingAxes stay);

}  // namespace roofline::core
