// Compiles CUDA C++ to machine code with NVRTC.
#include <fmt/format.h>

#include <algorithm>

#include "measure/gpu/gpu.hpp"

namespace roofline::core {

namespace {

/// Owns NVRTC's program object.
struct GpuProgram {
    const Nvrtc& compiler;
    cuda::Handle handle = nullptr;

    explicit GpuProgram(const Nvrtc& functions) : compiler(functions) {}
    GpuProgram(const GpuProgram&) = delete;
    GpuProgram& operator=(const GpuProgram&) = delete;
    ~GpuProgram() {
        if (handle != nullptr) compiler.destroy(&handle);
    }
};

/// Rejects a GPU that the compiler does not know: its machine code differs from that of older GPUs.
Status knows_architecture(const Nvrtc& compiler, const std::string& compiler_name, int capability) {
    int count = 0;
    if (compiler.architecture_count(&count) != cuda::success || count < 1 || count > 10'000) return {};
    std::vector<int> known(static_cast<std::size_t>(count));
    if (compiler.architectures(known.data()) != cuda::success) return {};
    if (std::find(known.begin(), known.end(), capability) != known.end()) return {};
    return fail(
        "absent",
        fmt::format("{} cannot compile for compute capability {}.{}", compiler_name, capability / 10, capability % 10),
        known.back() < capability ? "install a newer CUDA toolkit" : "install an older CUDA toolkit, 12");
}

std::string compiler_log(const GpuProgram& program) {
    std::size_t bytes = 0;
    if (program.compiler.log_size(program.handle, &bytes) != cuda::success || bytes <= 1) return "no reason given";
    std::string log(bytes, '\0');
    if (program.compiler.log(program.handle, log.data()) != cuda::success) return "no reason given";
    log.resize(std::min<std::size_t>(bytes - 1, 2000));
    return log;
}

}  // namespace

Result<std::string> compile_for_gpu(const Nvrtc& compiler, const std::string& compiler_name, const std::string& source,
                                    int capability) {
    ROOFLINE_CHECK(knows_architecture(compiler, compiler_name, capability));
    GpuProgram program(compiler);
    if (compiler.create(&program.handle, source.c_str(), "roofline.cu", 0, nullptr, nullptr) != cuda::success) {
        return fail("compile", "NVRTC rejects the program");
    }
    const std::string architecture = fmt::format("--gpu-architecture=sm_{}", capability);
    const char* const options[] = {architecture.c_str(), "--std=c++17"};
    if (compiler.compile(program.handle, 2, options) != cuda::success) {
        return fail("compile",
                    fmt::format("{} failed to compile a kernel for sm_{}: {}", compiler_name, capability,
                                compiler_log(program)),
                    "this is a bug in roofline: please report it");
    }
    std::size_t bytes = 0;
    if (compiler.binary_size(program.handle, &bytes) != cuda::success || bytes == 0) {
        return fail("compile", fmt::format("{} produced no machine code for sm_{}", compiler_name, capability));
    }
    std::string binary(bytes, '\0');
    if (compiler.binary(program.handle, binary.data()) != cuda::success) {
        return fail("compile", fmt::format("{} produced no machine code for sm_{}", compiler_name, capability));
    }
    return binary;
}

}  // namespace roofline::core
