// A program priced on a system as `op` does it: laid out, bounded, expected.
#pragma once

#include <memory>
#include <string>

#include "app/expected_op.hpp"
#include "base/result.hpp"
#include "calibrate/calibration.hpp"
#include "layout/lay_out.hpp"
#include "network/system.hpp"
#include "program/program.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// Which experts tokens choose: those that send the least, or all alike likely (route_uniformly()).
enum class TokenRouting { least, uniform };

/// What a program is asked for.
struct PriceOptions {
    Expect what = Expect::all;  ///< as expect() has it
    TokenRouting routing = TokenRouting::least;
};

/// The program on the slice, its own mesh laid on it. `software` and `calibrations` as expect() has them, `stay` as lay_out() does.
/// Errors: a mesh that is not the slice, no legal layout, work that the machine has no rate for.
[[nodiscard]] Result<OpAnswer> priced_program(Program program, const Slice& slice, const std::string& name,
                                              const std::string& software,
                                              const std::shared_ptr<Calibrations>& calibrations,
                                              const CollectiveOptions& collectives = {}, const StayingAxes& stay = {},
                                              const PriceOptions& asked = {});

}  // namespace roofline
