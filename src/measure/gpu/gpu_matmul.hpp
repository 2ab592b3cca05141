// Matrix products by cuBLASLt, with what its heuristic proposes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/gpu/gpu.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// How cuBLASLt multiplies one dtype.
struct GpuMatmulType {
    Dtype dtype;   ///< of the operands
    Dtype result;  ///< of what is stored
    cuda::DataType operand_type;
    cuda::DataType result_type;
    cuda::ComputeType compute;
    cuda::DataType scale;    ///< of alpha and beta
    int least_capability;    ///< from which compute capability on: 80
    bool fast_accumulation;  ///< of fp8: sums in the matrix unit's own accumulator, which Hopper's peak is quoted for
    bool both_along_k;       ///< it only takes operands whose sums run along memory
};

/// f64, f32, tf32, f16, bf16, fp8 (e4m3), int8.
[[nodiscard]] const std::vector<GpuMatmulType>& gpu_matmul_types();
[[nodiscard]] const GpuMatmulType* find_gpu_matmul_type(Dtype dtype);

/// c[i, j] = sum over l of a[i, l] b[l, j], for each of `batch`; stored row by row with ldc elements from row to row. An operand
/// whose sums run along memory, a[i, l] at i lda + l or b[l, j] at j ldb + l, has its `along_k` set; otherwise they are a[i, l] at
/// l lda + i and b[l, j] at l ldb + j.
struct GpuMatmulShape {
    std::int64_t m = 1, n = 1, k = 1;
    bool a_along_k = true, b_along_k = false;
    std::int64_t lda = 1, ldb = 1, ldc = 1;
    std::int64_t batch = 1, batch_a = 0, batch_b = 0, batch_c = 0;  ///< strides from one product to the next
    std::uint32_t align_a = 256, align_b = 256, align_c = 256;      ///< bytes: what every address is a multiple of
};

class GpuMatmul {
public:
    /// Asks for at most `wanted` ways, the heuristic's best first. Errors: "unsupported" when cuBLASLt has none for this device.
    [[nodiscard]] static Result<GpuMatmul> make(Gpu& gpu, const GpuMatmulType& type, const GpuMatmulShape& shape,
                                                int wanted = 1);
    GpuMatmul(GpuMatmul&& other) noexcept;
    GpuMatmul& operator=(GpuMatmul&& other) = delete;
    GpuMatmul(const GpuMatmul&) = delete;
    GpuMatmul& operator=(const GpuMatmul&) = delete;
    ~GpuMatmul();

    [[nodiscard]] std::size_t ways() const { return ways_.size(); }
    /// Into the GPU's stream.
    [[nodiscard]] Status run(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c, std::size_t way = 0);

private:
    explicit GpuMatmul(Gpu& gpu) : gpu_(&gpu) {}
    [[nodiscard]] Status describe(const GpuMatmulType& type, const GpuMatmulShape& shape);
    [[nodiscard]] Status find_ways(const GpuMatmulShape& shape, int wanted);
    [[nodiscard]] Error refused(int status, const std::string& doing) const;

    Gpu* gpu_;
    cuda::Handle matmul_ = nullptr;
    cuda::Handle layouts_[3] = {};
    bool doubles_ = false;  ///< alpha and beta are
    bool integers_ = false;
    std::vector<cuda::Heuristic> ways_;
    cuda::DevicePointer workspace_ = 0;
    std::string what_;
};

}  // namespace roofline::core
