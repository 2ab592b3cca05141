// Loops over arrays for kernels on the processor.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/run/elements.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core::loops {

using Loops = std::vector<std::int64_t>;

inline constexpr std::int64_t unit_elements = 4096;  // elements that a thread processes at a time

/// Computes the positions of the loops from `first` to `last` at iteration `index`; the last loop is fastest.
inline void place_at(const Loops& loops, std::size_t first, std::size_t last, std::int64_t index, Loops& place) {
    for (std::size_t i = last; i-- > first;) {
        place[i] = index % loops[i];
        index /= loops[i];
    }
}

inline void place_at(const Loops& loops, std::int64_t index, Loops& place) {
    place_at(loops, 0, loops.size(), index, place);
}

inline std::int64_t offset_at(const Loops& strides, const Loops& place) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < place.size(); ++i) offset += strides[i] * place[i];
    return offset;
}

inline std::int64_t product(const Loops& loops, std::size_t first, std::size_t last) {
    std::int64_t count = 1;
    for (std::size_t i = first; i < last; ++i) count *= loops[i];
    return count;
}

inline std::vector<Dtype> dtypes_of(const RunStep& step, const StepProgram& program) {
    std::vector<Dtype> dtypes;
    for (const std::size_t input : step.inputs) dtypes.push_back(program.arrays[input].dtype);
    return dtypes;
}

inline char* element(void* array, std::int64_t offset, Dtype dtype) {
    return static_cast<char*>(array) + offset * static_cast<std::int64_t>(element_bytes(dtype));
}

}  // namespace roofline::core::loops
