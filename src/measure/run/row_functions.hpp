// Functions on a row of numbers: softmax, norms, their derivatives, and recurrences.
#pragma once

#include <cstddef>
#include <string>

namespace roofline::core {

/// Replaces a row of `count` numbers by the value of a function along it. `second` is the other argument of functions
/// of two: the recurrences `scan`, h[t] = a[t] h[t-1] + b[t] from h = 0, and `dscan`, h[t] = a[t+1] h[t+1] + b[t] from
/// h = 0 beyond the end; `dsoftmax`, x (y - sum(x y)); and `dnorm` and `dlayernorm`, which propagate the gradient y of
/// a norm's result n to its input: scale (y - mean(y) - n mean(n y)), without mean(y) if the norm does not centre.
/// `logsumexp` leaves its value in the first element.
void along_row(const std::string& function, float* row, const float* second, std::size_t count);
void along_row(const std::string& function, double* row, const double* second, std::size_t count);

}  // namespace roofline::core
