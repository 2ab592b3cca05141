// Products that share their input, merged into one kernel as libraries that serve models do.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Puts statements that multiply the same tensor with parameters, over the same dimensions and in the same arithmetic, into a `fuse`
/// block where the first of them stands: the projections to queries, keys and values are one matrix product to a server, whose
/// weights lie side by side. Only statements whose product is stored, added to or put into a cache; and only where nothing on the way
/// reads or writes what would be moved. What stands in a `fuse` block already stays as it is.
void merge_products(Program& program);

}  // namespace roofline::core
