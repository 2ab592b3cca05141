#include "measure/gpu/gpu_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace roofline::core {

namespace {

/// cuBLASLt stores matrices in column-major order, so it sees ours transposed: c' = b' a', and its first operand is our
/// b.
struct ColumnMajor {
    std::uint64_t rows, columns;
    std::int64_t leading;
};

ColumnMajor operand(bool along_k, std::int64_t k, std::int64_t other, std::int64_t leading) {
    const auto rows = static_cast<std::uint64_t>(along_k ? k : other);
    const auto columns = static_cast<std::uint64_t>(along_k ? other : k);
    return {rows, columns, leading};
}

}  // namespace

const std::vector<GpuMatmulType>& gpu_matmul_types() {
    using namespace cuda;
    static const std::vector<GpuMatmulType> types{
        {Dtype::f64, Dtype::f64, real_f64, real_f64, compute_64f, real_f64, 0, false, false},
        {Dtype::f32, Dtype::f32, real_f32, real_f32, compute_32f, real_f32, 0, false, false},
        {Dtype::tf32, Dtype::f32, real_f32, real_f32, compute_32f_fast_tf32, real_f32, 80, false, false},
        {Dtype::f16, Dtype::f16, real_f16, real_f16, compute_32f, real_f32, 53, false, false},
        {Dtype::bf16, Dtype::bf16, real_bf16, real_bf16, compute_32f, real_f32, 80, false, false},
        {Dtype::fp8, Dtype::bf16, real_e4m3, real_bf16, compute_32f, real_f32, 89, true, true},
        {Dtype::int8, Dtype::int32, real_i8, real_i32, compute_32i, real_i32, 72, false, true},
    };
    return types;
}

const GpuMatmulType* find_gpu_matmul_type(Dtype dtype) {
    const auto& types = gpu_matmul_types();
    const auto found =
        std::find_if(types.begin(), types.end(), [&](const GpuMatmulType& type) { return type.dtype == dtype; });
    return found == types.end() ? nullptr : &*found;
}

GpuMatmul::GpuMatmul(GpuMatmul&& other) noexcept
    : gpu_(other.gpu_),
      matmul_(std::exchange(other.matmul_, nullptr)),
      doubles_(other.doubles_),
      integers_(other.integers_),
      ways_(std::move(other.ways_)),
      workspace_(other.workspace_),
      what_(std::move(other.what_)) {
    std::swap(layouts_, other.layouts_);
}

GpuMatmul::~GpuMatmul() {
    const CublasLt& blas = gpu_->libraries().blas;
    for (cuda::Handle layout : layouts_) {
        if (layout != nullptr) blas.layout_destroy(layout);
    }
    if (matmul_ != nullptr) blas.matmul_destroy(matmul_);
}

Error GpuMatmul::refused(int status, const std::string& doing) const {
    if (status == cuda::not_supported) {
        return {
            "unsupported", fmt::format("cuBLASLt has no kernel for {} on {}", what_, gpu_->properties().name), "", {}};
    }
    return {"gpu", fmt::format("cuBLASLt failed: {} of {} (status {})", doing, what_, status), "", {}};
}

Result<GpuMatmul> GpuMatmul::make(Gpu& gpu, const GpuMatmulType& type, const GpuMatmulShape& shape, int wanted) {
    GpuMatmul matmul(gpu);
    matmul.what_ = fmt::format("{} [{}, {}] x [{}, {}]", name(type.dtype), shape.m, shape.k, shape.k, shape.n);
    if (shape.batch > 1) matmul.what_ += fmt::format(", {} of them", shape.batch);
    if (gpu.properties().capability() < type.least_capability) return fail(matmul.refused(cuda::not_supported, ""));
    ROOFLINE_TRY(matmul.workspace_, gpu.workspace());
    ROOFLINE_CHECK(matmul.describe(type, shape));
    ROOFLINE_CHECK(matmul.find_ways(shape, wanted));
    return matmul;
}

