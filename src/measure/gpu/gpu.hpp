// One NVIDIA GPU: its properties, its memory, kernels compiled for it, and their times as measured by its own events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/gpu/gpu_libraries.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

struct GpuProperties {
    std::string name;  ///< "NVIDIA H100 80GB HBM3"
    std::string pci;   ///< "0000:1b:00.0"
    int major = 0;     ///< compute capability
    int minor = 0;
    int multiprocessors = 0;
    std::int64_t clock_hz = 0;  ///< highest clock; 0: the driver does not report it
    std::int64_t memory_bytes = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t shared_bytes = 0;  ///< per multiprocessor
    std::int64_t registers = 0;     ///< per multiprocessor, 32 bits each
    bool integrated = false;        ///< shares the host's memory

    [[nodiscard]] int capability() const { return 10 * major + minor; }
};

class Gpu;

/// Device memory, or host memory that the device accesses directly; the destructor frees it.
class GpuMemory {
public:
    GpuMemory() = default;
    GpuMemory(GpuMemory&& other) noexcept;
    GpuMemory& operator=(GpuMemory&& other) noexcept;
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;
    ~GpuMemory();

    [[nodiscard]] cuda::DevicePointer device() const { return device_; }
    [[nodiscard]] void* host() const { return host_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    friend class Gpu;
    const CudaDriver* driver_ = nullptr;
    cuda::DevicePointer device_ = 0;
    void* host_ = nullptr;
    std::size_t bytes_ = 0;
};

/// A kernel, and the number of its blocks that run concurrently on a multiprocessor.
struct GpuKernel {
    cuda::Handle function = nullptr;
    std::string name;
};

class Gpu {
public:
    /// Opens the first GPU that CUDA_VISIBLE_DEVICES allows. `folder`: see load_gpu_libraries. Errors: code `absent`.
    [[nodiscard]] static Result<std::unique_ptr<Gpu>> open(const std::string& folder = {});
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;
    ~Gpu();

    [[nodiscard]] const GpuProperties& properties() const { return properties_; }
    [[nodiscard]] const GpuLibraries& libraries() const { return libraries_; }
    [[nodiscard]] cuda::Handle stream() const { return stream_; }
    [[nodiscard]] cuda::Handle blas() const { return blas_; }

    [[nodiscard]] Result<std::int64_t> free_memory() const;
    [[nodiscard]] Result<GpuMemory> allocate(std::size_t bytes);
    [[nodiscard]] Result<GpuMemory> allocate_host(std::size_t bytes);
    /// Workspace shared by everything in the stream, which runs in order.
    [[nodiscard]] Result<cuda::DevicePointer> workspace();
    /// The size that NVIDIA's examples give cuBLASLt on Hopper; a smaller one excludes split-K algorithms.
    static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

    /// Copies to or from the device and waits until the copy is done.
    [[nodiscard]] Status upload(cuda::DevicePointer to, const void* from, std::size_t bytes);
    [[nodiscard]] Status download(void* to, cuda::DevicePointer from, std::size_t bytes);

    /// Compiles CUDA C++ for this device; kernels are extern "C". Errors: code `absent` if NVRTC does not know the
    /// device's architecture; "compile" with the compiler's message.
    [[nodiscard]] Status load(const std::string& source);
    /// Finds a kernel in the loaded sources, the latest first.
    [[nodiscard]] Result<GpuKernel> kernel(const std::string& name) const;
    [[nodiscard]] Result<unsigned> resident_blocks(const GpuKernel& kernel, unsigned threads) const;

    /// Launches the kernel in the GPU's stream, after earlier work.
    template <class... Arguments>
    [[nodiscard]] Status launch(const GpuKernel& kernel, unsigned blocks, unsigned threads, Arguments... arguments) {
        std::array<void*, sizeof...(Arguments) + 1> pointers{static_cast<void*>(&arguments)..., nullptr};
        return launch_with(kernel, blocks, threads, pointers.data());
    }
    [[nodiscard]] Status launch_with(const GpuKernel& kernel, unsigned blocks, unsigned threads, void** arguments);
    [[nodiscard]] Status synchronize();

    /// Seconds on the device's clock that the work which `work` puts into the stream takes.
    [[nodiscard]] Result<double> time(const std::function<Status()>& work);

    /// An error that contains the driver's message.
    [[nodiscard]] Error error(int code, const std::string& doing) const;

private:
    Gpu() = default;
    [[nodiscard]] Status start();
    [[nodiscard]] Status read_properties();

    GpuLibraries libraries_;
    GpuProperties properties_;
    int device_ = 0;
    cuda::Handle context_ = nullptr;
    cuda::Handle stream_ = nullptr;
    cuda::Handle before_ = nullptr;
    cuda::Handle after_ = nullptr;
    cuda::Handle blas_ = nullptr;
    GpuMemory workspace_;
    std::vector<cuda::Handle> modules_;  ///< latest first
};

/// Compiles to machine code for compute capability `capability` (90, for example). See Gpu::load.
[[nodiscard]] Result<std::string> compile_for_gpu(const Nvrtc& compiler, const std::string& compiler_name,
                                                  const std::string& source, int capability);

/// take_samples() with the device's clock: warms up, determines how many calls fill a sample, and takes samples until
/// there are enough or the time limit is reached. Disturbances cannot be detected, so all samples count. Errors:
/// interrupted; those of `work`.
[[nodiscard]] Result<Sampled> take_gpu_samples(Gpu& gpu, const std::function<Status(std::int64_t calls)>& work,
                                               const SamplingOptions& options);

}  // namespace roofline::core
