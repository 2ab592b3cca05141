// Conditions that must hold for any input of a fuzzer.
#pragma once

#include <cstdlib>

inline void require(bool holds) {
    if (!holds) std::abort();
}
