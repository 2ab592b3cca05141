// What takes the steps: the processor of this machine, or a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/run/steps.hpp"

namespace roofline::core {

/// A step made ready for a device. Where arrays lie is said at every call, so the same kernel runs over many copies of them.
class StepKernel {
public:
    StepKernel() = default;
    StepKernel(const StepKernel&) = delete;
    StepKernel& operator=(const StepKernel&) = delete;
    virtual ~StepKernel() = default;

    /// Bytes of input `packed_input()` laid out as this kernel likes it best; 0 when it takes it as it stands.
    [[nodiscard]] virtual std::size_t packed_bytes() const { return 0; }
    [[nodiscard]] virtual std::size_t packed_input() const { return 1; }
    /// Lays that input out anew. Both are device memory.
    virtual Status pack(const void* from, void* to) {
        static_cast<void>(from);
        static_cast<void>(to);
        return {};
    }

    /// `arrays`: device memory of the step's inputs in their order, the packed one in its own layout, then of the output. May
    /// return before the work is done: Device::synchronise() waits.
    virtual Status run(std::span<void* const> arrays) = 0;

    /// What a reader should know of how it is done: "bf16 runs in f32: no bf16 instructions"; "" for nothing.
    [[nodiscard]] virtual std::string note() const { return ""; }
};

class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::int64_t memory_free() const = 0;        ///< bytes that can be allocated now
    [[nodiscard]] virtual std::int64_t largest_cache() const = 0;      ///< bytes of the last level of cache
    [[nodiscard]] virtual int threads() const { return 1; }            ///< of the host, that it keeps busy
    [[nodiscard]] virtual bool shares_memory() const { return true; }  ///< with the host: pointers are the host's
    [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
    /// What its matmuls do to their sums on the way out.
    [[nodiscard]] virtual std::vector<MapFunction> after_matmul() const { return {}; }

    /// Errors: no memory left. What is allocated lives until release() or the device's end.
    [[nodiscard]] virtual Result<void*> allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) = 0;
    virtual Status upload(const void* from, void* to, std::size_t bytes) = 0;
    virtual Status download(const void* from, void* to, std::size_t bytes) = 0;

    /// Errors: what the device cannot do, with the reason.
    [[nodiscard]] virtual Result<std::unique_ptr<StepKernel>> make(const RunStep& step, const StepProgram& program) = 0;
    virtual Status synchronise() { return {}; }
};

}  // namespace roofline::core
