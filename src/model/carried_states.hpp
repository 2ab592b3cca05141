// States of recurrences and last inputs of convolutions, which one pass leaves in memory for the next.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Connects each `scan` and each `conv` with the cache that is declared for it: a cache that no operation reads and
/// that has the dimensions of the scan's result without the positions, or those of the convolution's input with the
/// taps in place of the positions. The pass writes the cache after its last position. If `resumed`, the pass continues
/// from earlier positions and reads the cache first. In the notation
///     scan[T](a, b)    becomes    scan[T](a, resume[T](b, State))    or    scan[T](a, leave[T](b, State))
void carry_states(Program& program, bool resumed);

}  // namespace roofline::core
