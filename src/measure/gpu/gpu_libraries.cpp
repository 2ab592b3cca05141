#include "measure/gpu/gpu_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace roofline::core {

namespace {

constexpr int oldest_toolkit = 12;
constexpr int newest_toolkit = 13;
constexpr const char* toolkit_folder = "/usr/local/cuda/lib64";
constexpr const char* driver_remedy =
    "install NVIDIA's driver (on Debian: nvidia-driver) and check that nvidia-smi lists the GPU";

struct Opened {
    void* library = nullptr;
    std::string name;
    std::string problem;  ///< why the first existing file could not be loaded, or that no file exists
};

bool is_absence(const std::string& problem, const std::string& name) {
    return problem == name + ": cannot open shared object file: No such file or directory";
}

Opened open_first(const std::vector<std::string>& names) {
    Opened opened;
    bool only_absent = true;
    for (const std::string& name : names) {
        // local, so that its symbols cannot be found by accident; never closed because the libraries keep threads
        opened.library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        opened.name = name;
        if (opened.library != nullptr) return opened;
        const char* problem = ::dlerror();
        if (problem == nullptr || !only_absent) continue;
        only_absent = is_absence(problem, name);
        if (opened.problem.empty() || !only_absent) opened.problem = problem;
    }
    return opened;
}

/// Paths where the system searches, where the user says that a toolkit is, and where its installer puts one. A
/// toolkit's libraries are in lib64, those of Python and Conda packages in lib.
std::vector<std::string> places(const std::string& file, const std::string& folder) {
    if (!folder.empty()) return {fmt::format("{}/{}", folder, file)};
    std::vector<std::string> all{file};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        const char* root = std::getenv(variable);
        if (root == nullptr || *root == '\0') continue;
        for (const char* libraries : {"lib64", "lib"}) all.push_back(fmt::format("{}/{}/{}", root, libraries, file));
    }
    all.push_back(fmt::format("{}/{}", toolkit_folder, file));
    return all;
}

/// Paths of libraries such as "libcublasLt.so" in all toolkits that the driver can run, newest first: a program built
/// with a toolkit needs a driver of at least the same major version.
std::vector<std::string> toolkit_places(const std::string& file, const std::string& folder, int major) {
    std::vector<std::string> all;
    for (int version = std::min(major, newest_toolkit); version >= oldest_toolkit; --version) {
        for (std::string& place : places(fmt::format("{}.{}", file, version), folder)) all.push_back(std::move(place));
    }
    return all;
}

Result<void*> symbol_of(const Opened& opened, const char* name) {
    void* symbol = ::dlsym(opened.library, name);
    if (symbol != nullptr) return symbol;
    return fail("absent", fmt::format("{} has no function {}", opened.name, name),
                "install a newer driver and a toolkit of CUDA 12 or 13");
}

