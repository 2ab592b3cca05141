// A program in memory, ready to run: its kernels, and enough copies of its arrays to defeat the caches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/progress.hpp"
#include "measure/run/device.hpp"
#include "measure/run/reference.hpp"
#include "measure/run/steps.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// The times of a program.
struct Timing {
    /// One run with inputs and results in other memory every time, so they come from beyond the caches.
    Spread cold;
    Spread hot;                   ///< one run with the same memory every time
    std::vector<double> kernels;  ///< seconds of each kernel of the prediction, cold; empty if there is one kernel
    std::int64_t sets = 1;        ///< number of copies of inputs and results
    double set_bytes = 0;         ///< bytes of one copy
    double pack_s = 0;            ///< seconds to pack the weights, done once and not part of the times
    double pack_bytes = 0;        ///< bytes of the packed weights
};

struct ExecutionOptions {
    double rotate_bytes = 0;  ///< bytes of all sets together; 0: four times the device's largest cache
};

class Execution {
public:
    /// Allocates and fills the arrays. Errors: those of make_steps() and of the device; the program needs more memory
    /// than is free, which is found before anything is allocated.
    [[nodiscard]] static Result<std::unique_ptr<Execution>> make(const Program& program, Device& device,
                                                                 const ExecutionOptions& options = {});
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    /// Runs everything once on fresh numbers and compares each statement with the reference, in the first and the last
    /// iteration of repeats. The caller decides whether the result passes (CheckResult::of_bound). Errors: interrupted.
    [[nodiscard]] Result<CheckResult> check(const CheckOptions& options);

    /// Times the program. Errors: interrupted.
    [[nodiscard]] Result<Timing> time(const SamplingOptions& options);

    /// Runs the program once on a set of memory, in order. `before` is called before the first step of each statement.
    using BeforeStatement = std::function<Status(std::size_t statement)>;
    Status run(std::int64_t set, const BeforeStatement& before = {});

    [[nodiscard]] const StepProgram& steps() const { return steps_; }
    [[nodiscard]] std::vector<std::string> notes() const;

    /// Device memory that holds a stored value of a set at this moment; null if there is none.
    [[nodiscard]] void* memory_of(ValueId value, std::int64_t set);

private:
    struct Memory {
        char* start = nullptr;
        std::size_t stride = 0;  ///< bytes between copies; the copies of one set are contiguous
        std::int64_t copies = 1;
        bool rotates = false;  ///< there is one copy per set
    };
    struct Packed {
        std::size_t bytes = 0;
        Memory memory;
    };
    struct Frame {
        std::int64_t index = 0;
        std::int64_t count = 1;
    };
    using AfterStatement = std::function<Status(std::size_t statement)>;

    Execution(const Program& program, Device& device) : program_(program), device_(device) {}
    Status prepare(const ExecutionOptions& options);
    Status plan_memory(const ExecutionOptions& options);
    Status allocate();
    Status fill();
    Status pack();
    Status block(const StepBlock& block, std::int64_t set, const BeforeStatement& before, const AfterStatement& after);
    Status step(std::size_t index, std::int64_t set);
    [[nodiscard]] void* at(const Memory& memory, std::size_t depth, std::int64_t set) const;
    [[nodiscard]] double bytes_for(std::int64_t sets) const;
    Result<std::vector<double>> time_kernels(std::size_t rounds);
    Result<Spread> sample(const SamplingOptions& options, std::int64_t sets);

    const Program& program_;
    Device& device_;
    StepProgram steps_;
    std::vector<const Statement*> statements_;
    std::vector<std::unique_ptr<StepKernel>> kernels_;  ///< one per step
    std::vector<Memory> memory_;                        ///< one per array
    std::vector<Packed> packed_;                        ///< one per step; empty unless the kernel packs an input
    std::vector<bool> used_;                            ///< one per array: some step uses it
    std::vector<bool> only_packed_;                     ///< one per array: it is only read in its packed layout
    std::vector<std::size_t> stands_for_;  ///< one per array: arrays that an iteration carries to the next are swapped
    std::vector<Frame> frames_;
    std::int64_t sets_ = 1;
    std::int64_t next_set_ = 0;
    double pack_s_ = 0;
    double pack_bytes_ = 0;
};

}  // namespace roofline::core
