#include "measure/gpu/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string problem_name(const CudaDriver& driver, int code) {
    const char* text = nullptr;
    if (driver.error_name(code, &text) != cuda::success || text == nullptr) return fmt::format("CUDA error {}", code);
    return text;
}

}  // namespace

GpuMemory::GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(device_, other.device_);
    std::swap(host_, other.host_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

GpuMemory::~GpuMemory() {
    if (device_ != 0) driver_->release(device_);
    if (host_ != nullptr) driver_->release_host(host_);
}

Error Gpu::error(int code, const std::string& doing) const {
    const std::string name = problem_name(libraries_.driver, code);
    if (code == cuda::out_of_memory) {
        return {"memory",
                fmt::format("the GPU has too little free memory: {} ({})", doing, name),
                "choose smaller sizes, or end other programs that use the GPU (nvidia-smi lists them)",
                {}};
    }
    return {"gpu", fmt::format("the GPU failed: {} ({})", doing, name), "", {}};
}

Result<std::unique_ptr<Gpu>> Gpu::open(const std::string& folder) {
    ROOFLINE_TRY(auto libraries, load_gpu_libraries(folder));
    std::unique_ptr<Gpu> gpu(new Gpu);
    gpu->libraries_ = std::move(libraries);
    ROOFLINE_CHECK(gpu->start());
    return gpu;
}

Status Gpu::start() {
    const CudaDriver& driver = libraries_.driver;
    if (const int code = driver.device_get(&device_, 0); code != cuda::success) {
        return fail(error(code, "querying the first device"));
    }
    ROOFLINE_CHECK(read_properties());
    if (const int code = driver.context_retain(&context_, device_); code != cuda::success) {
        context_ = nullptr;
        Error refused = error(code, "opening the device");
        refused.hint = "check with nvidia-smi whether another process uses the GPU exclusively";
        return fail(refused);
    }
    for (const int code :
         {driver.context_set(context_), driver.stream_create(&stream_, cuda::stream_non_blocking),
          driver.event_create(&before_, cuda::event_default), driver.event_create(&after_, cuda::event_default)}) {
        if (code != cuda::success) return fail(error(code, "creating a context on the device"));
    }
    if (const int code = libraries_.blas.create(&blas_); code != cuda::success) {
        blas_ = nullptr;
        return fail("absent", fmt::format("cuBLASLt failed to start (status {})", code),
                    "install a toolkit that is compatible with the driver: nvidia-smi shows its CUDA version");
    }
    return {};
}

Status Gpu::read_properties() {
    const CudaDriver& driver = libraries_.driver;
    char text[256] = {};
    if (driver.device_name(text, sizeof text - 1, device_) == cuda::success) properties_.name = text;
    if (driver.device_pci(text, sizeof text - 1, device_) == cuda::success) properties_.pci = text;
    std::size_t bytes = 0;
    if (const int code = driver.device_memory(&bytes, device_); code != cuda::success) {
        return fail(error(code, "querying the size of its memory"));
    }
    properties_.memory_bytes = static_cast<std::int64_t>(bytes);
    const auto attribute = [&](cuda::Attribute which) {
        int value = 0;
        return driver.device_attribute(&value, which, device_) == cuda::success ? value : 0;
    };
    properties_.major = attribute(cuda::capability_major);
    properties_.minor = attribute(cuda::capability_minor);
    properties_.multiprocessors = attribute(cuda::multiprocessors);
    properties_.clock_hz = std::int64_t{1000} * attribute(cuda::clock_khz);
    properties_.l2_bytes = attribute(cuda::l2_bytes);
    properties_.shared_bytes = attribute(cuda::shared_bytes_per_multiprocessor);
    properties_.registers = attribute(cuda::registers_per_multiprocessor);
    properties_.integrated = attribute(cuda::integrated) != 0;
    if (properties_.multiprocessors < 1) return fail("gpu", "the GPU does not report its number of multiprocessors");
    return {};
}

Gpu::~Gpu() {
    const CudaDriver& driver = libraries_.driver;
    if (stream_ != nullptr) driver.stream_synchronize(stream_);
    if (blas_ != nullptr) libraries_.blas.destroy(blas_);
    workspace_ = GpuMemory();
    for (cuda::Handle module : modules_) driver.module_unload(module);
    if (before_ != nullptr) driver.event_destroy(before_);
    if (after_ != nullptr) driver.event_destroy(after_);
    if (stream_ != nullptr) driver.stream_destroy(stream_);
    if (context_ != nullptr) driver.context_release(device_);
}

Result<std::int64_t> Gpu::free_memory() const {
    std::size_t free = 0;
    std::size_t total = 0;
    const int code = libraries_.driver.memory_info(&free, &total);
    if (code != cuda::success) return fail(error(code, "querying free memory"));
    return static_cast<std::int64_t>(free);
}

Result<GpuMemory> Gpu::allocate(std::size_t bytes) {
    GpuMemory memory;
    memory.driver_ = &libraries_.driver;
    const int code = libraries_.driver.allocate(&memory.device_, std::max<std::size_t>(bytes, 16));
    if (code != cuda::success) {
        memory.device_ = 0;
        return fail(error(code, "allocating " + to_text(Bytes{static_cast<double>(bytes)})));
    }
    memory.bytes_ = bytes;
    return memory;
}

Result<GpuMemory> Gpu::allocate_host(std::size_t bytes) {
    GpuMemory memory;
    memory.driver_ = &libraries_.driver;
    const int code = libraries_.driver.allocate_host(&memory.host_, bytes);
    if (code != cuda::success) {
        memory.host_ = nullptr;
        return fail(error(code, fmt::format("pinning {} of host memory", to_text(Bytes{static_cast<double>(bytes)}))));
    }
    memory.bytes_ = bytes;
    return memory;
}

Result<cuda::DevicePointer> Gpu::workspace() {
    if (workspace_.bytes() == 0) {
        ROOFLINE_TRY(workspace_, allocate(workspace_bytes));
    }
    return workspace_.device();
}

Status Gpu::upload(cuda::DevicePointer to, const void* from, std::size_t bytes) {
    const int code = libraries_.driver.to_device(to, from, bytes, stream_);
    return code == cuda::success ? synchronize() : fail(error(code, "copying to the GPU"));
}

Status Gpu::download(void* to, cuda::DevicePointer from, std::size_t bytes) {
    const int code = libraries_.driver.to_host(to, from, bytes, stream_);
    return code == cuda::success ? synchronize() : fail(error(code, "copying from the GPU"));
}

Status Gpu::load(const std::string& source) {
    ROOFLINE_TRY(auto binary,
                 compile_for_gpu(libraries_.compiler, libraries_.compiler_name, source, properties_.capability()));
    cuda::Handle module = nullptr;
    const int code = libraries_.driver.module_load(&module, binary.data());
    if (code != cuda::success) return fail(error(code, "loading kernels"));
    modules_.insert(modules_.begin(), module);
    return {};
}

Result<GpuKernel> Gpu::kernel(const std::string& name) const {
    for (cuda::Handle module : modules_) {
        GpuKernel found{nullptr, name};
        if (libraries_.driver.module_function(&found.function, module, name.c_str()) == cuda::success) return found;
    }
    return fail("gpu", "no kernel " + name + " was loaded");
}

Result<unsigned> Gpu::resident_blocks(const GpuKernel& kernel, unsigned threads) const {
    int blocks = 0;
    const int code = libraries_.driver.resident_blocks(&blocks, kernel.function, static_cast<int>(threads), 0);
    if (code != cuda::success) return fail(error(code, "querying the occupancy of " + kernel.name + ""));
    return static_cast<unsigned>(std::max(blocks, 1));
}

Status Gpu::launch_with(const GpuKernel& kernel, unsigned blocks, unsigned threads, void** arguments) {
    const int code =
        libraries_.driver.launch(kernel.function, blocks, 1, 1, threads, 1, 1, 0, stream_, arguments, nullptr);
    if (code != cuda::success) return fail(error(code, "starting the kernel " + kernel.name));
    return {};
}

Status Gpu::synchronize() {
    const int code = libraries_.driver.stream_synchronize(stream_);
    if (code != cuda::success) return fail(error(code, "waiting for the stream"));
    return {};
}

Result<double> Gpu::time(const std::function<Status()>& work) {
    const CudaDriver& driver = libraries_.driver;
    if (const int code = driver.event_record(before_, stream_); code != cuda::success)
        return fail(error(code, "timing"));
    ROOFLINE_CHECK(work());
    float milliseconds = 0;
    int code = driver.event_record(after_, stream_);
    if (code == cuda::success) code = driver.event_synchronize(after_);
    if (code == cuda::success) code = driver.event_elapsed(&milliseconds, before_, after_);
    if (code != cuda::success) return fail(error(code, "timing"));
    return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace roofline::core
