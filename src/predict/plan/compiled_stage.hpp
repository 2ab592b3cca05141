// A stage of a training step, compiled for all plans with its structure: degrees and sizes in, times and memory out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/expected_program.hpp"
#include "network/system.hpp"
#include "plan/live_memory.hpp"
#include "predict/plan/collective_costs.hpp"
#include "predict/plan/compiled_memory.hpp"
#include "predict/plan/mesh_degrees.hpp"
#include "predict/train/planned_stage.hpp"

namespace roofline::core {

/// What one plan asks of a compiled stage.
struct StageSizes {
    const Sizes& whole;  ///< of the dimensions of the stage's program, before it is sharded
    MeshDegrees degrees{};
    std::int64_t microbatches = 1;
};

/// Plans whose mesh has the same axes lead to the same program of one chip with other sizes, unless their layouts
/// differ. It is laid out once, with the degrees of the plan that came first, and its shards are named by axes, so that
/// other degrees are other sizes. A step with messages whose number of hops depends on degrees is compiled for these
/// degrees only: see only_these_degrees().
class CompiledStage {
public:
    /// Errors: those of planned_stage() and lay_out().
    static Result<CompiledStage> compile(const Program& forward, const Model& model, const TrainSetup& setup,
                                         const PipelineStage& stage, const Slice& slice, const StepPricing& pricing,
                                         CollectiveCosts& collectives);

    [[nodiscard]] bool only_these_degrees() const { return only_these_degrees_; }
    /// Whether all kernels have models. Otherwise parts() has only the collectives.
    [[nodiscard]] bool expected() const { return expected_; }

    /// Sets the sizes for the functions below.
    void set(const StageSizes& sizes);
    [[nodiscard]] TrainingMemory memory(const InFlight& in_flight) const {
        return memory_.evaluate(sizes_, degrees_, in_flight, microbatches_);
    }
    /// Returns the kernels' part of a step.
    [[nodiscard]] StepParts kernels();
    /// Adds the collectives. Returns whether the times of all are known.
    [[nodiscard]] bool add_collectives(StepParts& parts, std::size_t placement, CollectiveCosts& collectives);
    /// Returns the bytes of the tensor that one stage sends to the next.
    [[nodiscard]] double carried_bytes() const;
    /// Returns the time of matmuls at peak rate.
    [[nodiscard]] double math_s();
    /// Returns the lower bound, and the math time that other stages wait for.
    struct Lower {
        double seconds = 0;
        double math_s = 0;
        double upper_s = 0;  ///< without any overlap
    };
    [[nodiscard]] Result<Lower> lower(std::size_t placement, CollectiveCosts& collectives);

private:
    /// A dimension of the local program: a whole one, or a shard of it.
    struct Size {
        std::string dim;
        std::int64_t mark = 1;
        std::string window{};  ///< of a halo
        std::int64_t beyond = 0;
        double first = 1;  ///< as it was compiled, for what the program of the step adds
    };
    struct Kernel {
        CompiledKernel compiled;
        const KernelFit* fit = nullptr;
        const CalibratedKernel* other = nullptr;  ///< of ProgramModels::others
        double StepParts::* part = nullptr;
    };
    struct Collective {
        std::size_t route = 0;
        std::int64_t mark = 1;  ///< the bytes grow with the degrees of these axes over their marks
        bool over_replicas = false;
        bool overlappable = false;
        std::size_t bucket = 0;  ///< of collectives over replicas: index of the first with its kind and axes
    };

    void evaluate_messages();
    Status compile_memory(const MarkedStage& stage, const TrainSetup& setup);
    void name_sizes(const Program& local);
    Status compile_kernels(const Program& local, const System& system, const StepPricing& pricing);
    void compile_collectives(const TrainSetup& setup, const Program& local, CollectiveCosts& collectives);

    std::vector<std::string> names_;  ///< of the sizes
    std::vector<Size> wanted_;
    std::vector<double> sizes_;
    MeshDegrees degrees_{};
    std::int64_t microbatches_ = 1;

    CompiledMemory memory_;
    CompiledSums traffic_;
    std::vector<Kernel> kernels_;
    std::vector<double> scratch_;
    StepParts fixed_;  ///< what does not depend on sizes
    bool expected_ = true;
    bool only_these_degrees_ = false;

    std::vector<MessageWork> message_work_;
    std::vector<Collective> collectives_;  ///< in the same order
    CompiledSums messages_;                ///< of each its bytes and how often it runs
    std::vector<double> message_values_;
    bool messages_known_ = false;  ///< `message_values_` are of these sizes
    CompiledSums carried_;
    CompiledTimes chip_times_;
    std::size_t math_ = 0;
    std::vector<double> chip_seconds_;
    std::map<std::size_t, CompiledTimes> network_times_;  ///< by placement
};

}  // namespace roofline::core
