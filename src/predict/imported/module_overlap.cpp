#include "predict/imported/module_overlap.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

namespace roofline::core {

namespace {

/// What asynchronous work runs on.
enum class Engine : std::uint8_t { links, host_copies };
constexpr std::size_t engines = 2;

/// Work that was started and that nothing waited for yet.
struct StartedWork {
    std::size_t kernel = 0;
    Engine engine = Engine::links;
    ValueId until = 0;  ///< values from here on are made after the wait for it
    double begin = 0;
    double end = 0;
};

bool has_messages(const Block& block) {
    return std::any_of(block.nodes.begin(), block.nodes.end(), [](const Node& node) {
        if (const auto* inner = std::get_if<Block>(&node)) return has_messages(*inner);
        return !std::get<Statement>(node).messages.empty();
    });
}

class OverlapClock {
public:
    OverlapClock(const Program& program, const std::vector<ImportedAsync>& started, const ProgramWork& work,
                 const std::vector<double>& seconds)
        : program_(program), started_(started), work_(work), seconds_(seconds), exposed_(seconds.size(), 0) {}

    std::vector<double> run() {
        sequence(program_.body);
        std::vector<double> hidden(seconds_.size(), 0);
        for (std::size_t k = 0; k < hidden.size(); ++k) {
            if (asynchronous_.size() > k && asynchronous_[k]) hidden[k] = std::max(seconds_[k] - exposed_[k], 0.0);
        }
        return hidden;
    }

private:
    /// The times of one execution of a block, from its begin on.
    struct Times {
        double kernels = 0;
        std::array<double, engines> busy{};
        std::vector<StartedWork> flying;
    };

    // Returns the time of one execution.
    double sequence(const Block& block) {
        Times now;
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node); inner != nullptr && inner->kind != Block::Kind::fuse) {
                repeat(*inner, now);
            } else {
                kernel(node, now);
            }
        }
        wait(now, std::numeric_limits<ValueId>::max());
        return now.kernels;
    }

    void repeat(const Block& block, Times& now) {
        const bool communicates = has_messages(block);
        wait(now, communicates ? std::numeric_limits<ValueId>::max() : block.values_before);
        const auto size = program_.sizes.find(block.count);
        const double times = size == program_.sizes.end() ? 1 : static_cast<double>(size->second);
        now.kernels += times * sequence(block);
    }

    void kernel(const Node& node, Times& now) {
        const KernelWork* const work = next_ < work_.kernels.size() ? &work_.kernels[next_] : nullptr;
        if (work == nullptr || !holds(node, *work->statements.front())) return;  // a block without statements
        const std::size_t k = next_++;
        const auto times = work->count.evaluate(program_.sizes);
        const double runs = times ? times->to_double() : 0;
        const double one = runs > 0 ? seconds_[k] / runs : 0;
        const ValueId made = work->statements.back()->result;
        wait(now, made);
        const ImportedAsync* const start = start_of(made);
        const std::optional<Engine> engine = engine_of(*work);
        if (start == nullptr || !engine) {
            if (engine == Engine::links) expose(now, Engine::links, now.busy[index(Engine::links)]);
            now.kernels += one;
            if (engine == Engine::links) now.busy[index(Engine::links)] = now.kernels;
            return;
        }
        double& busy = now.busy[index(*engine)];
        const double begin = std::max(now.kernels, busy);
        busy = begin + one;
        now.flying.push_back({k, *engine, start->until, begin, busy});
        asynchronous_.resize(seconds_.size(), false);
        asynchronous_[k] = true;
    }

    // Waits for what is done before the value is made.
    void wait(Times& now, ValueId made) {
        for (std::size_t i = 0; i < now.flying.size();) {
            if (now.flying[i].until > made) {
                ++i;
                continue;
            }
            expose(now, now.flying[i].engine, now.flying[i].end);
            now.flying.erase(now.flying.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    // No kernel runs until then. What runs meanwhile on the engine is exposed.
    void expose(Times& now, Engine engine, double until) {
        if (until <= now.kernels) return;
        for (const StartedWork& each : now.flying) {
            const double both = std::min(each.end, until) - std::max(each.begin, now.kernels);
            if (each.engine != engine || !(both > 0)) continue;
            const auto times = work_.kernels[each.kernel].count.evaluate(program_.sizes);
            exposed_[each.kernel] += both * (times ? times->to_double() : 0);
        }
        now.kernels = until;
    }

    static std::size_t index(Engine engine) { return static_cast<std::size_t>(engine); }

    static bool holds(const Node& node, const Statement& statement) {
        if (const auto* one = std::get_if<Statement>(&node)) return one == &statement;
        const auto& nodes = std::get<Block>(node).nodes;
        return !nodes.empty() && holds(nodes.front(), statement);
    }

    static std::optional<Engine> engine_of(const KernelWork& work) {
        if (!work.work.messages.empty()) return Engine::links;
        if (work.work.memory.contains("pcie") && work.work.compute.empty()) return Engine::host_copies;
        return std::nullopt;
    }

    [[nodiscard]] const ImportedAsync* start_of(ValueId made) const {
        const auto after = std::upper_bound(started_.begin(), started_.end(), made,
                                            [](ValueId id, const ImportedAsync& each) { return id < each.first; });
        if (after == started_.begin()) return nullptr;
        const ImportedAsync& start = *std::prev(after);
        return made < start.last ? &start : nullptr;
    }

    const Program& program_;
    const std::vector<ImportedAsync>& started_;
    const ProgramWork& work_;
    const std::vector<double>& seconds_;
    std::vector<double> exposed_;  ///< by kernel, of all its executions
    std::vector<bool> asynchronous_;
    std::size_t next_ = 0;
};

}  // namespace

std::vector<double> hidden_seconds(const Program& program, const std::vector<ImportedAsync>& started,
                                   const ProgramWork& work, const std::vector<double>& seconds) {
    if (started.empty()) return std::vector<double>(seconds.size(), 0);
    return OverlapClock(program, started, work, seconds).run();
}

}  // namespace roofline::core
