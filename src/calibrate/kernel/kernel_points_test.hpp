// Kernels of invented machines with round rates.
#pragma once

#include "calibrate/kernel/kernel_model.hpp"

namespace roofline::core {

/// A matmul with 2 bytes per element, 100 TFLOP/s and 1 TB/s.
inline KernelPoint product_point(double m, double n, double k, double cores) {
    KernelPoint point{2 * m * n * k / 100e12, 0, 2 * (m * k + k * n + m * n) / 1e12, 0, k};
    point.m = m;
    point.n = n;
    point.batch = 1;
    point.cores = cores;
    point.partial_sums_s = 8 * m * n / 1e12;  // partial results in f32, written and read
    return point;
}

/// One query of heads of size 128 over s keys with two bytes per element: 10 PFLOP/s, 1 TB/s, 100 cores.
inline KernelPoint decode_point(double b, double s, double heads) {
    KernelPoint point{4 * b * heads * s * 128 / 10e15, 0, 0, 0, s};
    point.shared_read_s = 2 * b * s * 128 * 2 / 1e12;
    point.memory_s = point.shared_read_s + 2 * b * heads * 128 * 2 / 1e12;
    point.m = heads;
    point.n = 128;
    point.batch = b;
    point.heads = heads;
    point.cores = 100;
    point.partial_sums_s = 8 * b * heads * 128 / 1e12;
    return point;
}

}  // namespace roofline::core
