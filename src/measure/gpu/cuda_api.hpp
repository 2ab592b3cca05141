// The parts of NVIDIA's driver API, cuBLASLt, NVRTC and NVML that this program uses: functions, constants and one
// structure, declared here after the vendor's documentation. So building needs no toolkit, and one program serves
// machines with and without a GPU. If a toolkit is installed, tests/gpu/vendor_headers.cpp compares every line of this
// file with the vendor's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace roofline::core::cuda {

using DevicePointer = unsigned long long;
using Handle = void*;  ///< a context, module, function, stream, event, graph, or an object of cuBLASLt, NVRTC or NVML

inline constexpr int success = 0;  ///< the same in all four libraries
inline constexpr int out_of_memory = 2;
inline constexpr int stub_library = 34;
inline constexpr int no_device = 100;
inline constexpr int no_binary_for_gpu = 209;
inline constexpr int not_supported = 15;  ///< status of cuBLASLt

enum Attribute : int {
    max_threads_per_block = 1,
    shared_bytes_per_block = 8,
    clock_khz = 13,
    multiprocessors = 16,
    integrated = 18,
    memory_clock_khz = 36,
    memory_bus_bits = 37,
    l2_bytes = 38,
    capability_major = 75,
    capability_minor = 76,
    shared_bytes_per_multiprocessor = 81,
    registers_per_multiprocessor = 82,
};

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;
inline constexpr int capture_thread_local = 1;

enum DataType : int {
    real_f32 = 0,
    real_f64 = 1,
    real_f16 = 2,
    real_i8 = 3,
    real_i32 = 10,
    real_bf16 = 14,
    real_e4m3 = 28,
    real_e5m2 = 29,
};

enum ComputeType : int {
    compute_32f = 68,
    compute_64f = 70,
    compute_32i = 72,
    compute_32f_fast_tf32 = 77,
};

enum MatmulAttribute : int {
    matmul_transpose_a = 3,
    matmul_transpose_b = 4,
    matmul_a_scale = 17,
    matmul_b_scale = 18,
    matmul_fast_accumulation = 25,
};
inline constexpr int operation_none = 0;
inline constexpr int operation_transpose = 1;

enum LayoutAttribute : int {
    layout_batch_count = 5,
    layout_batch_stride = 6,
};
enum PreferenceAttribute : int {
    preference_workspace_bytes = 1,
    preference_alignment_a = 5,
    preference_alignment_b = 6,
    preference_alignment_c = 7,
    preference_alignment_d = 8,
};

struct Algorithm {
    std::uint64_t data[8];
};

/// One algorithm that cuBLASLt's heuristic proposes.
struct Heuristic {
    Algorithm algorithm;
    std::size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
};

}  // namespace roofline::core::cuda

// X(member, symbol, type) lists the functions, each stored as `type* member`. Symbols carry the version that the macros
// of cuda.h append.
// clang-format off
#define ROOFLINE_CUDA_DRIVER(X)                                                                                    \
    X(init, cuInit, int(unsigned flags))                                                                           \
    X(driver_version, cuDriverGetVersion, int(int* version))                                                       \
    X(error_name, cuGetErrorName, int(int error, const char** text))                                               \
    X(device_count, cuDeviceGetCount, int(int* count))                                                             \
    X(device_get, cuDeviceGet, int(int* device, int ordinal))                                                      \
    X(device_name, cuDeviceGetName, int(char* name, int length, int device))                                       \
    X(device_attribute, cuDeviceGetAttribute, int(int* value, int attribute, int device))                          \
    X(device_memory, cuDeviceTotalMem_v2, int(std::size_t* bytes, int device))                                     \
    X(device_pci, cuDeviceGetPCIBusId, int(char* text, int length, int device))                                    \
    X(context_retain, cuDevicePrimaryCtxRetain, int(cuda::Handle* context, int device))                            \
    X(context_release, cuDevicePrimaryCtxRelease_v2, int(int device))                                              \
    X(context_set, cuCtxSetCurrent, int(cuda::Handle context))                                                     \
    X(memory_info, cuMemGetInfo_v2, int(std::size_t* free, std::size_t* total))                                    \
    X(allocate, cuMemAlloc_v2, int(cuda::DevicePointer* pointer, std::size_t bytes))                               \
    X(release, cuMemFree_v2, int(cuda::DevicePointer pointer))                                                     \
    X(allocate_host, cuMemAllocHost_v2, int(void** pointer, std::size_t bytes))                                    \
    X(release_host, cuMemFreeHost, int(void* pointer))                                                             \
    X(to_device, cuMemcpyHtoDAsync_v2,                                                                             \
      int(cuda::DevicePointer to, const void* from, std::size_t bytes, cuda::Handle stream))                       \
    X(to_host, cuMemcpyDtoHAsync_v2, int(void* to, cuda::DevicePointer from, std::size_t bytes, cuda::Handle stream)) \
    X(module_load, cuModuleLoadData, int(cuda::Handle* module, const void* image))                                 \
    X(module_unload, cuModuleUnload, int(cuda::Handle module))                                                     \
    X(module_function, cuModuleGetFunction, int(cuda::Handle* function, cuda::Handle module, const char* name))    \
    X(resident_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                \
      int(int* blocks, cuda::Handle function, int threads, std::size_t shared_bytes))                              \
    X(launch, cuLaunchKernel,                                                                                      \
      int(cuda::Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,              \
          unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda::Handle stream, void** arguments,        \
          void** extra))                                                                                           \
    X(stream_create, cuStreamCreate, int(cuda::Handle* stream, unsigned flags))                                    \
    X(stream_destroy, cuStreamDestroy_v2, int(cuda::Handle stream))                                                \
    X(stream_synchronize, cuStreamSynchronize, int(cuda::Handle stream))                                           \
    X(event_create, cuEventCreate, int(cuda::Handle* event, unsigned flags))                                       \
    X(event_destroy, cuEventDestroy_v2, int(cuda::Handle event))                                                   \
    X(event_record, cuEventRecord, int(cuda::Handle event, cuda::Handle stream))                                   \
    X(event_synchronize, cuEventSynchronize, int(cuda::Handle event))                                              \
    X(event_elapsed, cuEventElapsedTime, int(float* milliseconds, cuda::Handle start, cuda::Handle end))           \
    X(capture_begin, cuStreamBeginCapture_v2, int(cuda::Handle stream, int mode))                                  \
    X(capture_end, cuStreamEndCapture, int(cuda::Handle stream, cuda::Handle* graph))                              \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                                              \
      int(cuda::Handle* exec, cuda::Handle graph, unsigned long long flags))                                       \
    X(graph_launch, cuGraphLaunch, int(cuda::Handle exec, cuda::Handle stream))                                    \
    X(graph_exec_destroy, cuGraphExecDestroy, int(cuda::Handle exec))                                              \
    X(graph_destroy, cuGraphDestroy, int(cuda::Handle graph))

