// What a module of XLA costs on a machine: the whole, each kernel, and where in the user's code it comes from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "import/xla/cost/xla_executions.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "import/xla/xla_module.hpp"
#include "network/slice.hpp"
#include "predict/launch_floor.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// The rules by which a module is counted.
enum class ModuleCounting {
    ours,     ///< as a program: loops multiplied, custom calls priced, each array read once per kernel
    xla,      ///< as XLA's HloCostAnalysis: a loop counts one iteration
    xla_gpu,  ///< as its GpuHloCostAnalysis
};

struct ModuleQuestion {
    ModuleCounting counting = ModuleCounting::ours;
    std::map<std::string, std::int64_t, std::less<>> loops{};  ///< trip counts by the loop's name
    bool count_multiple_input_accesses = false;                ///< of XLA's analyses
    /// Names and sizes of the axes over which a module from before partitioning is laid out, outermost first; empty: as
    /// the module says.
    std::vector<MeshAxis> mesh{};
    std::string software{};
};

/// A kernel of the module: an instruction, a fusion, or instructions that are taken to be fused. Counts and times are
/// those of all its executions.
struct ModuleOp {
    std::string name;    ///< of the instruction that does most of it
    std::string opcode;  ///< likewise: "dot", "fusion", "custom-call"
    double count = 1;    ///< executions in one run of the module
    double flops = 0;
    double matmul_flops = 0;
    double transcendentals = 0;
    double bytes = 0;                    ///< read and written in the main memory
    std::optional<double> lower_s{};     ///< nothing when XLA's rules count
    std::optional<double> expected_s{};  ///< nothing if it has no calibration
    std::optional<double> floor_s{};     ///< then: what its launches take beside its bound; nothing if that is unknown
    double hidden_s = 0;                 ///< of an asynchronous collective or copy: what kernels hide
    /// What it adds to the time of the module, less what is hidden: its expected time; else its lower bound and its
    /// launches; where nothing is known of launches and not all kernels have an expected time, the lower bounds of all.
    double seconds = 0;
    std::optional<double> measured_s{};  ///< by a profile; nothing without one, or if it has no such instruction
    std::string bound_by{};              ///< "HBM", "bf16 matmul", "NVLink"
    std::string source{};                ///< "train.py:42", or ""
    std::string scope{};                 ///< "jit(step)/layer/dot_general", or ""
    bool recomputed = false;             ///< in the backward pass, because its result was not kept (remat)
    /// Nobody measured kernels of its kind: the expected time is that of an elementwise kernel with the same work.
    bool unmeasured = false;
};

/// Ops with a common place: a scope with its parts, or a line of a file.
struct ModuleGroup {
    std::string name;
    double flops = 0;
    double bytes = 0;
    double seconds = 0;                ///< expected times where all ops have one, otherwise lower bounds
    std::vector<ModuleGroup> parts{};  ///< those that take longest first
};

/// Bytes that live at once on one device.
struct ModuleMemory {
    double arguments = 0;
    double peak = 0;  ///< arguments included
    std::optional<double> capacity{};
    std::vector<std::pair<std::string, double>> largest{};  ///< what is held at the peak, the largest first
};

/// What a profile of the module says.
struct ModuleMeasurement {
    std::string profile;                                   ///< name of the file
    double steps = 0;                                      ///< that count, without warm-up
    double step_s = 0;                                     ///< of an average step
    double matched_s = 0;                                  ///< of instructions that are kernels of the module
    double other_s = 0;                                    ///< of other instructions
    std::vector<std::pair<std::string, double>> others{};  ///< these, the longest first
};

struct ModuleAnswer {
    std::string name;  ///< of the file
    ModuleCounting counting = ModuleCounting::ours;
    std::optional<Prediction> prediction{};  ///< nothing when XLA's rules count
    std::vector<ModuleOp> ops{};             ///< those that take longest first
    bool expected = false;                   ///< whether seconds of groups and the order of ops are expected times
    std::optional<double> expected_s{};      ///< of the whole module, less what is hidden
    /// Where some kernels have no expected time: the expected times of the others, and the bounds and launches of
    /// these.
    std::optional<double> at_least_s{};
    std::optional<LaunchFloor> floor{};
    std::optional<double> exposed_s{};       ///< of its collectives that no kernel hides; nothing if it has none
    double hidden_s = 0;                     ///< of its collectives and copies
    std::optional<double> expected_error{};  ///< mean relative error; that of unmeasured kernels counts as 100 %
    double flops = 0;
    double matmul_flops = 0;
    double recomputed_flops = 0;
    double transcendentals = 0;
    double bytes = 0;
    std::map<std::string, XlaCollectiveCount, std::less<>> collectives{};  ///< by kind, executed
    struct Loop {
        std::string name;
        std::string computation;
        std::optional<std::int64_t> trips;
        bool given = false;
    };
    std::vector<Loop> loops{};
    std::vector<ModuleGroup> by_source{};
    ModuleGroup by_scope{};
    ModuleMemory memory{};
    std::optional<ModuleMeasurement> measured{};  ///< if there is a profile; kernels that took longest then come first
    std::int64_t devices = 1;
    std::size_t instructions = 0;
    std::vector<std::string> gaps{};  ///< what is not counted, or only in part
    std::vector<std::string> notes{};
};

/// Counts a module, and predicts its times on a slice. `slice` is nothing only when XLA's rules count. On a single chip
/// the collectives of a module for several devices are counted and take no time, with a note. On a slice a module from
/// before partitioning that says how its arrays are split is laid out over its devices. Errors: those of xla_cost(),
/// lower_module(), module_sharding() and predict(); a slice of more chips than one that are not as many as the devices.
[[nodiscard]] Result<ModuleAnswer> answer_module(const XlaModule& module, const std::string& name,
                                                 const std::optional<Slice>& slice, const ModuleQuestion& question,
                                                 const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
