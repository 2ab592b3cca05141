// Compares src/measure/gpu/cuda_api.hpp with NVIDIA's headers. It is compiled if a CUDA toolkit is installed. NVML's
// header is in a separate package and is compared if it is installed.
#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>
#if __has_include(<nvml.h>)
#include <nvml.h>
#endif

#include <type_traits>

#include "measure/gpu/cuda_api.hpp"

namespace {

/// Whether both types are passed alike by the calling convention: they have the same size, and both are pointers, both
/// are floating-point numbers, or neither is.
template <class A, class B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                              std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <class Ours, class Vendors>
struct SameShape : std::false_type {};

template <class Ours, class... OurArguments, class Vendors, class... VendorArguments>
    requires(sizeof...(OurArguments) == sizeof...(VendorArguments))
struct SameShape<Ours(OurArguments...), Vendors(VendorArguments...)>
    : std::bool_constant<passed_alike<Ours, Vendors> && (passed_alike<OurArguments, VendorArguments> && ...)> {};

static_assert(!SameShape<int(int), int(long)>::value && !SameShape<int(int), int(void*)>::value &&
              !SameShape<int(int), int(int, int)>::value && SameShape<int(void*), int(const char*)>::value);

using namespace roofline::core;

#define ROOFLINE_COMPARE(member, symbol, ...) \
    static_assert(SameShape<std::remove_pointer_t<decltype(Functions::member)>, decltype(::symbol)>::value, #symbol);
namespace driver {
using Functions = CudaDriver;
ROOFLINE_CUDA_DRIVER(ROOFLINE_COMPARE)
}  // namespace driver
namespace blas {
using Functions = CublasLt;
ROOFLINE_CUBLASLT(ROOFLINE_COMPARE)
}  // namespace blas
namespace compiler {
using Functions = Nvrtc;
ROOFLINE_NVRTC(ROOFLINE_COMPARE)
}  // namespace compiler
#if __has_include(<nvml.h>)
namespace management {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // the name from before driver 535 is declared, too
using Functions = Nvml;
ROOFLINE_NVML(ROOFLINE_COMPARE)
}  // namespace management
#endif

static_assert(cuda::success == CUDA_SUCCESS && cuda::success == CUBLAS_STATUS_SUCCESS &&
              cuda::success == NVRTC_SUCCESS);
static_assert(cuda::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY && cuda::stub_library == CUDA_ERROR_STUB_LIBRARY);
static_assert(cuda::no_device == CUDA_ERROR_NO_DEVICE && cuda::no_binary_for_gpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(cuda::not_supported == CUBLAS_STATUS_NOT_SUPPORTED);

static_assert(int(cuda::max_threads_per_block) == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(int(cuda::shared_bytes_per_block) == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(int(cuda::clock_khz) == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(int(cuda::multiprocessors) == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(int(cuda::integrated) == CU_DEVICE_ATTRIBUTE_INTEGRATED);
static_assert(int(cuda::memory_clock_khz) == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(int(cuda::memory_bus_bits) == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(int(cuda::l2_bytes) == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(int(cuda::capability_major) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(int(cuda::capability_minor) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(int(cuda::shared_bytes_per_multiprocessor) == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(int(cuda::registers_per_multiprocessor) == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
static_assert(cuda::stream_non_blocking == CU_STREAM_NON_BLOCKING && cuda::event_default == CU_EVENT_DEFAULT);
static_assert(cuda::capture_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

static_assert(int(cuda::real_f32) == CUDA_R_32F && int(cuda::real_f64) == CUDA_R_64F &&
              int(cuda::real_f16) == CUDA_R_16F);
static_assert(int(cuda::real_i8) == CUDA_R_8I && int(cuda::real_i32) == CUDA_R_32I &&
              int(cuda::real_bf16) == CUDA_R_16BF);
static_assert(int(cuda::real_e4m3) == CUDA_R_8F_E4M3 && int(cuda::real_e5m2) == CUDA_R_8F_E5M2);
static_assert(int(cuda::compute_32f) == CUBLAS_COMPUTE_32F && int(cuda::compute_64f) == CUBLAS_COMPUTE_64F);
static_assert(int(cuda::compute_32i) == CUBLAS_COMPUTE_32I);
static_assert(int(cuda::compute_32f_fast_tf32) == CUBLAS_COMPUTE_32F_FAST_TF32);

static_assert(int(cuda::matmul_transpose_a) == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(int(cuda::matmul_transpose_b) == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(int(cuda::matmul_a_scale) == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
static_assert(int(cuda::matmul_b_scale) == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
static_assert(int(cuda::matmul_fast_accumulation) == CUBLASLT_MATMUL_DESC_FAST_ACCUM);
static_assert(cuda::operation_none == CUBLAS_OP_N && cuda::operation_transpose == CUBLAS_OP_T);
static_assert(int(cuda::layout_batch_count) == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(int(cuda::layout_batch_stride) == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(int(cuda::preference_workspace_bytes) == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(int(cuda::preference_alignment_a) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(int(cuda::preference_alignment_b) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(int(cuda::preference_alignment_c) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(int(cuda::preference_alignment_d) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

static_assert(sizeof(cuda::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cuda::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cuda::Heuristic, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cuda::Heuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(cuda::Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

}  // namespace
