// What the launch of a framework says, by the keys of its table; and the text of such a launch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/launch/launch_table.hpp"
#include "import/launch/launch_text.hpp"
#include "plan/emitted_launch.hpp"
#include "plan/plan.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// The values of one file.
class LaunchValues {
public:
    /// Reads the settings of a text. Errors, with line and column: values that a setting cannot have; a setting that
    /// stands twice with different values; names that the framework's version does not have, with the nearest; and
    /// those of launch_words().
    [[nodiscard]] static Result<LaunchValues> read(std::string_view text, std::string_view name, LaunchTable table);

    [[nodiscard]] const LaunchTable& table() const { return table_; }
    [[nodiscard]] bool stated(std::string_view key) const { return values_.contains(key); }
    /// Whether a switch is on.
    [[nodiscard]] bool on(std::string_view key) const;
    /// The value, or the framework's default, in our words; "" without either.
    [[nodiscard]] std::string text(std::string_view key) const;
    /// Likewise of a number; empty without either, and where it is -1.
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;
    [[nodiscard]] std::optional<double> real(std::string_view key) const;

    /// An error at the place of a key's setting, or about the file if it is not stated.
    [[nodiscard]] tl::unexpected<Error> fail_at(std::string_view key, std::string code, std::string message,
                                                std::string hint) const;
    /// The setting of a key as users write it, "--tensor-model-parallel-size".
    [[nodiscard]] std::string written(std::string_view key) const;

    /// What is not part of a plan, and what was ignored.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
    struct Value {
        std::string text;  ///< in our words
        Span at{};
    };

    Status take(const Source& source, const LaunchSetting& setting, const LaunchWord& word);

    LaunchTable table_;
    std::string text_;
    std::string name_;
    std::map<std::string, Value, std::less<>> values_;
    std::vector<std::string> notes_;
};

/// "fsdp=8, tensor=8 on 64 chips"; "one chip".
[[nodiscard]] std::string launch_heading(const Plan& plan, std::int64_t chips);

/// A text in lines of comments.
[[nodiscard]] std::string launch_comment(std::string_view text);

/// Collects settings, and writes them in the form of the table, in its order.
class LaunchWriter {
public:
    explicit LaunchWriter(const LaunchTable& table) : table_(table) {}

    /// Sets a key, in our words. False if the framework has no setting for it, or none with this value.
    bool set(std::string_view key, std::string_view value);
    bool set(std::string_view key, std::int64_t value);
    /// A line above the settings.
    void remark(std::string text) { remarks_.push_back(std::move(text)); }
    /// Adds what a server of disaggregated serving needs.
    void pool(bool prefill);

    /// The text; settings that have the framework's default are left out. `heading` is the first comment.
    [[nodiscard]] EmittedLaunch written(const std::string& heading) &&;

private:
    struct Given {
        const LaunchSetting* setting;
        std::string value;  ///< in the framework's words
    };

    [[nodiscard]] std::string as_flags() const;
    [[nodiscard]] std::string as_toml() const;
    /// JSON with comments, otherwise YAML.
    [[nodiscard]] std::string as_tree(const std::vector<std::string>& comments) const;
    [[nodiscard]] std::vector<Given> given() const;

    const LaunchTable& table_;
    std::map<std::string, std::string, std::less<>> values_;      ///< by key, in the framework's words
    std::vector<std::pair<LaunchSetting, std::string>> further_;  ///< of no part of a plan
    std::vector<std::string> remarks_;
};

}  // namespace roofline::core
