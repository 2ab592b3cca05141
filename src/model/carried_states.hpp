// States of recurrences and ends of convolutions, which a pass takes from the one before and leaves to the next.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Lets each `scan` and each `conv` use the cache that is declared for it: one that no operation reads and that has the
/// dimensions of the scan's result without its positions, or those of what is convolved without positions and with the
/// taps. The cache is written behind the last position, and `resumed` says whether it is also read: the pass then goes
/// on from earlier positions. In the notation
///     scan[T](a, b)    becomes    scan[T](a, resume[T](b, State))    or    scan[T](a, leave[T](b, State))
void carry_states(Program& program, bool resumed);

}  // namespace roofline::core
