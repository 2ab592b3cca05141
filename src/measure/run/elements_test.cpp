#include "measure/run/elements.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace roofline::core;

namespace {

/// Puts the extreme number at each position in turn.
template <class T>
void finds_extremes() {
    for (std::size_t count = 1; count <= 150; ++count) {
        for (std::size_t at = 0; at < count; ++at) {
            std::vector<T> x(count);
            for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(i * 7 % 11) - T{20};
            x[at] = T{-9};
            const bool largest = largest_element(x.data(), count) == T{-9};
            x[at] = T{-21};
            const bool smallest = smallest_element(x.data(), count) == T{-21};
            if (!largest || !smallest) FAIL_CHECK("of ", count, " numbers, the extreme one at ", at, " is not found");
        }
    }
}

}  // namespace

TEST_CASE("run: the largest and the smallest element of a row are found at every position") {
    finds_extremes<float>();
    finds_extremes<double>();
    finds_extremes<std::int32_t>();
}
