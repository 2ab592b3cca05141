#include "predict/serve/prefill_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "predict/serve/served_room.hpp"

namespace roofline::core {

namespace {

/// What a chip sends or receives on its way out of the slice.
struct ChipLink {
    double bytes_per_s = 0;
    double latency_s = 0;
    std::string label;
};

// The outermost tier joins slices.
Result<ChipLink> link_of(const Machine& machine) {
    const auto found = std::find_if(machine.network.rbegin(), machine.network.rend(), joins_chips);
    if (found != machine.network.rend()) {
        const NetworkTier& tier = *found;
        ChipLink link;
        link.label = tier.label;
        if (tier.hop_latency.value) link.latency_s = tier.hop_latency.value->value;
        if (tier.chip_bandwidth.value) {
            link.bytes_per_s = tier.chip_bandwidth.value->value;
        } else if (tier.link_bandwidth.value) {
            const auto links = static_cast<double>(std::max<std::int64_t>(1, tier.links));
            link.bytes_per_s = tier.link_bandwidth.value->value * links;
        }
        if (link.bytes_per_s > 0) return link;
    }
    return fail("no_network", fmt::format("the file of {} has no rate of a network between slices", machine.name),
                "name a machine that has one, or add it to the file");
}

/// Bytes that one chip of a member holds of one prompt.
Result<double> held(const PlannedSlice& slice, CacheSplit caches, std::int64_t prompt) {
    ROOFLINE_TRY(const auto kept,
                 kept_memory(slice.setup, slice.plan, caches, decode_pass(prompts_at_once(slice.plan), prompt), true));
    return kept.kv;
}

double member_chips(const PlannedSlice& slice) {
    return static_cast<double>(slice.setup.slice.chips()) / static_cast<double>(prompts_at_once(slice.plan));
}

// A slice that prefills, with one plan.
Result<ChosenPool> pool_with(const ServingSetup& setup, const Plan& plan, std::int64_t prompt, std::int64_t chunk) {
    ROOFLINE_TRY(auto prefill, priced_pass(setup, plan, CacheSplit::heads, prefill_pass(plan, prompt)));
    ChosenPool chosen;
    PrefillPool& pool = chosen.pool;
    pool.slice = setup.slice;
    pool.plan = plan;
    pool.mesh = prefill.program.mesh;
    if (const MemoryLevel* memory = setup.slice.machine.level("hbm"); memory != nullptr && memory->total_capacity()) {
        pool.capacity = memory->total_capacity()->value;
    }
    const std::int64_t members = prompts_at_once(plan);
    ROOFLINE_TRY(pool.chip_memory, kept_memory(setup, plan, CacheSplit::heads, decode_pass(members, prompt), true));
    ROOFLINE_TRY(pool.chip_memory.activations, prefill_activations(setup, plan, prompt, chunk, prefill));
    chosen.prefill = std::move(prefill);
    return chosen;
}

double prompts_per_s(const ChosenPool& chosen) {
    const Plan& plan = chosen.pool.plan;
    return static_cast<double>(prompts_at_once(plan) * plan.pipeline) / pass_seconds(chosen.prefill);
}

}  // namespace

Result<ChosenPool> choose_prefill_pool(const ServingSetup& setup, const std::optional<Plan>& plan, std::int64_t prompt,
                                       std::int64_t chunk) {
    if (plan) return pool_with(setup, *plan, prompt, chunk);
    std::optional<ChosenPool> best;
    std::optional<Error> error;
    const std::int64_t plenty =
        setup.slice.chips();  // prompts that wait: as many as the plan with the most members has
    for (const Plan& each : serving_plans(setup.prefill, setup.slice, plenty)) {
        auto chosen = pool_with(setup, each, prompt, chunk);
        if (!chosen) {
            if (!error) error = chosen.error();
            continue;
        }
        // a server under load takes prompts through all stages in turn, so stages are for what needs their room
        const auto order = [](const ChosenPool& one) {
            return std::tuple(!one.pool.fits(), one.pool.plan.pipeline > 1, -prompts_per_s(one));
        };
        if (!best || order(*chosen) < order(*best)) best = std::move(*chosen);
    }
    if (!best)
        return fail(error.value_or(Error{"unsupported", "no plan fits the slice that prefills", "name one", {}}));
    best->pool.plan_chosen = setup.slice.chips() > 1;
    return std::move(*best);
}

Status find_prefill_room(PrefillPool& pool, const ServingSetup& setup, const MemoryChoice& choice,
                         std::int64_t prompt) {
    if (!pool.capacity) return {};
    const std::int64_t members = prompts_at_once(pool.plan);
    const MemoryRule rule = choice.on(server_chips({setup, pool.plan}, *pool.capacity));
    const std::int64_t held = in_blocks(prompt, rule.block);
    ROOFLINE_TRY(const auto kept, kept_memory(setup, pool.plan, CacheSplit::heads, decode_pass(members, held), true));
    pool.block = rule.block;
    if (!(kept.kv > 0)) return {};
    const double left = cache_room(rule, *pool.capacity, kept.weights, pool.chip_memory.activations);
    pool.room_tokens = std::max(1.0, left / kept.kv * static_cast<double>(members * held));
    return {};
}

Result<CacheTransfer> cache_transfer(const PlannedSlice& prefill, const PlannedSlice& decode, CacheSplit caches,
                                     std::int64_t prompt) {
    ROOFLINE_TRY(const auto sender, link_of(prefill.setup.slice.machine));
    ROOFLINE_TRY(const auto receiver, link_of(decode.setup.slice.machine));
    ROOFLINE_TRY(const auto first, held(decode, caches, 1));
    ROOFLINE_TRY(const auto all, held(decode, caches, prompt));
    CacheTransfer transfer;
    transfer.layers = static_cast<double>(std::max<std::int64_t>(1, decode.setup.decode.model.layer_count));
    const double chips = member_chips(decode);
    const double per_token = prompt > 1 ? (all - first) / static_cast<double>(prompt - 1) : 0;
    transfer.bytes = {(first - per_token) * chips, per_token * chips};
    // seconds per byte that the member receives
    const double received = 1 / (chips * receiver.bytes_per_s);
    const double sent = 1 / (member_chips(prefill) * sender.bytes_per_s);
    const double slower = std::max(received, sent);
    transfer.network = received >= sent ? receiver.label : sender.label;
    transfer.seconds = {transfer.bytes.fixed * slower + std::max(sender.latency_s, receiver.latency_s),
                        transfer.bytes.per_token * slower};
    return transfer;
}

}  // namespace roofline::core
