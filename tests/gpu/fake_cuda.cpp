// A stand-in for NVIDIA's driver, cuBLASLt, NVRTC and NVML in one shared library, for tests on machines without a GPU.
// Its imaginary device has a clock of its own: every launch and copy advances that clock by a time that follows from
// the device's rates, and nothing is measured. Matmuls are computed, each element when it is read. Of the measurement
// kernels only `fill` is executed. Generated kernels (src/measure/gpu/gpu_steps.hpp) are compiled for the processor and
// executed with fibers as threads. ROOFLINE_FAKE_CUDA, a list of words, makes the library fail: no_device, stub, old,
// no_memory, no_fp8, wrong, slow, fast_shared, new_device.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "measure/gpu/cuda_api.hpp"

namespace {

constexpr std::size_t total_memory = std::size_t{256} << 20;
constexpr int multiprocessors = 10;
constexpr double clock_hz = 1.5e9;

bool asked_for(const char* word) {
    const char* words = std::getenv("ROOFLINE_FAKE_CUDA");
    return words != nullptr && std::strstr(words, word) != nullptr;
}

struct Kernel {
    std::string name;
    void (*on_host)(unsigned blocks, unsigned threads, const void* arrays) = nullptr;
};
struct Module {
    std::string source;
    std::map<std::string, Kernel> kernels;
    void* library = nullptr;  ///< handle of a generated kernel that was compiled for the processor
};
struct Matmul {
    int compute = 0;
    int scale = 0;
    int transpose[2] = {0, 0};
};
struct Layout {
    int type = 0;
    std::uint64_t rows = 0, columns = 0;
    std::int64_t leading = 0;
    std::int32_t batch = 1;
    std::int64_t stride = 0;
};
struct Product {
    Matmul matmul;
    Layout layouts[3];
    const unsigned char* operands[2];
    unsigned char* result;
};
struct Program {
    std::string source;
    std::string log;
};

struct World {
    double now = 0;
    bool capturing = false;
    double captured = 0;
    std::map<const unsigned char*, std::size_t> memory;
    std::size_t used = 0;
    std::vector<Product> products;
    /// Alignment in bytes of a, b, c and d, which the next choice of an algorithm may assume.
    std::uint32_t alignment[4] = {256, 256, 256, 256};
    int objects = 0;  ///< created and not yet destroyed
};
World world;

void spend(double seconds, double as_node) {
    if (world.capturing) {
        world.captured += as_node;
    } else {
        world.now += seconds;
    }
}

template <class T>
T argument(void** arguments, int index) {
    T value;
    std::memcpy(&value, arguments[index], sizeof value);
    return value;
}

template <class T>
T* pointer(void** arguments, int index) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(argument<std::uint64_t>(arguments, index)));
}

void write_clock(std::uint64_t* clock, double seconds) {
    clock[0] = static_cast<std::uint64_t>(std::llround(seconds * clock_hz));
    clock[1] = static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

std::uint64_t mixed(std::uint64_t index) {
    std::uint64_t word = index * 0x9E3779B97F4A7C15U;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
    return word ^ (word >> 31);
}

const char* const host_begin = R"(
#include <cmath>
#include <cstring>
#include <stdlib.h>
#include <ucontext.h>
#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define ROOFLINE_NO_PTX
static float from_f16(unsigned short bits) { _Float16 half; std::memcpy(&half, &bits, 2); return (float)half; }
static unsigned short to_f16(float value) {
    const _Float16 half = (_Float16)value;
    unsigned short bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}
static float __uint_as_float(unsigned bits) { float value; std::memcpy(&value, &bits, 4); return value; }
static unsigned __float_as_uint(float value) { unsigned bits; std::memcpy(&bits, &value, 4); return bits; }
struct Index { unsigned x = 0, y = 0, z = 0; };
static Index threadIdx, blockIdx, blockDim, gridDim;
static void wait_for_all();
#define __syncthreads wait_for_all
)";