#define ROOFLINE_CUBLASLT(X)                                                                                       \
    X(version, cublasLtGetVersion, std::size_t())                                                                  \
    X(create, cublasLtCreate, int(cuda::Handle* handle))                                                           \
    X(destroy, cublasLtDestroy, int(cuda::Handle handle))                                                          \
    X(matmul_create, cublasLtMatmulDescCreate, int(cuda::Handle* matmul, int compute_type, int scale_type))        \
    X(matmul_destroy, cublasLtMatmulDescDestroy, int(cuda::Handle matmul))                                         \
    X(matmul_set, cublasLtMatmulDescSetAttribute,                                                                  \
      int(cuda::Handle matmul, int attribute, const void* value, std::size_t bytes))                               \
    X(layout_create, cublasLtMatrixLayoutCreate,                                                                   \
      int(cuda::Handle* layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading))        \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, int(cuda::Handle layout))                                       \
    X(layout_set, cublasLtMatrixLayoutSetAttribute,                                                                \
      int(cuda::Handle layout, int attribute, const void* value, std::size_t bytes))                               \
    X(preference_create, cublasLtMatmulPreferenceCreate, int(cuda::Handle* preference))                            \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy, int(cuda::Handle preference))                           \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute,                                                        \
      int(cuda::Handle preference, int attribute, const void* value, std::size_t bytes))                           \
    X(heuristics, cublasLtMatmulAlgoGetHeuristic,                                                                  \
      int(cuda::Handle handle, cuda::Handle matmul, cuda::Handle a, cuda::Handle b, cuda::Handle c, cuda::Handle d,\
          cuda::Handle preference, int wanted, cuda::Heuristic* results, int* count))                              \
    X(multiply, cublasLtMatmul,                                                                                    \
      int(cuda::Handle handle, cuda::Handle matmul, const void* alpha, const void* a,                              \
          cuda::Handle a_layout, const void* b,                                                                    \
          cuda::Handle b_layout, const void* beta, const void* c, cuda::Handle c_layout, void* d,                  \
          cuda::Handle d_layout,                                                                                   \
          const cuda::Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, cuda::Handle stream))

#define ROOFLINE_NVRTC(X)                                                                                          \
    X(version, nvrtcVersion, int(int* major, int* minor))                                                          \
    X(architecture_count, nvrtcGetNumSupportedArchs, int(int* count))                                              \
    X(architectures, nvrtcGetSupportedArchs, int(int* architectures))                                              \
    X(create, nvrtcCreateProgram,                                                                                  \
      int(cuda::Handle* program, const char* source, const char* name, int headers, const char* const* texts,      \
          const char* const* names))                                                                               \
    X(destroy, nvrtcDestroyProgram, int(cuda::Handle* program))                                                    \
    X(compile, nvrtcCompileProgram, int(cuda::Handle program, int count, const char* const* options))              \
    X(log_size, nvrtcGetProgramLogSize, int(cuda::Handle program, std::size_t* bytes))                             \
    X(log, nvrtcGetProgramLog, int(cuda::Handle program, char* text))                                              \
    X(binary_size, nvrtcGetCUBINSize, int(cuda::Handle program, std::size_t* bytes))                               \
    X(binary, nvrtcGetCUBIN, int(cuda::Handle program, char* bytes))

#define ROOFLINE_NVML(X)                                                                                           \
    X(init, nvmlInit_v2, int())                                                                                    \
    X(shutdown, nvmlShutdown, int())                                                                               \
    X(device_by_pci, nvmlDeviceGetHandleByPciBusId_v2, int(const char* pci, cuda::Handle* device))                 \
    X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons,                                                 \
      int(cuda::Handle device, unsigned long long* reasons))                                                       \
    X(power_limit, nvmlDeviceGetEnforcedPowerLimit, int(cuda::Handle device, unsigned* milliwatts))
// clang-format on

namespace roofline::core {

#define ROOFLINE_DECLARE(member, symbol, ...) \
    static_assert(sizeof(#symbol) > 1);       \
    using member##_function = __VA_ARGS__;    \
    member##_function* member = nullptr;

struct CudaDriver {
    ROOFLINE_CUDA_DRIVER(ROOFLINE_DECLARE)
};
struct CublasLt {
    ROOFLINE_CUBLASLT(ROOFLINE_DECLARE)
};
struct Nvrtc {
    ROOFLINE_NVRTC(ROOFLINE_DECLARE)
};
struct Nvml {
    ROOFLINE_NVML(ROOFLINE_DECLARE)
};

#undef ROOFLINE_DECLARE

}  // namespace roofline::core
