// How a framework is told a plan: its flags, in both directions. The tables are
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
    real,     ///< a number above 0
    on,       ///< a flag without a value
    choice,   ///< one of several words
    words,    ///< several words
    anything  ///< a text
};

/// One flag, with what a plan calls it.
struct LaunchSetting {
    std::string key;                ///< of the plan: "tensor"
    std::string name;               ///< of the framework: "tensor-model-parallel-size"
    std::vector<std::string> also;  ///< further names of the same
    LaunchKind kind = LaunchKind::anything;
    std::string otherwise;  ///< value when it is left out, in the framework's words; "": none
    /// The framework's word for each of ours. The first of several for one of ours is written.
    std::vector<std::pair<std::string, std::string>> choices;
};

/// A setting that changes a run in a way that no plan says.
struct UnsaidSetting {
    std::vector<std::string> names;
    std::string why;
};

struct LaunchTable {
    std::string name;                      ///< "megatron"
    std::string title;                     ///< "Megatron-LM"
    std::string version;                   ///< whose documentation was taken
    std::string source;                    ///< with section
    bool trains = true;                    ///< otherwise it serves
    std::string command;                   ///< that flags follow: "torchrun pretrain_gpt.py"
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
    std::string note;
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
