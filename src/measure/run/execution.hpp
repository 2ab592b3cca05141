// A program in memory, ready to run: its arrays in as many copies as keep the caches out of the way, its kernels made.
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

/// How a program was timed.
struct Timing {
    Spread cold;                  ///< of one run, inputs and results in other memory every time: from beyond the caches
    Spread hot;                   ///< the same memory every time
    std::vector<double> kernels;  ///< seconds of each kernel of the prediction, cold; empty for one kernel
    std::int64_t sets = 1;        ///< of inputs and results that were gone through
    double set_bytes = 0;         ///< of one
    double pack_s = 0;            ///< laying the weights out anew, once, not part of the times
    double pack_bytes = 0;        ///< of the weights
};

struct ExecutionOptions {
    double rotate_bytes = 0;  ///< that all sets have together; 0: four times the device's largest cache
};

class Execution {
public:
    /// Allocates and fills. Errors: what make_steps() and the device refuse; more memory than is free, before anything is
    /// allocated.
    [[nodiscard]] static Result<std::unique_ptr<Execution>> make(const Program& program, Device& device,
                                                                 const ExecutionOptions& options = {});
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    /// Runs everything once on fresh numbers and compares each statement with the reference, in the first and the last pass of
    /// repeats. Errors: interrupted. Whether it passes is for the caller to say (CheckResult::of_bound).
    [[nodiscard]] Result<CheckResult> check(const CheckOptions& options);

    /// Errors: interrupted.
    [[nodiscard]] Result<Timing> time(const SamplingOptions& options);

    /// One run on a set of memory, everything in turn. `before` is called before the first step of each statement.
    using BeforeStatement = std::function<Status(std::size_t statement)>;
    Status run(std::int64_t set, const BeforeStatement& before = {});

    [[nodiscard]] const StepProgram& steps() const { return steps_; }
    [[nodiscard]] std::vector<std::string> notes() const;

    /// Device memory of a stored value in a set, as it stands now; null where there is none.
    [[nodiscard]] void* memory_of(ValueId value, std::int64_t set);

private:
    struct Memory {
        char* start = nullptr;
        std::size_t stride = 0;  ///< between copies, which follow each other, all of a set together
        std::int64_t copies = 1;
        bool rotates = false;  ///< a copy for each set
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
    std::vector<std::unique_ptr<StepKernel>> kernels_;  ///< by step
    std::vector<Memory> memory_;                        ///< by array
    std::vector<Packed> packed_;                        ///< by step; of those whose kernel lays an input out anew
    std::vector<bool> used_;                            ///< arrays that some step touches
    std::vector<bool> only_packed_;                     ///< arrays that are only read in another layout
    std::vector<std::size_t> stands_for_;  ///< array by array: what is carried from pass to pass changes places
    std::vector<Frame> frames_;
    std::int64_t sets_ = 1;
    std::int64_t next_set_ = 0;
    double pack_s_ = 0;
    double pack_bytes_ = 0;
};

}  // namespace roofline::core
