// Runs of programs over ranks, for tests: what they exchange, and whether their results are right.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "layout/lay_out.hpp"
#include "machine/machine.hpp"
#include "measure/network/sharded_run.hpp"
#include "measure/network/thread_group.hpp"
#include "measure/run/cpu_device.hpp"
#include "measure/stop.hpp"
#include "notation/notation.hpp"

namespace roofline::core {

/// A fictitious machine that four ranks divide.
inline constexpr const char* four_ranks_text = R"(
id = "four"
name = "Four cores"
kind = "cpu"
[[matmul]]
dtype = "f32"
value = "200 GFLOP/s"
source = "invented"
[[vector]]
dtype = "f32"
value = "100 GFLOP/s"
source = "invented"
[[memory]]
level = "hbm"
capacity = { value = "16 GiB", source = "invented" }
bandwidth = { value = "40 GB/s", source = "invented" }
[[network]]
tier = "shm"
topology = "switch"
domain = 4
parts = 4
chip_bandwidth = { value = "8 GB/s", source = "invented" }
hop_latency = { value = "1 us", source = "invented" }
)";

/// Counts the bytes that a rank exchanges, by the group's array: V of Message.
class CountedGroup : public Communicator {
public:
    CountedGroup(Communicator& under, double& bytes) : under_(&under), bytes_(bytes) {}
    CountedGroup(std::unique_ptr<Communicator> own, double& bytes)
        : own_(std::move(own)), under_(own_.get()), bytes_(bytes) {}

    int rank() const override { return under_->rank(); }
    int size() const override { return under_->size(); }
    Status barrier() override { return under_->barrier(); }
    std::size_t max_bytes() const override { return under_->max_bytes(); }
    Status run(const Exchange& exchange) override {
        count(exchange);
        return under_->run(exchange);
    }
    Result<std::unique_ptr<PendingExchange>> start(const Exchange& exchange) override {
        count(exchange);
        return under_->start(exchange);
    }
    Result<std::unique_ptr<Communicator>> split(int color, int key) override {
        auto part = under_->split(color, key);
        if (!part) return part;
        return std::make_unique<CountedGroup>(std::move(*part), bytes_);
    }

private:
    void count(const Exchange& exchange) {
        const double part = static_cast<double>(exchange.part);
        const bool once = exchange.kind == CollectiveKind::all_reduce || exchange.kind == CollectiveKind::send ||
                          exchange.kind == CollectiveKind::broadcast;
        const bool twice = exchange.kind == CollectiveKind::all_to_all;
        bytes_ += part * (once ? 1 : size()) * (twice ? size() : 1);
    }

    std::unique_ptr<Communicator> own_;
    Communicator* under_;
    double& bytes_;
};

inline double predicted_bytes(const Block& block, const Program& program) {
    double bytes = 0;
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            bytes += predicted_bytes(*inner, program);
            continue;
        }
        for (const Message& message : std::get<Statement>(node).messages) {
            bytes += message.bytes.evaluate(program.sizes).value().to_double();
        }
    }
    const auto passes = block.kind == Block::Kind::repeat ? size_of(program, block.count) : std::nullopt;
    return bytes * static_cast<double>(passes.value_or(1));
}

struct RunCase {
    std::string problem;  ///< on any rank; "" if there is none
    std::string stages;   ///< the collectives, in order
    double of_bound = 0;
    double overlapped_of_bound = 0;
    std::int64_t checked = 0;
    int pieces = 0;
    double bytes = 0;  ///< exchanged by the first rank in one sequential run
    double overlapped_bytes = 0;
    double predicted_bytes = 0;
    bool right = false;
};

inline RunCase ran(const std::string& text, const std::vector<MeshAxis>& mesh, const std::string& sizes) {
    reset_stop();
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program, to_text(program.error()));
    REQUIRE(bind_sizes(*program, parse_sizes(sizes, "sizes").value()));
    std::int64_t chips = 1;
    for (const MeshAxis& axis : mesh) chips *= axis.size;
    System system;
    system.slice = make_slice(parse_machine(four_ranks_text, "four.toml").value(), std::to_string(chips)).value();
    system.mesh = place_mesh(system.slice, mesh).value();
    RunCase all;
    const auto laid = lay_out(*program, system, {}, LayoutFreedom::as_written);
    const double predicted = laid ? predicted_bytes(laid->local.body, *program) : 0;
    std::mutex mutex;
    run_in_threads(static_cast<int>(chips), [&](Communicator& group) {
        double bytes = 0;
        CountedGroup world(group, bytes);
        RunCase mine;
        mine.predicted_bytes = predicted;
        const CheckOptions some{200};  // every rank computes a row of the reference for each element
        const auto attempt = [&]() -> Status {
            auto device = make_cpu_device({1, false});
            if (!device) return fail(device.error());
            auto run = ShardedRun::make(*program, system, world, **device);
            if (!run) return fail(run.error());
            for (const ShardedStage& stage : (*run)->stages()) {
                if (stage.exchange) mine.stages += (mine.stages.empty() ? "" : "; ") + stage.text;
            }
            bytes = 0;
            if (auto status = (*run)->run(); !status) return status;
            mine.bytes = bytes;
            auto check = (*run)->check(some);
            if (!check) return fail(check.error());
            mine.of_bound = check->of_bound;
            mine.right = check->of_bound <= 1 || check->max_rel_error <= (*run)->allowed_error();
            if (!mine.right) MESSAGE(check->worst);
            mine.checked = check->checked;
            mine.pieces = (*run)->pieces();
            (*run)->invalidate_results();
            bytes = 0;
            if (auto status = (*run)->run(true); !status) return status;
            mine.overlapped_bytes = bytes;
            auto again = (*run)->check(some);
            if (!again) return fail(again.error());
            mine.overlapped_of_bound = again->of_bound;
            mine.right = mine.right && (again->of_bound <= 1 || again->max_rel_error <= (*run)->allowed_error());
            if (!mine.right) MESSAGE(again->worst);
            return {};
        };
        if (auto status = attempt(); !status) mine.problem = status.error().message;
        const std::lock_guard lock(mutex);
        if (world.rank() == 0) all = mine;
        if (all.problem.empty()) all.problem = mine.problem;
    });
    return all;
}

inline void check_right(const RunCase& run) {
    CHECK(run.problem == "");
    CHECK(run.checked > 0);
    // sums of f32 parts round slightly differently than one sum, within what the reference allows
    CHECK(run.of_bound <= 1);
    CHECK(run.overlapped_of_bound <= 1);
}

/// Also checks that the exchanged bytes are those that the layout counted.
inline RunCase check_exchanged(const std::string& text, const std::vector<MeshAxis>& mesh, const std::string& sizes) {
    CAPTURE(text);
    CAPTURE(sizes);
    const RunCase run = ran(text, mesh, sizes);
    CAPTURE(run.stages);
    CHECK(run.problem == "");
    CHECK(run.checked > 0);
    CHECK(run.right);
    CHECK(run.predicted_bytes > 0);
    CHECK(run.bytes == run.predicted_bytes);
    CHECK(run.overlapped_bytes == run.predicted_bytes);
    return run;
}

}  // namespace roofline::core