#define ROOFLINE_LOAD(member, symbol, ...)                                       \
    if (auto found = symbol_of(opened, #symbol); found) {                        \
        functions.member = reinterpret_cast<decltype(functions.member)>(*found); \
    } else {                                                                     \
        return fail(found.error());                                              \
    }

Result<CudaDriver> driver_of(const Opened& opened) {
    CudaDriver functions;
    ROOFLINE_CUDA_DRIVER(ROOFLINE_LOAD)
    return functions;
}

Result<CublasLt> blas_of(const Opened& opened) {
    CublasLt functions;
    ROOFLINE_CUBLASLT(ROOFLINE_LOAD)
    return functions;
}

/// Loads NVRTC's built-in functions from its own folder: NVRTC searches the system's library path, which does not
/// always include it. NVRTC finds a library that is already loaded.
void load_builtins_from_folder(const Opened& compiler, const Nvrtc& functions) {
    const std::size_t slash = compiler.name.rfind('/');
    int major = 0;
    int minor = 0;
    if (slash == std::string::npos || functions.version(&major, &minor) != cuda::success) return;
    const std::string beside =
        fmt::format("{}/libnvrtc-builtins.so.{}.{}", compiler.name.substr(0, slash), major, minor);
    // if it is not there, a system folder may have it; otherwise the error of the first kernel says so
    (void)::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
}

Result<Nvrtc> compiler_of(const Opened& opened) {
    Nvrtc functions;
    ROOFLINE_NVRTC(ROOFLINE_LOAD)
    load_builtins_from_folder(opened, functions);
    return functions;
}

Result<Nvml> management_of(const Opened& opened) {
    Nvml functions;
    ROOFLINE_NVML(ROOFLINE_LOAD)
    return functions;
}

#undef ROOFLINE_LOAD

std::string error_name(const CudaDriver& driver, int code) {
    const char* text = nullptr;
    if (driver.error_name(code, &text) != cuda::success || text == nullptr) return fmt::format("CUDA error {}", code);
    return text;
}

Result<int> start_driver(const CudaDriver& driver) {
    if (const int code = driver.init(0); code != cuda::success) {
        const std::string name = error_name(driver, code);
        if (code == cuda::no_device) return fail("absent", "no NVIDIA GPU was found (" + name + ")", driver_remedy);
        if (code == cuda::stub_library) {
            return fail("absent", "libcuda.so.1 is the toolkit's stub, not a driver (" + name + ")", driver_remedy);
        }
        return fail("absent", "NVIDIA's driver failed to start (" + name + ")", driver_remedy);
    }
    int version = 0;
    int devices = 0;
    if (const int code = driver.driver_version(&version); code != cuda::success) {
        return fail("absent", "NVIDIA's driver does not report its version (" + error_name(driver, code) + ")",
                    driver_remedy);
    }
    if (driver.device_count(&devices) != cuda::success || devices < 1) {
        return fail("absent", "NVIDIA's driver is installed, but it finds no GPU", driver_remedy);
    }
    if (version < 1000 * oldest_toolkit) {
        return fail("absent",
                    fmt::format("NVIDIA's driver supports only CUDA {} and older", cuda_version_text(version)),
                    fmt::format("install a driver for CUDA {} or newer (525 or later)", oldest_toolkit));
    }
    return version;
}

Error no_library(const std::string& library, const std::string& what, const Opened& tried, int driver_version) {
    return {"absent",
            fmt::format("{} ({}) cannot be loaded: {}", library, what, tried.problem),
            fmt::format(
                "install the CUDA toolkit {}, or set CUDA_HOME to the folder that contains its lib64 or lib (for "
                "Python packages: site-packages/nvidia/cu13), or add the folder of the libraries to LD_LIBRARY_PATH",
                driver_version / 1000 >= newest_toolkit ? "12 or 13" : "12"),
            {}};
}

}  // namespace

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Result<Nvrtc> load_nvrtc(const std::string& folder, int major) {
    const Opened opened = open_first(places(fmt::format("libnvrtc.so.{}", major), folder));
    if (opened.library == nullptr) return fail(no_library("NVRTC", "the kernel compiler", opened, 1000 * major));
    return compiler_of(opened);
}

Result<GpuLibraries> load_gpu_libraries(const std::string& folder) {
    GpuLibraries libraries;
    const Opened driver = open_first(places("libcuda.so.1", folder));
    if (driver.library == nullptr) {
        return fail("absent", fmt::format("no NVIDIA driver was found: {}", driver.problem), driver_remedy);
    }
    ROOFLINE_TRY(libraries.driver, driver_of(driver));
    ROOFLINE_TRY(auto version, start_driver(libraries.driver));
    libraries.driver_version = version;

    const Opened blas = open_first(toolkit_places("libcublasLt.so", folder, version / 1000));
    if (blas.library == nullptr) return fail(no_library("cuBLASLt", "matmuls", blas, version));
    ROOFLINE_TRY(libraries.blas, blas_of(blas));

    const Opened compiler = open_first(toolkit_places("libnvrtc.so", folder, version / 1000));
    if (compiler.library == nullptr) return fail(no_library("NVRTC", "the kernel compiler", compiler, version));
    ROOFLINE_TRY(libraries.compiler, compiler_of(compiler));
    libraries.compiler_name = compiler.name;

    const Opened management = open_first(places("libnvidia-ml.so.1", folder));
    if (management.library != nullptr) {
        if (auto found = management_of(management)) libraries.management = *found;
    }
    return libraries;
}

}  // namespace roofline::core
