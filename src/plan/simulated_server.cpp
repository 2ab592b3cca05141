#include "plan/simulated_server.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Returns the number of iterations until `wait_s` have passed, the last of them unfinished before, if the first takes
/// `first_s` and each takes `growth_s` longer than the one before it; at most `most`.
std::int64_t iterations_within(double wait_s, double first_s, double growth_s, std::int64_t most) {
    // m first + growth m (m - 1) / 2 = wait
    const double linear = first_s - growth_s / 2;
    const double iterations = 2 * wait_s / (linear + std::sqrt(linear * linear + 2 * growth_s * wait_s));
    if (!(iterations < static_cast<double>(most))) return most;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(iterations)));
}

std::size_t member_count(const ServerPool& pool, SimulatedServer::Task task) {
    return task == SimulatedServer::Task::decoding
               ? 1
               : static_cast<std::size_t>(std::max<std::int64_t>(1, pool.limits.members));
}

}  // namespace

SimulatedServer::SimulatedServer(const std::vector<RequestTokens>& requests, const ServerPool& pool, Task task,
                                 ServingRun& run)
    : requests_(requests),
      pool_(pool),
      task_(task),
      run_(run),
      running_(requests),
      gaps_(run.gaps),
      members_(member_count(pool, task)) {}

bool SimulatedServer::has_room(std::int64_t number) const {
    const ServerLimits& limits = pool_.limits;
    const std::int64_t admitted = static_cast<std::int64_t>(admitted_) - ended_;
    if (limits.sequences > 0 && admitted >= limits.sequences) return false;
    return limits.cache_tokens == 0 || admitted == 0 || reserved_ + cache_tokens(number) <= limits.cache_tokens;
}

void SimulatedServer::offer(std::int64_t number, double now_s) {
    const bool first = admitted_ == queue_.size();
    const DecodeCost& cost = iterations_.cost;
    // the iteration in progress counts
    std::int64_t passed = end_s_ < never ? 1 : 0;
    if (iterations_.decoding > 1) {
        passed = iterations_within(now_s - iterations_.begin_s, cost.seconds(running_.contexts()),
                                   cost.context_s * static_cast<double>(running_.count()), iterations_.decoding);
    }
    queue_.push_back(number);
    ready_.push_back(iteration_ + passed + pool_.costs.wait);
    // a waiting request that does not fit waits for an end, and those behind it with it
    const std::int64_t until = ready_.back() - iteration_;
    if (iterations_.decoding <= std::max<std::int64_t>(1, until) || !first || !has_room(number)) return;
    plan(until, iterations_.begin_s);
}

// Returns the iterations that the request which has waited longest is not looked at, 0 if there is none or nothing else
// to do.
std::int64_t SimulatedServer::waits() const {
    if (admitted_ == queue_.size() || running_.count() == 0) return 0;
    return std::max<std::int64_t>(0, ready_[admitted_] - iteration_);
}

// Admits the request that has waited longest if it fits.
std::optional<std::int64_t> SimulatedServer::admit() {
    if (admitted_ == queue_.size() || waits() > 0 || !has_room(queue_[admitted_])) return std::nullopt;
    reserved_ += cache_tokens(queue_[admitted_]);
    return queue_[admitted_++];
}

void SimulatedServer::leave(std::int64_t number) {
    reserved_ -= cache_tokens(number);
    ++ended_;
}

// Processes as much of a member's prompt as this iteration allows.
void SimulatedServer::process(Member& member) {
    const std::int64_t number = *member.request;
    const std::int64_t chunk = std::min(member.left, request(number).prompt - member.done);
    const auto from = static_cast<double>(member.done);
    const auto to = static_cast<double>(member.done + chunk);
    member.seconds += pool_.costs.prompt_s(to) - pool_.costs.prompt_s(from);
    if (members_.size() > 1) member.lone_s += pool_.costs.lone_prompt_s(to) - pool_.costs.lone_prompt_s(from);
    member.done += chunk;
    member.left -= chunk;
    if (member.done < request(number).prompt) return;
    processed_.push_back(number);
    member.request.reset();
}

