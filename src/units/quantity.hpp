// The quantities of the public headers, under the names of the code inside.
#pragma once

#include "roofline/units.hpp"

namespace roofline::core {

using roofline::Bandwidth;
using roofline::Bytes;
using roofline::FlopRate;
using roofline::Flops;
using roofline::Frequency;
using roofline::Intensity;
using roofline::Joules;
using roofline::Power;
using roofline::Price;
using roofline::Quantity;
using roofline::Scalar;
using roofline::Seconds;
using roofline::Usd;

}  // namespace roofline::core
