#include "report/op/op_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/op/op_plot.hpp"
#include "report/plot/timeline.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

class Recording {
public:
    explicit Recording(const Prediction& answer) : answer_(answer), total_(answer.analysis.total) {}

    Timeline run() {
        heading();
        for (const Resource& resource : total_.pricing.resources) line_.lanes.push_back(resource.label);
        const auto& kernels = answer_.analysis.kernels;
        for (std::size_t i = 0; i < answer_.analysis.work.kernels.size(); ++i) {
            step(kernels.empty() ? total_ : kernels[i], answer_.analysis.work.kernels[i]);
            for (const Statement* statement : answer_.analysis.work.kernels[i].statements) step_of_[statement] = i;
        }
        block(answer_.local->body, 0);
        return std::move(line_);
    }

private:
    void heading() {
        line_.title = plot_title(answer_);
        const std::int64_t chips = answer_.system.slice.chips();
        const std::string sizes = sizes_text(answer_, {});
        line_.subtitle = fmt::format(
            "{}, {}{}{}", answer_.machine.name,
            chips == 1 ? "1 chip" : fmt::format("one of {} = {} chips", answer_.system.slice.shape_text(), chips),
            sizes.empty() ? "" : "; ", sizes);
        line_.total_s = total_.sequential;
        line_.overlap_s = total_.bounds.lower;
    }

    void step(const Analysis& kernel, const KernelWork& work) {
        const auto runs = count(answer_.program, work.count);
        const double once = runs && !runs->is_zero() ? 1 / runs->to_double() : 1;
        TimelineStep step;
        step.name = value_name(answer_.program, work.statements.back()->result);
        step.label = kernel.title;
        step.seconds = kernel.bounds.lower * once;
        for (std::size_t i = 0; kernel.seconds && i < kernel.pricing.resources.size(); ++i) {
            const Resource& resource = kernel.pricing.resources[i];
            // The minimum where the work depends on routing, as in the sequential time of the step.
            const double seconds = kernel.least_seconds[i] * once;
            bars(step, resource, seconds, work, kernel.bounds.bound_by == i);
        }
        line_.steps.push_back(std::move(step));
    }

    // Draws collectives of one tier one after another if the tier's time is their sum, otherwise as one bar.
    void bars(TimelineStep& step, const Resource& resource, double seconds, const KernelWork& work,
              bool decides) const {
        const auto lane = std::find_if(total_.pricing.resources.begin(), total_.pricing.resources.end(),
                                       [&](const Resource& other) { return other.id == resource.id; });
        if (lane == total_.pricing.resources.end() || seconds <= 0) return;
        const auto index = static_cast<std::size_t>(lane - total_.pricing.resources.begin());
        std::vector<TimelineBar> parts;
        double sum = 0;
        for (const MessageWork& each : work.work.messages) {
            const double sure = each.message.sure.to_double();
            const double own = message_seconds(each.message, resource, sure);
            if (own <= 0) continue;
            const std::string text = spoken(each.message) + (sure < 1 ? ", a copy of each token" : "");
            std::string time = to_text(Seconds{own});
            if (const double all = message_seconds(each.message, resource, 1); all > own) {
                time += fmt::format(" of {} for all copies", to_text(Seconds{all}));
            }
            parts.push_back({index, sum, own, text, decides, {fmt::format("{}, {}", text, time)}});
            sum += own;
        }
        if (!parts.empty() && sum <= seconds * (1 + 1e-9)) {
            step.bars.insert(step.bars.end(), parts.begin(), parts.end());
            return;
        }
        TimelineBar together{index, 0, seconds, "", decides, {}};
        if (!parts.empty()) together.label = fmt::format("{} collectives, partly overlapped", parts.size());
        for (TimelineBar& part : parts) together.parts.push_back(std::move(part.parts.front()));
        step.bars.push_back(std::move(together));
    }

    // Returns the time of one collective on a tier that carries `share` of its bytes: the longer of transfer and
    // latency.
    [[nodiscard]] double message_seconds(const Message& message, const Resource& resource, double share) const {
        const auto bytes = count(answer_.program, message.bytes);
        const auto load = load_of(message, answer_.system);
        if (!bytes || !load || resource.terms.empty()) return 0;
        for (const TierLoad& tier : load->tiers) {
            const auto rate = rate_of(tier, answer_.system);
            if (!rate || name_of(tier, answer_.system).id != resource.id) continue;
            return std::max(share * bytes->to_double() * tier.link_bytes.to_double() / rate->value, tier.latency_s);
        }
        return 0;
    }

    static std::string spoken(const Message& message) {
        return fmt::format("{} {}{}", collective_name(message.kind, true), message.tensor, route_text(message));
    }

    void block(const Block& block, std::size_t depth) {
        for (const Node& node : block.nodes) {
            const auto* inner = std::get_if<Block>(&node);
            if (inner == nullptr) continue;
            const bool repeat = inner->kind == Block::Kind::repeat;
            if (repeat) add_repeat(*inner, depth);
            this->block(*inner, depth + (repeat ? 1 : 0));
        }
    }

    void add_repeat(const Block& block, std::size_t depth) {
        std::size_t begin = line_.steps.size();
        std::size_t end = 0;
        reach(block, begin, end);
        if (begin >= end) return;
        const std::string dim = dim_text(answer_.program, block.count);
        const auto size = answer_.program.sizes.find(block.count);
        const bool named = !block.count.starts_with('#') && size != answer_.program.sizes.end();
        line_.repeats.push_back({begin, end, depth, named ? fmt::format("{} = {}", dim, size->second) : dim});
    }

    // Computes the range of timeline steps that the statements of a block produce.
    void reach(const Block& block, std::size_t& begin, std::size_t& end) const {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                reach(*inner, begin, end);
                continue;
            }
            const auto step = step_of_.find(&std::get<Statement>(node));
            if (step == step_of_.end()) continue;
            begin = std::min(begin, step->second);
            end = std::max(end, step->second + 1);
        }
    }

    const Prediction& answer_;
    const Analysis& total_;
    Timeline line_;
    std::map<const Statement*, std::size_t> step_of_;
};

}  // namespace

std::string op_timeline(const Prediction& answer, std::optional<PipelineTotals> step) {
    Timeline line = Recording(answer).run();
    if (step) {
        line.bubble_s = std::max(0.0, step->lower - line.overlap_s);
        line.total_s = step->in_turn;
        line.overlap_s = step->lower;
    }
    return to_svg(line);
}

}  // namespace roofline::core
