// Matmuls by cuBLASLt, with the algorithms that its heuristic proposes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/gpu/gpu.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// How cuBLASLt multiplies operands of one dtype.
struct GpuMatmulType {
    Dtype dtype;   ///< of the operands
    Dtype result;  ///< of the stored result
    cuda::DataType operand_type;
    cuda::DataType result_type;
    cuda::ComputeType compute;
    cuda::DataType scale;  ///< of alpha and beta
    int least_capability;  ///< lowest compute capability that supports it, e.g. 80
    /// fp8: sums are kept in the matrix unit's own accumulator, as Hopper's datasheet peak assumes
    bool fast_accumulation;
    bool both_along_k;  ///< both operands must be contiguous along the summed dimension
};

/// The supported types: f64, f32, tf32, f16, bf16, fp8 (e4m3), int8.
[[nodiscard]] const std::vector<GpuMatmulType>& gpu_matmul_types();
[[nodiscard]] const GpuMatmulType* find_gpu_matmul_type(Dtype dtype);

/// c[i, j] = sum over l of a[i, l] b[l, j], for each of `batch` matmuls; c is row-major with ldc elements between rows.
/// `along_k` is set for an operand that is contiguous along the summed dimension, with a[i, l] at i lda + l or b[l, j]
/// at j ldb + l; otherwise a[i, l] is at l lda + i and b[l, j] at l ldb + j.
struct GpuMatmulShape {
    std::int64_t m = 1, n = 1, k = 1;
    bool a_along_k = true, b_along_k = false;
    std::int64_t lda = 1, ldb = 1, ldc = 1;
    std::int64_t batch = 1, batch_a = 0, batch_b = 0, batch_c = 0;  ///< strides between matmuls of the batch
    std::uint32_t align_a = 256, align_b = 256, align_c = 256;      ///< bytes: alignment of all addresses
};

class GpuMatmul {
public:
    /// Asks the heuristic for at most `wanted` algorithms, best first. Errors: "unsupported" if cuBLASLt has none for
    /// this device.
    [[nodiscard]] static Result<GpuMatmul> make(Gpu& gpu, const GpuMatmulType& type, const GpuMatmulShape& shape,
                                                int wanted = 1);
    GpuMatmul(GpuMatmul&& other) noexcept;
    GpuMatmul& operator=(GpuMatmul&& other) = delete;
    GpuMatmul(const GpuMatmul&) = delete;
    GpuMatmul& operator=(const GpuMatmul&) = delete;
    ~GpuMatmul();

    [[nodiscard]] std::size_t ways() const { return ways_.size(); }
    /// Launches the matmul in the GPU's stream.
    [[nodiscard]] Status run(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c, std::size_t way = 0);

private:
    explicit GpuMatmul(Gpu& gpu) : gpu_(&gpu) {}
    [[nodiscard]] Status describe(const GpuMatmulType& type, const GpuMatmulShape& shape);
    [[nodiscard]] Status find_ways(const GpuMatmulShape& shape, int wanted);
    [[nodiscard]] Error refused(int status, const std::string& doing) const;

    Gpu* gpu_;
    cuda::Handle matmul_ = nullptr;
    cuda::Handle layouts_[3] = {};
    bool doubles_ = false;  ///< alpha and beta are double
    bool integers_ = false;
    std::vector<cuda::Heuristic> ways_;
    cuda::DevicePointer workspace_ = 0;
    std::string what_;
};

}  // namespace roofline::core