// All fibers of a block reach each barrier, or none does, so they are resumed in turn there.
const char* const host_end = R"(
static ucontext_t scheduler;
struct Fiber { ucontext_t context; char* stack; bool done; };
static Fiber fibers[1024];
static Arrays held;
static void wait_for_all() { swapcontext(&fibers[threadIdx.x].context, &scheduler); }
static void one_thread() {
    roofline_step(held);
    fibers[threadIdx.x].done = true;
    swapcontext(&fibers[threadIdx.x].context, &scheduler);
}
static bool turn() {
    bool running = false;
    for (unsigned t = 0; t < blockDim.x; ++t) {
        if (fibers[t].done) continue;
        threadIdx.x = t;
        swapcontext(&scheduler, &fibers[t].context);
        running = running || !fibers[t].done;
    }
    return running;
}
extern "C" void run_on_host(unsigned blocks, unsigned threads, const void* arrays) {
    std::memcpy(&held, arrays, sizeof held);
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        if (!BARRIERS) {
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) roofline_step(held);
            continue;
        }
        for (unsigned t = 0; t < threads; ++t) {
            Fiber& fiber = fibers[t];
            fiber.done = false;
            if (fiber.stack == nullptr) fiber.stack = (char*)malloc(1 << 15);
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack;
            fiber.context.uc_stack.ss_size = 1 << 15;
            fiber.context.uc_link = nullptr;
            makecontext(&fiber.context, one_thread, 0);
        }
        while (turn()) {
        }
    }
    for (Fiber& fiber : fibers) {
        free(fiber.stack);
        fiber.stack = nullptr;
    }
}
)";

const char* const step_signature = "void roofline_step(Arrays A)";