// Returns the time of prompts in an iteration; empty if there are none.
std::optional<double> SimulatedServer::prompts_seconds() {
    bool any = false;
    for (Member& member : members_) {
        member.left = std::max<std::int64_t>(1, pool_.limits.prompt_tokens);
        member.seconds = 0;
        member.lone_s = 0;
        if (!member.request) continue;
        process(member);
        any = true;
    }
    const auto fewer = [](const Member& a, const Member& b) { return a.left < b.left; };
    while (true) {
        Member& member = *std::max_element(members_.begin(), members_.end(), fewer);
        if (member.left == 0) break;
        member.request = admit();
        if (!member.request) break;
        member.done = request(*member.request).cached;
        process(member);
        any = true;
    }
    if (!any) return std::nullopt;
    double longest = 0;
    double lone = 0;
    double sum = 0;
    for (const Member& member : members_) {
        longest = std::max(longest, member.seconds);
        lone = std::max(lone, member.lone_s);
        sum += member.seconds;
    }
    if (members_.size() > 1 && longest > 0) {
        const double others = (sum / longest - 1) / static_cast<double>(members_.size() - 1);
        longest = lone + (longest - lone) * others;
    }
    return std::max(longest, pool_.costs.least_prompts_s);
}

// The server that decodes sends the first token, too.
void SimulatedServer::enter_admitted(double now_s) {
    while (const auto number = admit()) {
        run_.requests[static_cast<std::size_t>(*number)].first_token_s = now_s;
        running_.enter(*number);
        gaps_.enter(now_s);
    }
}

// Begins so many iterations that decode; with none of them only prompts end.
void SimulatedServer::plan(std::int64_t iterations, double begin_s) {
    iterations_ = {begin_s, iterations, {}};
    end_s_ = begin_s;
    if (iterations == 0) return;
    const auto place = static_cast<std::size_t>(running_.count());
    if (place >= decode_costs_.size()) decode_costs_.resize(place + 1);
    if (!decode_costs_[place]) decode_costs_[place] = pool_.costs.decode(static_cast<double>(place));
    iterations_.cost = *decode_costs_[place];
    const auto count = static_cast<double>(iterations);
    const double growth_s = iterations_.cost.context_s * static_cast<double>(place);
    end_s_ += count * iterations_.cost.seconds(running_.contexts()) + growth_s * count * (count - 1) / 2;
}

void SimulatedServer::begin(double now_s) {
    if (end_s_ < never) return;
    processed_.clear();
    if (task_ == Task::decoding) {
        enter_admitted(now_s);
    } else {
        const bool decoding = pool_.limits.schedule == PromptSchedule::mixed && running_.count() > 0;
        if (const auto prompts_s = prompts_seconds()) {
            plan(decoding ? 1 : 0, now_s + *prompts_s);
            return;
        }
    }
    if (running_.count() == 0) return;
    const std::int64_t to_an_end = running_.iterations_to_an_end();
    const std::int64_t wait = waits();
    plan(wait > 0 && has_room(queue_[admitted_]) ? std::min(wait, to_an_end) : to_an_end, now_s);
}

void SimulatedServer::end() {
    now_s_ = end_s_;
    end_s_ = never;
    iteration_ += std::max<std::int64_t>(1, iterations_.decoding);
    if (iterations_.decoding > 0) {
        const auto count = static_cast<double>(iterations_.decoding);
        const double first_s = iterations_.cost.seconds(running_.contexts());
        const double growth_s = iterations_.cost.context_s * static_cast<double>(running_.count());
        gaps_.decode(count, iterations_.begin_s + first_s, first_s + growth_s, first_s + growth_s * (count - 1),
                     now_s_);
        running_.decode(iterations_.decoding);
        iterations_.decoding = 0;
    }
    for (const std::int64_t number : processed_) {
        run_.requests[static_cast<std::size_t>(number)].first_token_s = now_s_;
        if (task_ == Task::prompts) {
            leave(number);
        } else {
            running_.enter(number);
            gaps_.enter(now_s_);
        }
    }
}

std::optional<std::int64_t> SimulatedServer::take_decoded() {
    const auto number = running_.take_ended();
    if (!number) return std::nullopt;
    gaps_.leave();
    RequestTimes& times = run_.requests[static_cast<std::size_t>(*number)];
    times.end_s = now_s_;
    run_.decoded_s += now_s_ - times.first_token_s;
    leave(*number);
    return number;
}

}  // namespace roofline::core
