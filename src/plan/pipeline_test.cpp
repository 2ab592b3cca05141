// Tests that compare the formulas with schedules simulated task by task.
#include "plan/pipeline.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

using namespace roofline::core;

namespace {

enum class Pass { forward, backward, weights };

/// A pass of one micro-batch through one virtual stage; virtual stages are counted through the whole model.
struct PipelineTask {
    Pass pass = Pass::forward;
    int microbatch = 0;
    int chunk = 0;  ///< of the stage
};

struct Played {
    int time = 0;
    std::vector<double> held;  ///< by stage, in micro-batches through all of its layers
};

/// Simulates the stages: each does its tasks in order, as soon as their inputs are there. `lengths` are by pass;
/// without passes for weights the activations are freed by the backward pass.
Played play(const std::vector<std::vector<PipelineTask>>& stages, int chunks, const std::map<Pass, int>& lengths) {
    const int p = static_cast<int>(stages.size());
    const int last = p * chunks - 1;
    const bool apart = lengths.contains(Pass::weights);
    std::map<std::tuple<Pass, int, int>, int> done;  // by pass, micro-batch, virtual stage of the model
    std::vector<std::size_t> next(stages.size());
    std::vector<int> clock(stages.size());
    std::vector<int> held(stages.size());
    Played played;
    played.held.assign(stages.size(), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (int s = 0; s < p; ++s) {
            const auto i = static_cast<std::size_t>(s);
            while (next[i] < stages[i].size()) {
                const PipelineTask& task = stages[i][next[i]];
                const int here = task.chunk * p + s;
                std::optional<std::tuple<Pass, int, int>> needs;
                if (task.pass == Pass::forward && here > 0) needs = {Pass::forward, task.microbatch, here - 1};
                if (task.pass == Pass::backward) {
                    needs = here == last ? std::tuple(Pass::forward, task.microbatch, here)
                                         : std::tuple(Pass::backward, task.microbatch, here + 1);
                }
                if (needs && !done.contains(*needs)) break;
                clock[i] = std::max(clock[i], needs ? done[*needs] : 0) + lengths.at(task.pass);
                done[{task.pass, task.microbatch, here}] = clock[i];
                if (task.pass == Pass::forward) ++held[i];
                played.held[i] = std::max(played.held[i], static_cast<double>(held[i]) / chunks);
                if (task.pass == (apart ? Pass::weights : Pass::backward)) --held[i];
                ++next[i];
                moved = true;
            }
        }
    }
    for (std::size_t i = 0; i < stages.size(); ++i) CHECK(next[i] == stages[i].size());
    played.time = *std::max_element(clock.begin(), clock.end());
    return played;
}

std::vector<PipelineTask> gpipe(int m) {
    std::vector<PipelineTask> tasks;
    for (int i = 0; i < m; ++i) tasks.push_back({Pass::forward, i});
    for (int i = 0; i < m; ++i) tasks.push_back({Pass::backward, i});
    return tasks;
}

// First this many forward passes, then one forward and one backward in turn; with `late`, weights of the micro-batch
// that many before.
std::vector<PipelineTask> one_f_one_b(int m, int first, std::optional<int> late) {
    std::vector<PipelineTask> tasks;
    int forward = 0;
    int weights = 0;
    for (; forward < std::min(m, first); ++forward) tasks.push_back({Pass::forward, forward});
    for (int backward = 0; backward < m; ++backward) {
        if (forward < m) tasks.push_back({Pass::forward, forward++});
        tasks.push_back({Pass::backward, backward});
        if (late && backward + 1 - weights > *late) tasks.push_back({Pass::weights, weights++});
    }
    while (late && weights < m) tasks.push_back({Pass::weights, weights++});
    return tasks;
}

// Micro-batches in groups of p, each through all virtual stages of a stage; backward the last one comes first.
std::vector<PipelineTask> interleaved(int p, int m, int v, int stage) {
    const auto nth = [&](Pass pass, int n) {
        const int chunk = n % (p * v) / p;
        return PipelineTask{pass, n / (p * v) * p + n % p, pass == Pass::forward ? chunk : v - 1 - chunk};
    };
    std::vector<PipelineTask> tasks;
    const int first = std::min(m * v, 2 * (p - stage - 1) + (v - 1) * p);
    int forward = 0;
    for (; forward < first; ++forward) tasks.push_back(nth(Pass::forward, forward));
    for (int backward = 0; backward < m * v; ++backward) {
        if (forward < m * v) tasks.push_back(nth(Pass::forward, forward++));
        tasks.push_back(nth(Pass::backward, backward));
    }
    return tasks;
}

void check_held(const Played& played, const Pipeline& pipeline) {
    for (std::size_t i = 0; i < played.held.size(); ++i) {
        CAPTURE(i);
        CHECK(held_microbatches(pipeline, static_cast<std::int64_t>(i)) == approx(played.held[i]));
    }
}

double bubble_of(const Played& played, int work) { return 1 - static_cast<double>(work) / played.time; }

}  // namespace

