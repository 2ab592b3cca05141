// A device runs the steps of a program: the processor of this machine, or a GPU.
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

/// A step that is ready to run on a device. Every call passes the addresses of the arrays, so one kernel serves many
/// copies of them.
class StepKernel {
public:
    StepKernel() = default;
    StepKernel(const StepKernel&) = delete;
    StepKernel& operator=(const StepKernel&) = delete;
    virtual ~StepKernel() = default;

    /// Bytes of input `packed_input()` in the layout that this kernel prefers; 0 if it takes the input as it is.
    [[nodiscard]] virtual std::size_t packed_bytes() const { return 0; }
    [[nodiscard]] virtual std::size_t packed_input() const { return 1; }
    /// Copies that input to the preferred layout. Both pointers are device memory.
    virtual Status pack(const void* from, void* to) {
        static_cast<void>(from);
        static_cast<void>(to);
        return {};
    }

    /// Runs the step. `arrays` holds device memory: the inputs of the step in order (the packed one in its own layout),
    /// then the output. The call may return before the work is done; Device::synchronise() waits for it.
    virtual Status run(std::span<void* const> arrays) = 0;

    /// A remark for the user about how the step runs, e.g. "bf16 runs in f32: no bf16 instructions"; empty if there is
    /// none.
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
    [[nodiscard]] virtual std::int64_t largest_cache() const = 0;      ///< bytes of the last-level cache
    [[nodiscard]] virtual int threads() const { return 1; }            ///< host threads that the device keeps busy
    [[nodiscard]] virtual bool shares_memory() const { return true; }  ///< device pointers are valid on the host
    [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
    /// Elementwise functions that the device's matmuls can apply to their results before they store them.
    [[nodiscard]] virtual std::vector<MapFunction> after_matmul() const { return {}; }

    /// Errors: not enough memory. The memory is freed by release() or with the device.
    [[nodiscard]] virtual Result<void*> allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) = 0;
    virtual Status upload(const void* from, void* to, std::size_t bytes) = 0;
    virtual Status download(const void* from, void* to, std::size_t bytes) = 0;

    /// Errors: the device cannot run the step; the message gives the reason.
    [[nodiscard]] virtual Result<std::unique_ptr<StepKernel>> make(const RunStep& step, const StepProgram& program) = 0;
    virtual Status synchronise() { return {}; }
};

}  // namespace roofline::core
