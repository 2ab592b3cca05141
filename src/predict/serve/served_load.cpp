#include "predict/serve/served_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"
#include "plan/serving_capacity.hpp"
#include "predict/expected_basis.hpp"
#include "predict/serve/expected_serving.hpp"
#include "predict/serve/served_room.hpp"
#include "predict/serve/serving_costs.hpp"
#include "predict/serve/simulated_load.hpp"

namespace roofline::core {

namespace {

// Mean |predicted - measured| / measured of the time per output token on 163 published rows of disaggregated servers,
// to which no server model was fitted (docs/method/accuracy.md).
constexpr double error_of_pools = 0.28;

// Whether each slice holds at least one request.
bool holds_requests(const ServeAnswer& answer) {
    return (!answer.capacity || answer.max_batch >= 1) && (!answer.prefill_pool || answer.prefill_pool->fits());
}

// Empty if the servers have room for a request.
std::optional<Error> no_served_room(const ServeAnswer& answer) {
    if (answer.served && answer.served->max_batch < 1) {
        return no_room(*answer.served, *answer.capacity, answer.prompt + answer.output);
    }
    const auto& pool = answer.prefill_pool;
    if (!pool || !(pool->room_tokens > 0) || pool->room_tokens >= static_cast<double>(answer.prompt)) {
        return std::nullopt;
    }
    return Error{
        "does_not_fit",
        fmt::format("the server has no room for the KV cache of a prompt of {} tokens on a slice that prefills",
                    answer.prompt),
        "give a larger --memory-fraction or larger slices",
        {}};
}

ServingPools pools_of(const ServeAnswer& answer, const ExpectedServing& passes, const ServerModel& server,
                      PromptSchedule schedule) {
    const RequestSize size{static_cast<double>(answer.prompt), static_cast<double>(answer.output)};
    const ServingCosts costs = serving_costs(passes, server, size);
    const auto& pool = answer.prefill_pool;
    ServerLimits decode;
    if (answer.served) decode = serving_limits(static_cast<double>(answer.served->tokens), answer.served->rule.block);
    ServerLimits prefill = decode;
    if (pool) prefill = pool->room_tokens > 0 ? serving_limits(pool->room_tokens, pool->block) : ServerLimits{};
    prefill.prompt_tokens = answer.chunk;
    prefill.members = std::llround(passes.members());
    prefill.schedule = schedule;
    ServingPools pools{{prefill, costs}};
    if (!pool) return pools;
    pools.prompts.servers = pool->slices;
    pools.decode = {decode, costs, pool->decode_slices};
    if (pool->transfer) {
        pools.transfer_s = [transfer = *pool->transfer, lone_s = costs.lone_prompt_s](double tokens) {
            return transfer.exposed_s(tokens, lone_s(tokens));
        };
    }
    return pools;
}

// Null if no server has a model.
const CalibratedServer* server_of(const ServedSlices& slices) {
    const ServingSetup& setup = slices.decode.setup;
    return setup.calibrations->servers().find_or_usual(slices.software, platform_of(setup.slice.machine));
}

Result<ExpectedServing> served_passes(const ServeAnswer& answer, const ServedSlices& slices) {
    if (!slices.decode.setup.whole.empty()) {
        return fail(
            "not_calibrated",
            fmt::format(
                "a simulated load needs the times of kernels, but for {} only whole forward passes were measured",
                slices.decode.setup.whole),
            "ask without a load");
    }
    if (server_of(slices) == nullptr || !calibrated(answer)) {
        const std::string& why = answer.decode.why_not_expected;
        const std::vector<const CalibratedKernel*>& kernels = answer.decode.models.kernels;
        const bool lacks_collectives =
            !kernels.empty() && std::none_of(kernels.begin(), kernels.end(), [](const auto* each) { return !each; });
        return fail(
            "not_calibrated",
            fmt::format("a load needs expected times, and no calibration of {} covers all of this{}",
                        answer.slice.machine.name, why.empty() ? "" : fmt::format(" ({})", why)),
            lacks_collectives
                ? fmt::format("ask without a load, or for replicas, which send nothing to each other: --mesh data={}",
                              answer.plan.chips())
                : "ask without a load, or name a calibrated machine");
    }
    auto passes = ExpectedServing::make(slices.prefill, slices.decode, slices.typical, slices.best);
    if (!passes && passes.error().hint.empty()) passes.error().hint = "ask without a load";
    return passes;
}

LoadQuestion closed_loop(const ServeAnswer& answer) {
    LoadQuestion load;
    const std::int64_t servers = answer.prefill_pool ? answer.prefill_pool->decode_slices : 1;
    load.concurrency = std::min(answer.batch * servers, max_requests);
    load.lengths = typical_lengths({static_cast<double>(answer.prompt), static_cast<double>(answer.output)});
    return load;
}

}  // namespace

Result<LoadableServers> loadable_servers(const ServeAnswer& answer, const ServedSlices& slices,
                                         PromptSchedule schedule) {
    ROOFLINE_TRY(auto passes, served_passes(answer, slices));
    if (const auto error = no_served_room(answer)) return fail(*error);
    LoadableServers servers{std::make_unique<ExpectedServing>(std::move(passes)), {}};
    servers.pools = pools_of(answer, *servers.passes, server_of(slices)->costs, schedule);
    return servers;
}

Status add_load(ServeAnswer& answer, const std::optional<LoadQuestion>& load, const ServedSlices& slices) {
    if (load && !holds_requests(answer)) return {};
    auto passes = served_passes(answer, slices);
    if (!passes) return load ? Status(fail(passes.error())) : Status{};
    if (!load && (!answer.fits || !holds_requests(answer) || answer.batch > max_requests)) return {};
    if (const auto error = no_served_room(answer)) {
        if (load) return fail(*error);
        answer.notes.push_back(fmt::format("as served nothing is expected: {}; {}", error->message, error->hint));
        return {};
    }
    const CalibratedServer& server = *server_of(slices);
    const LoadQuestion asked = load ? *load : closed_loop(answer);
    const ServingPools pools = pools_of(answer, *passes, server.costs, asked.schedule);
    ServingTimes times;
    if (load) {
        ROOFLINE_CHECK(check_requests(asked, pools, answer.model.context));
        ROOFLINE_TRY(answer.load, simulated_load(asked, pools));
        times = answer.load->times;
    } else {
        times = serving_times(simulate_concurrency(asked.lengths, asked.concurrency, 0, pools));
    }
    constexpr std::int64_t sample = 1000;
    if (answer.prefill_pool) answer.prefill_pool->rates = pool_rates(draw_requests(asked.lengths, sample), pools);
    const std::string platform = platform_of(answer.slice.machine);
    const double of_server = slices.decode.setup.calibrations->servers().errors(server, platform).tpot;
    if (!server.platform.empty() && server.platform != platform) {
        answer.notes.push_back(fmt::format(
            "as served: the constants of {} were fitted to {}s; on {}s their mean error of TPOT is about {:.0f} %",
            server.software, server.platform, platform, 100 * of_server));
    }
    const double error = answer.prefill_pool ? std::max(of_server, error_of_pools) : of_server;
    answer.under_load = ServedLoad{server.software,
                                   hypotenuse(error, additional_error(fastest(answer.decode))),
                                   times.ttft.mean,
                                   times.tpot.mean,
                                   times.running,
                                   times.tokens_per_s,
                                   passes->balancedness(times.running),
                                   slices.decode.setup.two_batches};
    return {};
}

}  // namespace roofline::core