Status GpuMatmul::describe(const GpuMatmulType& type, const GpuMatmulShape& shape) {
    const CublasLt& blas = gpu_->libraries().blas;
    doubles_ = type.scale == cuda::real_f64;
    integers_ = type.scale == cuda::real_i32;
    if (const int status = blas.matmul_create(&matmul_, type.compute, type.scale); status != cuda::success) {
        matmul_ = nullptr;
        return fail(refused(status, "the description"));
    }
    const auto set = [&](cuda::MatmulAttribute attribute, const auto& value) {
        return blas.matmul_set(matmul_, attribute, &value, sizeof value);
    };
    // cuBLASLt's first operand is our b, [n, k] if not transposed, in column-major order
    const int first = shape.b_along_k ? cuda::operation_transpose : cuda::operation_none;
    const int second = shape.a_along_k ? cuda::operation_none : cuda::operation_transpose;
    int status = set(cuda::matmul_transpose_a, first);
    if (status == cuda::success) status = set(cuda::matmul_transpose_b, second);
    if (type.fast_accumulation && status == cuda::success) {
        const std::int8_t on = 1;
        status = set(cuda::matmul_fast_accumulation, on);
    }
    if (status != cuda::success) return fail(refused(status, "the description"));
    const ColumnMajor matrices[3] = {operand(shape.b_along_k, shape.k, shape.n, shape.ldb),
                                     operand(shape.a_along_k, shape.k, shape.m, shape.lda),
                                     operand(false, shape.m, shape.n, shape.ldc)};
    const std::int64_t strides[3] = {shape.batch_b, shape.batch_a, shape.batch_c};
    for (std::size_t i = 0; i < 3; ++i) {
        const cuda::DataType held = i == 2 ? type.result_type : type.operand_type;
        status = blas.layout_create(&layouts_[i], held, matrices[i].rows, matrices[i].columns, matrices[i].leading);
        if (status != cuda::success) {
            layouts_[i] = nullptr;
            return fail(refused(status, "the layout"));
        }
        if (shape.batch == 1) continue;
        const auto count = static_cast<std::int32_t>(shape.batch);
        status = blas.layout_set(layouts_[i], cuda::layout_batch_count, &count, sizeof count);
        if (status == cuda::success)
            status = blas.layout_set(layouts_[i], cuda::layout_batch_stride, &strides[i], sizeof strides[i]);
        if (status != cuda::success) return fail(refused(status, "the layout"));
    }
    return {};
}

Status GpuMatmul::find_ways(const GpuMatmulShape& shape, int wanted) {
    const CublasLt& blas = gpu_->libraries().blas;
    cuda::Handle preference = nullptr;
    if (const int status = blas.preference_create(&preference); status != cuda::success) {
        return fail(refused(status, "the preference"));
    }
    const auto prefer = [&](cuda::PreferenceAttribute attribute, const auto& value) {
        return blas.preference_set(preference, attribute, &value, sizeof value);
    };
    int status = prefer(cuda::preference_workspace_bytes, Gpu::workspace_bytes);
    // cuBLASLt's operands are our b and a
    const std::pair<cuda::PreferenceAttribute, std::uint32_t> alignments[] = {
        {cuda::preference_alignment_a, shape.align_b},
        {cuda::preference_alignment_b, shape.align_a},
        {cuda::preference_alignment_c, shape.align_c},
        {cuda::preference_alignment_d, shape.align_c}};
    for (const auto& [attribute, bytes] : alignments) {
        if (status == cuda::success) status = prefer(attribute, bytes);
    }
    std::vector<cuda::Heuristic> found(static_cast<std::size_t>(std::max(wanted, 1)));
    int count = 0;
    if (status == cuda::success) {
        status = blas.heuristics(gpu_->blas(), matmul_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference,
                                 static_cast<int>(found.size()), found.data(), &count);
    }
    blas.preference_destroy(preference);
    if (status != cuda::success) return fail(refused(status, "the choice of a kernel"));
    found.resize(static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(found.size()))));
    for (const cuda::Heuristic& way : found) {
        if (way.status == cuda::success && way.workspace_bytes <= Gpu::workspace_bytes) ways_.push_back(way);
    }
    if (ways_.empty()) return fail(refused(cuda::not_supported, ""));
    return {};
}

Status GpuMatmul::run(cuda::DevicePointer a, cuda::DevicePointer b, cuda::DevicePointer c, std::size_t way) {
    const auto pointer = [](cuda::DevicePointer at) { return std::bit_cast<void*>(static_cast<std::uintptr_t>(at)); };
    const double one_f64 = 1, zero_f64 = 0;
    const float one_f32 = 1, zero_f32 = 0;
    const std::int32_t one_i32 = 1, zero_i32 = 0;
    const void* alpha = doubles_    ? static_cast<const void*>(&one_f64)
                        : integers_ ? static_cast<const void*>(&one_i32)
                                    : &one_f32;
    const void* beta = doubles_    ? static_cast<const void*>(&zero_f64)
                       : integers_ ? static_cast<const void*>(&zero_i32)
                                   : &zero_f32;
    const int status = gpu_->libraries().blas.multiply(
        gpu_->blas(), matmul_, alpha, pointer(b), layouts_[0], pointer(a), layouts_[1], beta, pointer(c), layouts_[2],
        pointer(c), layouts_[2], &ways_[way].algorithm, pointer(workspace_), Gpu::workspace_bytes, gpu_->stream());
    return status == cuda::success ? Status{} : fail(refused(status, "the product"));
}

}  // namespace roofline::core
