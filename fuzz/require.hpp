// Conditions that must hold for every input of a fuzzer.
#pragma once

#include <cstdlib>

inline void require(bool holds) {
    if (!holds) std::abort();
}
