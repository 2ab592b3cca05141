// How a framework is told a plan: its flags or the keys of its configuration, in both directions. The tables are
// data/frameworks/*.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/embedded.hpp"

namespace roofline::core {

/// What a value of a setting looks like.
enum class LaunchKind {
    number,   ///< a whole number from 1; -1 where the framework finds it itself
    count,    ///< a whole number from 0
    real,     ///< a number above 0
    on,       ///< a flag without a value; in configurations true or false
    choice,   ///< one of several words
    words,    ///< several words
    anything  ///< a text
};

/// One flag, or one key of a configuration, with what a plan calls it.
struct LaunchSetting {
    std::string key;                ///< of the plan: "tensor"
    std::string name;               ///< of the framework: "tensor-model-parallel-size", "parallelism.context_degree"
    std::vector<std::string> also;  ///< further names of the same
    LaunchKind kind = LaunchKind::anything;
    std::string otherwise;  ///< value when it is left out, in the framework's words; "": none
    /// The framework's word for each of ours. The first of several for one of ours is written.
    std::vector<std::pair<std::string, std::string>> choices;
    std::string times{};   ///< key of another setting that this one multiplies; "": none
    bool between = false;  ///< of a degree: between slices, whereas that of `times` is inside of one
};

/// A setting that changes a run in a way that no plan says.
struct UnsaidSetting {
    std::vector<std::string> names;
    std::string why;
};

/// What a server of one kind needs in disaggregated serving.
struct PoolSetting {
    std::string name;
    std::string prefill;  ///< its value in servers that prefill; "": it is left out there
    std::string decode;   ///< and in those that decode
};

/// What the framework reads. A launch line is read in any case.
enum class LaunchForm {
    flags,  ///< a command with flags
    toml,   ///< a file of keys; of nested ones "parallelism.context_degree"
    json,
    yaml,
};

struct LaunchTable {
    std::string name;                      ///< "megatron"
    std::string title;                     ///< "Megatron-LM"
    std::string version;                   ///< whose documentation was taken
    std::string source;                    ///< with section
    bool trains = true;                    ///< otherwise it serves
    LaunchForm form = LaunchForm::flags;   ///< that is written
    bool assigns = false;                  ///< its command line has words such as `key=value`
    std::string command;                   ///< that flags follow, or that is given the file: "torchrun pretrain_gpt.py"
    std::vector<std::string> program;      ///< ends of the words that its flags follow; those before are the launcher's
    std::vector<std::string> marks;        ///< words of which one is in its files and in no other framework's
    std::string framework;                 ///< value of --framework, of --software where it serves; "": none
    std::vector<std::string> shards_over;  ///< axes over whose members sharded weights are spread, too
    bool attention_within_tensor = false;  ///< replicas of attention lie on chips of the tensor axis, not beside it
    bool master = false;                   ///< Adam updates an f32 copy of the parameters
    bool f32_gradients = false;            ///< gradients are stored in f32
    std::string schedule;                  ///< of its pipelines where no setting says it; "": 1F1B
    /// Tokens lie over the tensor axis: "always", "never", or "" where a setting says it.
    std::string tensor_tokens;
    bool limits_each = false;     ///< batch and chunk of a server are those of each of its replicas of attention
    bool expert_axis = false;     ///< experts have chips of their own; otherwise they lie on those of replicas
    bool context_first = false;   ///< experts lie on the members of context before those of replicas
    bool fixed_replicas = false;  ///< replicas that hold whole weights stand beside no other axis
    bool lone_experts = false;    ///< experts are spread only without a tensor axis
    std::string note;
    std::string pools;  ///< what disaggregated serving needs beside its servers; "": there is none
    std::vector<PoolSetting> pool_settings;
    std::vector<LaunchSetting> settings;
    std::vector<UnsaidSetting> unsaid;
    std::vector<std::string> ignored;  ///< names that change nothing of a plan; "a.*" stands for all that begin so

    /// The setting of a plan's key; null if there is none.
    [[nodiscard]] const LaunchSetting* of_key(std::string_view key) const;
    /// The setting that the framework calls so; null if there is none.
    [[nodiscard]] const LaunchSetting* of_name(std::string_view wanted) const;
    /// Why a plan does not say what the setting does; "" if it is none of these.
    [[nodiscard]] std::string why_unsaid(std::string_view wanted) const;
    [[nodiscard]] bool is_ignored(std::string_view wanted) const;
    /// Whether it is a flag of torchrun, which starts the ranks (torchrun in the documentation of PyTorch 2.8).
    [[nodiscard]] static bool is_launcher(std::string_view wanted);
    /// Whether the framework's version has such a setting.
    [[nodiscard]] bool knows(std::string_view wanted) const;
    /// The name as users write it: "--tensor-model-parallel-size".
    [[nodiscard]] std::string written(std::string_view wanted) const;
};

/// Reads such a file, or its text. Errors carry line and column.
[[nodiscard]] Result<LaunchTable> read_launch_table(const TomlInput& toml, std::string_view origin);

/// All tables of the program, in alphabetical order.
[[nodiscard]] Result<std::vector<LaunchTable>> launch_tables();

/// The table of that name. Errors: there is none; a framework that serves where `trains`, or the other way round.
[[nodiscard]] Result<LaunchTable> launch_table(std::string_view name, bool trains);

}  // namespace roofline::core
