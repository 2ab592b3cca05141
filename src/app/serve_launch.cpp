#include "app/serve_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/load_options.hpp"
#include "app/model_option.hpp"
#include "app/number_option.hpp"
#include "app/system_option.hpp"
#include "app/train_launch.hpp"
#include "model/model.hpp"
#include "model/routed_experts.hpp"
#include "predict/serve/serving_costs.hpp"

namespace roofline::core {

namespace {

/// Sets options of a request, or checks that they say the same as the file.
class ServerOptions {
public:
    ServerOptions(ServeRequest& request, const ServingLaunch& launch)
        : request_(request), launch_(launch), file_(request.plan_from->file.name) {}

    Status set(std::int64_t chips, std::vector<std::string>& notes) {
        const Plan& plan = launch_.plan;
        const std::string mesh = plan.chips() == 1 ? "data=1" : mesh_option(plan);
        if (!request_.mesh.empty()) {
            ROOFLINE_TRY(const auto given, parse_plan(request_.mesh, chips));
            if (!given.same_axes(plan)) return differs("--mesh", plan_text(given), mesh);
        } else {
            request_.mesh = {mesh};
        }
        ROOFLINE_CHECK(set_batch(notes));
        ROOFLINE_CHECK(set_count(request_.chunk, "--chunk", launch_.chunk));
        ROOFLINE_CHECK(set_count(request_.block, "--block", launch_.block));
        if (launch_.memory_fraction) {
            ROOFLINE_TRY(const auto given, memory_fraction_option(request_.memory_fraction));
            const std::string said = fmt::format("{}", *launch_.memory_fraction);
            if (given && *given != *launch_.memory_fraction) {
                return differs("--memory-fraction", request_.memory_fraction, said);
            }
            request_.memory_fraction = said;
        }
        ROOFLINE_CHECK(set_word(request_.kv_dtype, "--kv-dtype", launch_.kv_dtype));
        ROOFLINE_CHECK(set_word(request_.weights, "--weights", launch_.weights));
        ROOFLINE_CHECK(set_word(request_.exchange, "--exchange", launch_.exchange));
        request_.two_batch_overlap = request_.two_batch_overlap || launch_.two_batches;
        return {};
    }

private:
    [[nodiscard]] tl::unexpected<Error> differs(std::string_view option, std::string_view given,
                                                std::string_view said) const {
        return fail("contradiction", fmt::format("{} is {}, but {} says {}", option, given, file_, said),
                    fmt::format("leave {} out, or change the file", option));
    }

    Status set_word(std::string& word, std::string_view option, const std::string& said) {
        if (said.empty()) return {};
        if (!word.empty() && word != said) return differs(option, word, said);
        word = said;
        return {};
    }

    Status set_count(std::string& word, std::string_view option, const std::optional<std::int64_t>& said) {
        if (!said) return {};
        if (word.empty()) {
            word = fmt::format("{}", *said);
            return {};
        }
        ROOFLINE_TRY(const auto given, whole_option(option, word, max_serving_size));
        if (given != *said) return differs(option, word, fmt::format("{}", *said));
        return {};
    }

    // The file limits the batch, so that a smaller one agrees with it.
    Status set_batch(std::vector<std::string>& notes) {
        if (!launch_.batch) return {};
        if (request_.batch.empty() && request_.concurrency.empty()) {
            request_.batch = fmt::format("{}", *launch_.batch);
            notes.push_back(fmt::format("--batch {}, the most that {} allows", *launch_.batch, file_));
            return {};
        }
        if (request_.batch.empty()) return {};
        ROOFLINE_TRY(const auto given, whole_option("--batch", request_.batch, max_serving_size));
        if (given <= *launch_.batch) return {};
        return differs("--batch", request_.batch, fmt::format("at most {}", *launch_.batch));
    }

    ServeRequest& request_;
    const ServingLaunch& launch_;
    const std::string file_;
};

}  // namespace

Result<ServeRequest> with_serving_launch(ServeRequest request, std::vector<std::string>& notes) {
    const LaunchFile& file = *request.plan_from;
    ROOFLINE_TRY(auto table, table_of_file(file, false));
    ROOFLINE_TRY(const auto slice, resolve_slice(request.machines.front(), request.sets));
    ROOFLINE_TRY(const auto config, resolve_config(request.config));
    ROOFLINE_TRY(const auto model, build_model(config, std::nullopt));
    ROOFLINE_TRY(const auto values, LaunchValues::read(file.file.text, file.file.name, std::move(table)));
    ROOFLINE_TRY(const auto launch, serving_launch(values, slice.chips(), !routed_experts(model.program).empty()));
    notes.push_back(fmt::format("{} is read as {} {}", file.file.name, values.table().title, values.table().version));
    notes.insert(notes.end(), launch.notes.begin(), launch.notes.end());
    ROOFLINE_CHECK(ServerOptions(request, launch).set(slice.chips(), notes));
    if (request.software.empty()) request.software = values.table().framework;
    return request;
}

namespace {

// The launches of both kinds of servers, one after the other.
EmittedLaunch emit_pools(const LaunchTable& table, ServingLaunch launch, const ServeAnswer& answer,
                         std::int64_t replicas) {
    const bool experts = !routed_experts(answer.model.program).empty();
    const PrefillPool& pool = *answer.prefill_pool;
    launch.pool = LaunchedPool::decode;
    launch.workers = pool.decode_slices * replicas;
    const EmittedLaunch decode = emit_serving(table, launch, experts);
    launch.pool = LaunchedPool::prefill;
    launch.workers = pool.slices * replicas;
    launch.plan = pool.plan;
    launch.batch.reset();
    EmittedLaunch both = emit_serving(table, launch, experts);
    std::string beside = "beside its servers: " + table.pools;
    if (table.form != LaunchForm::flags) beside += "; each of the configurations below is a file of its own";
    both.remarks.push_back(beside);
    for (const std::string& remark : decode.remarks) {
        if (std::find(both.remarks.begin(), both.remarks.end(), remark) == both.remarks.end()) {
            both.remarks.push_back(remark);
        }
    }
    both.text = launch_comment(beside) + "\n" + both.text + "\n" + decode.text;
    return both;
}

}  // namespace

Result<EmittedLaunch> emitted_serving(const ServeRequest& request, const ServeAnswer& answer, std::int64_t replicas) {
    ROOFLINE_TRY(const auto table, launch_table(request.emit, false));
    if (answer.prefill_pool && table.pools.empty()) {
        return fail("bad_request",
                    fmt::format("how {} serves with pools of its own for prefill is not known", table.title),
                    "ask for the slice that prefills and the one that decodes by themselves");
    }
    ServingLaunch launch;
    launch.plan = answer.plan;
    launch.batch = answer.batch;
    launch.workers = replicas;
    launch.chunk = answer.chunk;
    if (!request.block.empty()) {
        ROOFLINE_TRY(launch.block, whole_option("--block", request.block, max_serving_size));
    }
    ROOFLINE_TRY(launch.memory_fraction, memory_fraction_option(request.memory_fraction));
    launch.kv_dtype = request.kv_dtype;
    launch.weights = request.weights;
    launch.exchange = request.exchange;
    launch.two_batches = request.two_batch_overlap;
    if (answer.prefill_pool) return emit_pools(table, std::move(launch), answer, replicas);
    return emit_serving(table, launch, !routed_experts(answer.model.program).empty());
}

}  // namespace roofline::core