TEST_CASE("the idle time and memory of stages agree with simulated schedules") {
    for (const auto& [p, m] : {std::pair(2, 2), {2, 8}, {3, 6}, {4, 4}, {4, 8}, {4, 32}, {8, 16}}) {
        CAPTURE(p);
        CAPTURE(m);
        // Forward 1, backward 2, as for a matmul.
        const std::map<Pass, int> whole{{Pass::forward, 1}, {Pass::backward, 2}};
        const std::vector<std::vector<PipelineTask>> all(static_cast<std::size_t>(p), gpipe(m));
        const Played first = play(all, 1, whole);
        const Pipeline fill{Schedule::gpipe, p, m, 1};
        CHECK(pipeline_cost(fill).value().bubble(p) == approx(bubble_of(first, 3 * m)));
        check_held(first, fill);

        std::vector<std::vector<PipelineTask>> steady;
        std::vector<std::vector<PipelineTask>> filled;
        for (int s = 0; s < p; ++s) {
            steady.push_back(one_f_one_b(m, p - 1 - s, {}));
            filled.push_back(one_f_one_b(m, p - 1 - s, s));
        }
        const Played second = play(steady, 1, whole);
        const Pipeline flush{Schedule::one_f_one_b, p, m, 1};
        CHECK(pipeline_cost(flush).value().bubble(p) == approx(bubble_of(second, 3 * m)));
        check_held(second, flush);

        const Played third = play(filled, 1, {{Pass::forward, 1}, {Pass::backward, 1}, {Pass::weights, 1}});
        const Pipeline zero{Schedule::zero_bubble, p, m, 1};
        CHECK(pipeline_cost(zero).value().bubble(p) == approx(bubble_of(third, 3 * m)));
        check_held(third, zero);

        // All or half of a forward pass is recomputed before the gradients of the input; lengths are in halves of a
        // forward pass.
        for (const int again : {1, 2}) {
            CAPTURE(again);
            const Played fourth =
                play(filled, 1, {{Pass::forward, 2}, {Pass::backward, 2 + again}, {Pass::weights, 2}});
            const Pipeline twice{Schedule::zero_bubble, p, m, 1, again / 2.0};
            CHECK(pipeline_cost(twice).value().bubble(p) == approx(bubble_of(fourth, (6 + again) * m)));
        }
    }
}

TEST_CASE("with v virtual stages the bubble is one v-th, and (p-1)/v more micro-batches are held") {
    for (const auto& [p, m, v] : {std::tuple(2, 4, 2), {4, 8, 2}, {4, 8, 3}, {4, 16, 5}, {8, 32, 2}}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(v);
        std::vector<std::vector<PipelineTask>> stages;
        for (int s = 0; s < p; ++s) stages.push_back(interleaved(p, m, v, s));
        const Played played = play(stages, v, {{Pass::forward, 1}, {Pass::backward, 2}});
        const Pipeline pipeline{Schedule::interleaved, p, m, v};
        const PipelineCost cost = pipeline_cost(pipeline).value();
        CHECK(cost.bubble(p) == approx(bubble_of(played, 3 * m * v)));
        check_held(played, pipeline);
        CHECK(cost.transfers == 2 * m * v);
    }
}

TEST_CASE("impossible schedules are refused") {
    CHECK(pipeline_cost({Schedule::one_f_one_b, 1, 4, 1}).value().bubble(1) == 0);
    CHECK(parse_schedule("1f1b").value().schedule == Schedule::one_f_one_b);
    CHECK(parse_schedule("interleaved").value().chunks == 2);
    CHECK(parse_schedule("interleaved:4").value().chunks == 4);
    CHECK(!parse_schedule("interleaved:1"));
    CHECK(!parse_schedule("interleaved:x"));
    CHECK(!parse_schedule("interleaved:99999999999999999999"));
    CHECK(parse_schedule("zero_bubble").error().hint == "did you mean `zero-bubble`?");
    CHECK(!pipeline_cost({Schedule::one_f_one_b, 4, 8, 2}));
    CHECK(!pipeline_cost({Schedule::interleaved, 4, 8, 1}));
    CHECK(pipeline_cost({Schedule::interleaved, 4, 6, 2}).error().hint.find("use 8") != std::string::npos);
    CHECK(!pipeline_cost({Schedule::zero_bubble, 8, 4, 1}));
    CHECK(!pipeline_cost({Schedule::gpipe, 0, 4, 1}));
    CHECK(!pipeline_cost({Schedule::zero_bubble, 4, 8, 1, 1.5}));
    CHECK(!pipeline_cost({Schedule::gpipe, 4, -1, 1}));
    CHECK(!pipeline_cost({Schedule::gpipe, INT64_MAX, INT64_MAX, 1}));
}
