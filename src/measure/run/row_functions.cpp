#include "measure/run/row_functions.hpp"

#include <cmath>

#include "measure/run/elements.hpp"
#include "measure/run/multiversioning.hpp"

namespace roofline::core {

namespace {

// Sums a row in double, eight numbers at a time, because a row may be long.
template <class Each>
ROOFLINE_INLINE double sum_of(std::size_t count, Each each) {
    double partial[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (std::size_t j = 0; j < 8; ++j) partial[j] += static_cast<double>(each(i + j));
    }
    double all = 0;
    for (; i < count; ++i) all += static_cast<double>(each(i));
    for (const double part : partial) all += part;
    return all;
}

template <class T>
ROOFLINE_INLINE T mean_of(const T* row, std::size_t count) {
    return static_cast<T>(sum_of(count, [&](std::size_t i) { return row[i]; }) / static_cast<double>(count));
}

// 1 over the root mean square of the row.
template <class T>
ROOFLINE_INLINE T scale_of(const T* row, std::size_t count) {
    const double squares = sum_of(count, [&](std::size_t i) { return row[i] * row[i]; });
    return static_cast<T>(1 / std::sqrt(squares / static_cast<double>(count)));
}

template <class T>
ROOFLINE_INLINE void normalise(T* row, std::size_t count, bool centred) {
    if (centred) {
        const T mean = mean_of(row, count);
        for (std::size_t i = 0; i < count; ++i) row[i] -= mean;
    }
    const T scale = scale_of(row, count);
    for (std::size_t i = 0; i < count; ++i) row[i] *= scale;
}

template <class T>
ROOFLINE_INLINE void softmax(const std::string& function, T* row, std::size_t count) {
    const T most = largest_element(row, count);
    for (std::size_t i = 0; i < count; ++i) row[i] -= most;
    map_elements(MapFunction::exp, row, row, row, row, count);
    const double all = sum_of(count, [&](std::size_t i) { return row[i]; });
    const T scale = static_cast<T>(1 / all);
    if (function == "logsumexp") {
        row[0] = static_cast<T>(static_cast<double>(most) + std::log(all));
    } else {
        for (std::size_t i = 0; i < count; ++i) row[i] *= scale;
    }
}

// x becomes x (y - sum(x y)).
template <class T>
ROOFLINE_INLINE void softmax_slope(T* x, const T* y, std::size_t count) {
    const T inner = static_cast<T>(sum_of(count, [&](std::size_t i) { return x[i] * y[i]; }));
    for (std::size_t i = 0; i < count; ++i) x[i] *= y[i] - inner;
}

// Propagates the gradient y of a norm's result to x, which is overwritten: scale (y - mean(y) - n mean(n y)), where n
// is the result; without mean(y) if the norm does not centre.
template <class T>
ROOFLINE_INLINE void norm_slope(T* x, const T* y, std::size_t count, bool centred) {
    if (centred) {
        const T mean = mean_of(x, count);
        for (std::size_t i = 0; i < count; ++i) x[i] -= mean;
    }
    const T scale = scale_of(x, count);
    for (std::size_t i = 0; i < count; ++i) x[i] *= scale;
    const T mean = centred ? mean_of(y, count) : T{0};
    const T along =
        static_cast<T>(sum_of(count, [&](std::size_t i) { return x[i] * y[i]; }) / static_cast<double>(count));
    for (std::size_t i = 0; i < count; ++i) x[i] = scale * (y[i] - mean - x[i] * along);
}

// h[t] = a[t] h[t-1] + b[t], from h = 0; a becomes h.
template <class T>
ROOFLINE_INLINE void scan_row(T* a, const T* b, std::size_t count) {
    T h = 0;
    for (std::size_t t = 0; t < count; ++t) {
        h = static_cast<T>(a[t] * h + b[t]);
        a[t] = h;
    }
}

// h[t] = a[t+1] h[t+1] + b[t], from h = 0 beyond the end; a becomes h.
template <class T>
ROOFLINE_INLINE void scan_back(T* a, const T* b, std::size_t count) {
    T h = 0;
    T factor = 0;
    for (std::size_t t = count; t-- > 0;) {
        h = static_cast<T>(factor * h + b[t]);
        factor = a[t];
        a[t] = h;
    }
}

template <class T>
ROOFLINE_INLINE void apply(const std::string& function, T* row, const T* second, std::size_t count) {
    if (function == "softmax" || function == "logsumexp") return softmax(function, row, count);
    if (function == "scan") return scan_row(row, second, count);
    if (function == "dscan") return scan_back(row, second, count);
    if (function == "dsoftmax") return softmax_slope(row, second, count);
    if (function == "dnorm" || function == "dlayernorm")
        return norm_slope(row, second, count, function == "dlayernorm");
    normalise(row, count, function == "layernorm");
}

}  // namespace

ROOFLINE_MULTIVERSION void along_row(const std::string& function, float* row, const float* second, std::size_t count) {
    apply(function, row, second, count);
}
ROOFLINE_MULTIVERSION void along_row(const std::string& function, double* row, const double* second,
                                     std::size_t count) {
    apply(function, row, second, count);
}

}  // namespace roofline::core