/// Compiles a generated kernel for the processor; returns null if the compiler rejects it.
void* host_library(const std::string& source) {
    char folder[] = "/tmp/fake_cuda_XXXXXX";
    if (::mkdtemp(folder) == nullptr) return nullptr;
    const std::string path = folder;
    const std::string body = source.substr(source.find(step_signature));
    {
        std::ofstream file(path + "/step.cpp");
        file << host_begin << source << "#define BARRIERS " << (body.find("shared") != std::string::npos) << "\n"
             << host_end;
    }
    // A GPU faults on a load or store whose address is not a multiple of its width, so this device does, too.
    const std::string command =
        ROOFLINE_FAKE_COMPILER
        " -std=c++17 -O0 -w -fsanitize=alignment -fsanitize-undefined-trap-on-error -shared -fPIC -o " +
        path + "/step.so " + path + "/step.cpp 2>" + path + "/log";
    const bool compiled = std::system(command.c_str()) == 0;
    void* library = compiled ? ::dlopen((path + "/step.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!compiled) std::system(("head -5 " + path + "/log >&2").c_str());
    std::system(("rm -r " + path).c_str());
    return library;
}

/// Returns the seconds that the imaginary device takes for a kernel. Some kernels write results that callers check.
double run_kernel(const std::string& name, double threads, void** a) {
    const double slower = asked_for("slow") ? 0.6 : 1;
    const auto fma_time = [&](double lanes, double numbers) {
        return threads * argument<int>(a, 1) * 256 * numbers / (lanes * multiprocessors * clock_hz * slower);
    };
    const auto peak = [&](double lanes, double numbers) {
        const double seconds = fma_time(lanes, numbers);
        write_clock(pointer<std::uint64_t>(a, 4), seconds);
        return seconds;
    };
    if (name == "empty") return 0;
    if (name == "fill") {
        auto* words = pointer<std::uint64_t>(a, 0);
        const auto seed = argument<std::uint64_t>(a, 2), keep = argument<std::uint64_t>(a, 3),
                   set = argument<std::uint64_t>(a, 4);
        const auto count = argument<std::uint64_t>(a, 1);
        for (std::uint64_t i = 0; i < count; ++i) words[i] = (mixed(i + 1 + seed) & keep) | set;
        return static_cast<double>(count) * 8 / 0.85e12;
    }
    if (name == "spin") {
        const double seconds = 1e-9 * static_cast<double>(argument<std::uint64_t>(a, 0));
        write_clock(pointer<std::uint64_t>(a, 1), seconds);
        return seconds;
    }
    if (name == "peak_f32") return peak(128, 1);
    if (name == "peak_f64") return peak(64, 1);
    if (name == "peak_f16x2" || name == "peak_bf16x2") return peak(256, 2);
    if (name == "read_memory") return 16 * static_cast<double>(argument<std::uint64_t>(a, 1)) / 1.0e12;
    if (name == "write_memory") return 16 * static_cast<double>(argument<std::uint64_t>(a, 1)) / 0.85e12;
    if (name == "copy_memory") return 32 * static_cast<double>(argument<std::uint64_t>(a, 2)) / 0.9e12;
    if (name == "triad_memory") return 48 * static_cast<double>(argument<std::uint64_t>(a, 3)) / 0.95e12;
    if (name == "read_l2") {
        // The rate is halved if the working set exceeds a quarter of the 4 MiB.
        const double bytes = 16 * (static_cast<double>(argument<std::uint64_t>(a, 1)) + 1);
        return threads * argument<int>(a, 2) * 16 * 16 / (bytes > (1 << 20) ? 2.5e12 : 5e12);
    }
    if (name == "read_shared") {
        const double per_cycle = asked_for("fast_shared") ? 512 : 128;
        const double seconds = threads * argument<int>(a, 0) * 16 * 16 / (per_cycle * multiprocessors * clock_hz);
        write_clock(pointer<std::uint64_t>(a, 2), seconds);
        return seconds;
    }
    return 1e-6;
}

int type_bytes(int type) { return type == 1 ? 8 : type == 0 || type == 10 ? 4 : type == 2 || type == 14 ? 2 : 1; }

double read_number(int type, const unsigned char* at) {
    const auto as = [&]<class T>(T value) {
        std::memcpy(&value, at, sizeof value);
        return value;
    };
    if (type == 1) return as(double{});
    if (type == 0) return static_cast<double>(as(float{}));
    if (type == 2) return static_cast<double>(as(_Float16{}));
    if (type == 14) {
        const std::uint32_t bits = static_cast<std::uint32_t>(as(std::uint16_t{})) << 16;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return static_cast<double>(value);
    }
    if (type == 28) {
        const int exponent = (*at >> 3) & 15;
        const double mantissa = (*at & 7) / 8.0;
        const double size = exponent == 0 ? std::ldexp(mantissa, -6) : std::ldexp(1 + mantissa, exponent - 7);
        return (*at & 128) != 0 ? -size : size;
    }
    return type == 3 ? static_cast<double>(as(std::int8_t{})) : static_cast<double>(as(std::int32_t{}));
}

void write_number(int type, unsigned char* at, double number) {
    const auto as = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    if (type == 1) as(number);
    if (type == 0) as(static_cast<float>(number));
    if (type == 2) as(static_cast<_Float16>(number));
    if (type == 10) as(static_cast<std::int32_t>(number));
    if (type == 14) {
        const auto value = static_cast<float>(number);
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        bits += 0x7FFFU + ((bits >> 16) & 1U);
        as(static_cast<std::uint16_t>(bits >> 16));
    }
}

/// Returns element (row, column) of op(A) or op(B), which are stored by columns.
double element(const Layout& layout, const unsigned char* matrix, bool transposed, std::uint64_t row,
               std::uint64_t column) {
    if (transposed) std::swap(row, column);
    const std::uint64_t at = row + column * static_cast<std::uint64_t>(layout.leading);
    return read_number(layout.type, matrix + at * static_cast<std::uint64_t>(type_bytes(layout.type)));
}

std::uint64_t summed(const Product& product) {
    return product.matmul.transpose[0] != 0 ? product.layouts[0].rows : product.layouts[0].columns;
}

void compute(const Product& product, std::int32_t batch, std::uint64_t row, std::uint64_t column) {
    const auto start = [&](int i, const unsigned char* base) {
        return base + batch * product.layouts[i].stride * type_bytes(product.layouts[i].type);
    };
    const unsigned char* a = start(0, product.operands[0]);
    const unsigned char* b = start(1, product.operands[1]);
    double sum = asked_for("wrong") ? 100 : 0;
    for (std::uint64_t l = 0; l < summed(product); ++l) {
        sum += element(product.layouts[0], a, product.matmul.transpose[0] != 0, row, l) *
               element(product.layouts[1], b, product.matmul.transpose[1] != 0, l, column);
    }
    const Layout& c = product.layouts[2];
    const std::uint64_t at = row + column * static_cast<std::uint64_t>(c.leading);
    const std::size_t offset = static_cast<std::size_t>(start(2, product.result) - product.result);
    write_number(c.type, product.result + offset + at * static_cast<std::uint64_t>(type_bytes(c.type)), sum);
}

/// Computes the elements of a matmul that are in the given range of memory.
void compute_what_is_read(const unsigned char* from, std::size_t bytes) {
    for (const Product& product : world.products) {
        const Layout& c = product.layouts[2];
        const auto size = static_cast<std::size_t>(type_bytes(c.type));
        const std::size_t whole = static_cast<std::size_t>(c.leading) * c.columns * size;
        if (from < product.result || from >= product.result + whole) continue;
        const std::size_t first = static_cast<std::size_t>(from - product.result) / size;
        for (std::size_t i = first; i < first + bytes / size; ++i) {
            compute(product, 0, i % static_cast<std::size_t>(c.leading), i / static_cast<std::size_t>(c.leading));
        }
    }
}

double matmul_rate(const Product& product) {
    switch (product.layouts[0].type) {
        case 1:
            return 10e12;
        case 0:
            return product.matmul.compute == 77 ? 100e12 : 20e12;
        case 2:
            return 200e12;
        case 14:
            return 190e12;
        case 28:
            return 400e12;
        default:
            return 380e12;
    }
}

const double way_factors[] = {1.1, 1.0, 1.3};

void multiply(const Product& product, std::uint64_t way) {
    const Layout& c = product.layouts[2];
    const double flops = 2.0 * static_cast<double>(c.rows) * static_cast<double>(c.columns) *
                         static_cast<double>(summed(product)) * c.batch;
    spend(2e-6 + flops / matmul_rate(product) * way_factors[way % 3], 1e-6);
    if (flops < 1e7) {
        for (std::int32_t batch = 0; batch < c.batch; ++batch) {
            for (std::uint64_t i = 0; i < c.rows; ++i) {
                for (std::uint64_t j = 0; j < c.columns; ++j) compute(product, batch, i, j);
            }
        }
        return;
    }
    std::erase_if(world.products, [&](const Product& other) { return other.result == product.result; });
    world.products.push_back(product);
}

/// Whether the source defines this kernel, directly or through the macro for peaks.
bool defines(const std::string& source, const std::string& name) {
    return source.find("void " + name + "(") != std::string::npos ||
           source.find("PEAK(" + name + ",") != std::string::npos;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// For tests: returns the number of objects and allocations that were not released.
EXPORT int fake_cuda_left() { return world.objects + static_cast<int>(world.memory.size()); }

EXPORT int cuInit(unsigned) { return asked_for("no_device") ? 100 : asked_for("stub") ? 34 : 0; }
EXPORT int cuDriverGetVersion(int* version) { return *version = asked_for("old") ? 11040 : 13000, 0; }
EXPORT int cuGetErrorName(int error, const char** text) {
    static const std::map<int, const char*> names{{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                  {34, "CUDA_ERROR_STUB_LIBRARY"},
                                                  {100, "CUDA_ERROR_NO_DEVICE"},
                                                  {500, "CUDA_ERROR_NOT_FOUND"}};
    const auto found = names.find(error);
    if (found == names.end()) return 1;
    *text = found->second;
    return 0;
}
EXPORT int cuDeviceGetCount(int* count) { return *count = 1, 0; }
EXPORT int cuDeviceGet(int* device, int) { return *device = 0, 0; }
EXPORT int cuDeviceGetName(char* name, int length, int) {
    std::strncpy(name, "Imaginary GPU 256MB", static_cast<std::size_t>(length));
    return 0;
}
EXPORT int cuDeviceGetPCIBusId(char* text, int length, int) {
    std::strncpy(text, "0000:01:00.0", static_cast<std::size_t>(length));
    return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
    static const std::map<int, int> values{{16, multiprocessors}, {13, 1'500'000}, {38, 4 << 20}, {76, 0},
                                           {81, 233'472},         {82, 65'536}};
    if (attribute == 75) return *value = asked_for("new_device") ? 19 : 9, 0;
    const auto found = values.find(attribute);
    return *value = found == values.end() ? 0 : found->second, 0;
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = total_memory, 0; }
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &world, ++world.objects, 0; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return --world.objects, 0; }
EXPORT int cuCtxSetCurrent(void*) { return 0; }
EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    *total = total_memory;
    *free = total_memory - world.used;
    return 0;
}
EXPORT int cuMemAlloc_v2(unsigned long long* at, std::size_t bytes) {
    if (bytes > total_memory - world.used || (asked_for("no_memory") && bytes > 4096)) return 2;
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return 2;
    world.memory[static_cast<unsigned char*>(memory)] = bytes;
    world.used += bytes;
    *at = reinterpret_cast<std::uintptr_t>(memory);
    return 0;
}
EXPORT int cuMemFree_v2(unsigned long long at) {
    auto* memory = reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(at));
    const auto found = world.memory.find(memory);
    if (found == world.memory.end()) return 1;
    std::erase_if(world.products, [&](const Product& product) {
        return product.result == memory || product.operands[0] == memory || product.operands[1] == memory;
    });
    ::munmap(memory, found->second);
    world.used -= found->second;
    world.memory.erase(found);
    return 0;
}
EXPORT int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
    *memory = std::malloc(bytes);
    world.objects += *memory != nullptr ? 1 : 0;
    return *memory != nullptr ? 0 : 2;
}
EXPORT int cuMemFreeHost(void* memory) { return std::free(memory), --world.objects, 0; }
// Only the measurement of the host link copies more than a megabyte, and it does not check contents.
constexpr std::size_t really_copied = 1 << 20;
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
    spend(static_cast<double>(bytes) / 25e9, 0);
    if (bytes <= really_copied) std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), from, bytes);
    return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
    spend(static_cast<double>(bytes) / 20e9, 0);
    if (bytes > really_copied) return 0;
    const auto* memory = reinterpret_cast<const unsigned char*>(static_cast<std::uintptr_t>(from));
    compute_what_is_read(memory, bytes);
    std::memcpy(to, memory, bytes);
    return 0;
}
EXPORT int cuModuleLoadData(void** module, const void* image) {
    auto* made = new Module{static_cast<const char*>(image), {}, nullptr};
    *module = made;
    ++world.objects;
    if (made->source.find(step_signature) == std::string::npos) return 0;
    made->library = host_library(made->source);
    return made->library == nullptr ? 200 : 0;
}
EXPORT int cuModuleUnload(void* module) {
    auto* held = static_cast<Module*>(module);
    if (held->library != nullptr) ::dlclose(held->library);
    return delete held, --world.objects, 0;
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
    auto& held = *static_cast<Module*>(module);
    if (!defines(held.source, name)) return 500;
    Kernel& kernel = held.kernels[name];
    kernel.name = name;
    if (held.library != nullptr)
        kernel.on_host = reinterpret_cast<decltype(kernel.on_host)>(::dlsym(held.library, "run_on_host"));
    *function = &kernel;
    return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, std::size_t) {
    return *blocks = 2048 / threads, 0;
}
EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned, void*, void** arguments, void**) {
    if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || bx > 1024 || by != 1 || bz != 1) return 1;
    const auto& kernel = *static_cast<Kernel*>(function);
    const double threads = static_cast<double>(gx) * gy * gz * bx;
    if (kernel.on_host != nullptr) {
        kernel.on_host(gx, bx, arguments[0]);
        return spend(3e-6, 1e-6), 0;
    }
    spend(2e-6 + run_kernel(kernel.name, threads, arguments), 1e-6);
    return 0;
}
EXPORT int cuStreamCreate(void** stream, unsigned) { return *stream = &world.objects, ++world.objects, 0; }
EXPORT int cuStreamDestroy_v2(void*) { return --world.objects, 0; }
EXPORT int cuStreamSynchronize(void*) { return 0; }
EXPORT int cuEventCreate(void** event, unsigned) { return *event = new double(0), ++world.objects, 0; }
EXPORT int cuEventDestroy_v2(void* event) { return delete static_cast<double*>(event), --world.objects, 0; }
EXPORT int cuEventRecord(void* event, void*) { return *static_cast<double*>(event) = world.now, 0; }
EXPORT int cuEventSynchronize(void*) { return 0; }
EXPORT int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
    *milliseconds = static_cast<float>(1e3 * (*static_cast<double*>(end) - *static_cast<double*>(start)));
    return 0;
}
EXPORT int cuStreamBeginCapture_v2(void*, int) { return world.capturing = true, world.captured = 0, 0; }
EXPORT int cuStreamEndCapture(void*, void** graph) {
    world.capturing = false;
    *graph = new double(world.captured);
    return ++world.objects, 0;
}
EXPORT int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
    *exec = new double(*static_cast<double*>(graph));
    return ++world.objects, 0;
}
EXPORT int cuGraphLaunch(void* exec, void*) { return world.now += *static_cast<double*>(exec), 0; }
EXPORT int cuGraphExecDestroy(void* exec) { return delete static_cast<double*>(exec), --world.objects, 0; }
EXPORT int cuGraphDestroy(void* graph) { return delete static_cast<double*>(graph), --world.objects, 0; }

