#include "measure/run/faster_kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "measure/sample_watch.hpp"

namespace roofline::core {

namespace {

constexpr double max_duration_s = 0.2;
constexpr int max_rounds = 8;
constexpr std::size_t too_small = std::size_t{64} * 1024;  // bytes: a smaller step ends before a clock can resolve it
// This byte makes a positive normal number in every dtype; zeros and subnormals run at other speeds on some units.
constexpr int filling = 0x3c;

/// Owns the arrays of a step and releases them at the end.
class Trial {
public:
    explicit Trial(Device& device) : device_(device) {}
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial() {
        for (void* memory : memory_) device_.release(memory);
    }

    Result<void*> array(std::size_t bytes) {
        ROOFLINE_TRY(auto memory, device_.allocate(bytes));
        memory_.push_back(memory);
        std::memset(memory, filling, bytes);
        return memory;
    }

private:
    Device& device_;
    std::vector<void*> memory_;
};

struct Timed {
    StepKernel* kernel = nullptr;
    std::vector<void*> arrays;
    double best_s = std::numeric_limits<double>::infinity();
};

// Prepares a kernel and its packed input, if it has one.
Status prepare(Timed& timed, const std::vector<void*>& arrays, Trial& trial) {
    timed.arrays = arrays;
    if (timed.kernel->packed_bytes() == 0) return {};
    const std::size_t input = timed.kernel->packed_input();
    ROOFLINE_TRY(auto packed, trial.array(timed.kernel->packed_bytes()));
    ROOFLINE_CHECK(timed.kernel->pack(arrays[input], packed));
    timed.arrays[input] = packed;
    return {};
}

Status once(Timed& timed, Device& device, bool counts) {
    const double start = now_s();
    ROOFLINE_CHECK(timed.kernel->run(timed.arrays));
    ROOFLINE_CHECK(device.synchronise());
    if (counts) timed.best_s = std::min(timed.best_s, now_s() - start);
    return {};
}

}  // namespace

Result<bool> second_is_faster(StepKernel& first, StepKernel& second, const RunStep& step, const StepProgram& program,
                              Device& device) {
    std::vector<std::size_t> bytes;
    for (const std::size_t input : step.inputs)
        bytes.push_back(static_cast<std::size_t>(program.arrays[input].bytes()));
    bytes.push_back(static_cast<std::size_t>(program.arrays[step.output].bytes()));
    std::size_t all = first.packed_bytes() + second.packed_bytes();
    for (const std::size_t each : bytes) all += each;
    if (all < too_small || all > static_cast<std::size_t>(std::max<std::int64_t>(device.memory_free(), 0)) / 4) {
        return false;
    }
    Trial trial(device);
    std::vector<void*> arrays;
    for (const std::size_t each : bytes) {
        ROOFLINE_TRY(auto memory, trial.array(each));
        arrays.push_back(memory);
    }
    std::array<Timed, 2> both{Timed{&first, {}}, Timed{&second, {}}};
    for (Timed& timed : both) {
        ROOFLINE_CHECK(prepare(timed, arrays, trial));
        ROOFLINE_CHECK(once(timed, device, false));
    }
    const double start = now_s();
    for (int round = 0; round < max_rounds && (round == 0 || now_s() - start < max_duration_s); ++round) {
        for (Timed& timed : both) {
            ROOFLINE_CHECK(once(timed, device, true));
        }
    }
    return both[1].best_s < both[0].best_s;
}

}  // namespace roofline::core
