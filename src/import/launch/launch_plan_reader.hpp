// Reads what a launch configuration says about training: how chips are split, the batch, and the numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "import/launch/training_launch.hpp"

namespace roofline::core {

/// Degrees of the framework, before they become a plan.
struct LaunchDegrees {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    std::int64_t context = 1;
    std::int64_t heads = 1;      ///< sequence parallelism that exchanges heads (Ulysses)
    std::int64_t replicas = 1;   ///< that hold the same weights or shard them
    std::int64_t replicate = 1;  ///< groups that hold the same weights
    std::int64_t shard = 1;      ///< members of a group, which shard them
    std::int64_t expert = 1;
    int zero = 0;
    bool whole = false;  ///< weights are sharded, too, not only gradients and optimizer states
};

/// Reads the settings of a launch one group after another; see training_launch().
class LaunchPlanReader {
public:
    LaunchPlanReader(const LaunchValues& values, const LaunchJob& job) : values_(values), job_(job) {}

    [[nodiscard]] Result<TrainingLaunch> read();

private:
    [[nodiscard]] const LaunchTable& table() const { return values_.table(); }
    [[nodiscard]] bool has(std::string_view key) const { return table().of_key(key) != nullptr; }
    [[nodiscard]] std::int64_t degree(std::string_view key) const { return degree_of(key).value_or(1); }

    [[nodiscard]] std::optional<std::int64_t> degree_of(std::string_view key) const;
    void note(std::string text) { launch_.notes.push_back(std::move(text)); }

    Status read_degrees();
    Status read_sharding();
    Status read_replicate_and_shard();
    Status read_plan();
    Status shard_over_others(Plan& plan);
    Status place_experts(Plan& plan);
    [[nodiscard]] bool default_columns() const;
    Status read_schedule();
    [[nodiscard]] std::int64_t whole_number(std::string_view key) const;
    Status divide(std::int64_t all, std::int64_t parts, std::string_view key, std::int64_t& result);
    [[nodiscard]] Status one_pass(std::int64_t passes, std::string_view key, std::string remedy) const;
    Status read_batch();
    Status read_local_batch(std::int64_t replicas);
    Status read_device_batch();
    Status read_remat();
    Status check_whole_layers();
    Status read_numbers();
    Status read_optimizer();
    void read_overlap();

    const LaunchValues& values_;
    LaunchJob job_;
    LaunchDegrees degrees_;
    std::map<std::string, std::int64_t, std::less<>> left_over_;  ///< degrees that are left to the framework
    TrainingLaunch launch_;
};

}  // namespace roofline::core
