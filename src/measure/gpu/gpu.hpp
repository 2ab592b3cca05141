// One NVIDIA GPU: its properties, its memory, kernels compiled for it, and how long they take by its own events.
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
    std::int64_t clock_hz = 0;  ///< the highest; 0: the driver no longer says
    std::int64_t memory_bytes = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t shared_bytes = 0;  ///< of one multiprocessor
    std::int64_t registers = 0;     ///< of one multiprocessor, 32 bits each
    bool integrated = false;        ///< shares the host's memory

    [[nodiscard]] int capability() const { return 10 * major + minor; }
};

class Gpu;

/// Device memory, or host memory that the device reaches without a copy in between; released with the object.
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

/// A kernel and the blocks of it that a multiprocessor holds at once.
struct GpuKernel {
    cuda::Handle function = nullptr;
    std::string name;
};

class Gpu {
public:
    /// The first GPU that CUDA_VISIBLE_DEVICES leaves. `folder`: see load_gpu_libraries. Errors: code `absent`.
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
    /// Shared by all that run in the stream, since they run one after the other.
    [[nodiscard]] Result<cuda::DevicePointer> workspace();
    /// What NVIDIA's examples give cuBLASLt on Hopper; fewer bytes rule out split sums.
    static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

    /// Both wait until the copy is done.
    [[nodiscard]] Status upload(cuda::DevicePointer to, const void* from, std::size_t bytes);
    [[nodiscard]] Status download(void* to, cuda::DevicePointer from, std::size_t bytes);

    /// Compiles CUDA C++ for this device; kernels are extern "C". Errors: code `absent` when NVRTC does not know the
    /// device's architecture; "compile" with the compiler's words.
    [[nodiscard]] Status load(const std::string& source);
    /// Of what was loaded; the latest first.
    [[nodiscard]] Result<GpuKernel> kernel(const std::string& name) const;
    [[nodiscard]] Result<unsigned> resident_blocks(const GpuKernel& kernel, unsigned threads) const;

    /// In the GPU's stream, behind what is there.
    template <class... Arguments>
    [[nodiscard]] Status launch(const GpuKernel& kernel, unsigned blocks, unsigned threads, Arguments... arguments) {
        std::array<void*, sizeof...(Arguments) + 1> pointers{static_cast<void*>(&arguments)..., nullptr};
        return launch_with(kernel, blocks, threads, pointers.data());
    }
    [[nodiscard]] Status launch_with(const GpuKernel& kernel, unsigned blocks, unsigned threads, void** arguments);
    [[nodiscard]] Status synchronize();

    /// Seconds on the device's clock between before and after what `work` puts into the stream.
    [[nodiscard]] Result<double> time(const std::function<Status()>& work);

    /// What the driver said, in words.
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
    std::vector<cuda::Handle> modules_;  ///< the latest first
};

/// Machine code for compute capability `capability` (90). See Gpu::load.
[[nodiscard]] Result<std::string> compile_for_gpu(const Nvrtc& compiler, const std::string& compiler_name,
                                                  const std::string& source, int capability);

/// take_samples() by the device's clock: warms up, finds how many calls fill a sample, and takes samples until there are enough or
/// the longest time is over. Nothing is known of disturbances: all samples count. Errors: interrupted; whatever `work` fails with.
[[nodiscard]] Result<Sampled> take_gpu_samples(Gpu& gpu, const std::function<Status(std::int64_t calls)>& work,
                                               const SamplingOptions& options);

}  // namespace roofline::core