EXPORT std::size_t cublasLtGetVersion() { return 130100; }
EXPORT int cublasLtCreate(void** handle) { return *handle = &world, ++world.objects, 0; }
EXPORT int cublasLtDestroy(void*) { return --world.objects, 0; }
EXPORT int cublasLtMatmulDescCreate(void** matmul, int compute_type, int scale_type) {
    *matmul = new Matmul{compute_type, scale_type, {0, 0}};
    return ++world.objects, 0;
}
EXPORT int cublasLtMatmulDescDestroy(void* matmul) { return delete static_cast<Matmul*>(matmul), --world.objects, 0; }
EXPORT int cublasLtMatmulDescSetAttribute(void* matmul, int attribute, const void* value, std::size_t bytes) {
    auto& held = *static_cast<Matmul*>(matmul);
    if (attribute == 25) return bytes == 1 ? 0 : 7;
    if ((attribute != 3 && attribute != 4) || bytes != 4) return 7;
    std::memcpy(&held.transpose[attribute - 3], value, bytes);
    return 0;
}
EXPORT int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                                      std::int64_t leading) {
    if (leading < static_cast<std::int64_t>(rows)) return 7;
    *layout = new Layout{type, rows, columns, leading, 1, 0};
    return ++world.objects, 0;
}
EXPORT int cublasLtMatrixLayoutDestroy(void* layout) { return delete static_cast<Layout*>(layout), --world.objects, 0; }
EXPORT int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t bytes) {
    auto& held = *static_cast<Layout*>(layout);
    if (attribute == 5 && bytes == 4) return std::memcpy(&held.batch, value, bytes), 0;
    if (attribute == 6 && bytes == 8) return std::memcpy(&held.stride, value, bytes), 0;
    return 7;
}
EXPORT int cublasLtMatmulPreferenceCreate(void** preference) { return *preference = &world, ++world.objects, 0; }
EXPORT int cublasLtMatmulPreferenceDestroy(void*) { return --world.objects, 0; }
EXPORT int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void* value, std::size_t bytes) {
    if (attribute == 1) return bytes == 8 ? 0 : 7;
    if (attribute < 5 || attribute > 8 || bytes != 4) return 7;
    std::uint32_t alignment = 0;
    std::memcpy(&alignment, value, bytes);
    world.alignment[attribute - 5] = alignment;
    return 0;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void* matmul, void* a, void* b, void* c, void*, void*, int wanted,
                                          roofline::core::cuda::Heuristic* results, int* count) {
    const auto& held = *static_cast<Matmul*>(matmul);
    const Layout& first = *static_cast<Layout*>(a);
    const Layout& second = *static_cast<Layout*>(b);
    const Layout& result = *static_cast<Layout*>(c);
    const std::uint64_t m = held.transpose[0] != 0 ? first.columns : first.rows;
    const std::uint64_t k = held.transpose[0] != 0 ? first.rows : first.columns;
    const std::uint64_t k2 = held.transpose[1] != 0 ? second.columns : second.rows;
    const std::uint64_t n = held.transpose[1] != 0 ? second.rows : second.columns;
    if (k != k2 || result.rows != m || result.columns != n) return 7;
    const bool along_k = held.transpose[0] != 0 && held.transpose[1] == 0;
    if ((first.type == 28 || first.type == 3) && !along_k) return 15;
    if (first.type == 28 && asked_for("no_fp8")) return 15;
    *count = std::min(wanted, 3);
    for (int i = 0; i < *count; ++i)
        results[i] = roofline::core::cuda::Heuristic{
            {{static_cast<std::uint64_t>(i), world.alignment[0], world.alignment[1], world.alignment[3]}},
            1 << 20,
            0,
            1,
            {}};
    return 0;
}
EXPORT int cublasLtMatmul(void*, void* matmul, const void*, const void* a, void* a_layout, const void* b,
                          void* b_layout, const void*, const void*, void*, void* d, void* d_layout,
                          const roofline::core::cuda::Algorithm* algorithm, void*, std::size_t, void*) {
    Product product{*static_cast<Matmul*>(matmul),
                    {*static_cast<Layout*>(a_layout), *static_cast<Layout*>(b_layout), *static_cast<Layout*>(d_layout)},
                    {static_cast<const unsigned char*>(a), static_cast<const unsigned char*>(b)},
                    static_cast<unsigned char*>(d)};
    const auto at = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); };
    if (at(a) % algorithm->data[1] != 0 || at(b) % algorithm->data[2] != 0 || at(d) % algorithm->data[3] != 0) return 7;
    multiply(product, algorithm->data[0]);
    return 0;
}

EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = 3, 0; }
EXPORT int nvrtcGetSupportedArchs(int* architectures) {
    return architectures[0] = 80, architectures[1] = 90, architectures[2] = 100, 0;
}
EXPORT int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                              const char* const*) {
    *program = new Program{source, {}};
    return ++world.objects, 0;
}
EXPORT int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), --world.objects, 0; }
EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    auto& held = *static_cast<Program*>(program);
    if (count < 1 || std::string_view(options[0]) != "--gpu-architecture=sm_90") return 5;
    if (held.source.find("#error") == std::string::npos) return 0;
    held.log = "roofline.cu(1): catastrophic error: #error directive";
    return 6;
}
EXPORT int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
    return *bytes = static_cast<Program*>(program)->log.size() + 1, 0;
}
EXPORT int nvrtcGetProgramLog(void* program, char* text) {
    const std::string& log = static_cast<Program*>(program)->log;
    return std::memcpy(text, log.c_str(), log.size() + 1), 0;
}
// The machine code of the imaginary device is the source code.
EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
    return *bytes = static_cast<Program*>(program)->source.size() + 1, 0;
}
EXPORT int nvrtcGetCUBIN(void* program, char* bytes) {
    const std::string& source = static_cast<Program*>(program)->source;
    return std::memcpy(bytes, source.c_str(), source.size() + 1), 0;
}

EXPORT int nvmlInit_v2() { return 0; }
EXPORT int nvmlShutdown() { return 0; }
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
    *device = &world;
    return std::string_view(pci) == "0000:01:00.0" ? 0 : 6;
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    return *reasons = asked_for("slow") ? 0x4 | 0x40 : 0x1, 0;
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return *milliwatts = 350'000, 0; }

// Checks that each symbol has the type that its callers assume.
#define ROOFLINE_SAME_TYPE(member, symbol, ...) static_assert(std::is_same_v<decltype(symbol), __VA_ARGS__>);
namespace cuda = roofline::core::cuda;
ROOFLINE_CUDA_DRIVER(ROOFLINE_SAME_TYPE)
ROOFLINE_CUBLASLT(ROOFLINE_SAME_TYPE)
ROOFLINE_NVRTC(ROOFLINE_SAME_TYPE)
ROOFLINE_NVML(ROOFLINE_SAME_TYPE)
