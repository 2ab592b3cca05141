#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "bound/network_pricing.hpp"
#include "bound/times.hpp"
#include "layout/sharding.hpp"

namespace roofline {

namespace {

using Axes = std::vector<std::string>;

struct Step {
    Sharding to;
    std::optional<CollectiveKind> kind;  ///< none: a slice, which moves nothing
    Axes axes;
    bool gathered = false;  ///< the group's array is what each member holds afterwards, else before
};

/// Moves from one sharding. Only axes that the target has at that place are ever appended: any other place is a detour.
class Moves {
public:
    Moves(const Sharding& here, const Sharding& target) : here_(here), target_(target) {}

    std::vector<Step> all() {
        for (const Axes& dim : here_.dims) used_.insert(dim.begin(), dim.end());
        used_.insert(here_.unreduced.begin(), here_.unreduced.end());
        slices();
        gathers();
        sums();
        exchanges();
        permutes();
        return std::move(steps_);
    }

private:
    // The axes that would bring dimension `d` further towards the target: the longest run, and each shorter one.
    [[nodiscard]] std::vector<Axes> wanted(std::size_t d) const {
        const Axes& have = here_.dims[d];
        const Axes& goal = target_.dims[d];
        std::vector<Axes> runs;
        if (have.size() >= goal.size() || !std::equal(have.begin(), have.end(), goal.begin())) return runs;
        for (std::size_t count = 1; have.size() + count <= goal.size(); ++count) {
            runs.emplace_back(goal.begin() + static_cast<std::ptrdiff_t>(have.size()),
                              goal.begin() + static_cast<std::ptrdiff_t>(have.size() + count));
        }
        return runs;
    }

    void slices() {
        for (std::size_t d = 0; d < here_.dims.size(); ++d) {
            for (const Axes& run : wanted(d)) {
                if (std::any_of(run.begin(), run.end(), [&](const std::string& axis) { return used_.contains(axis); }))
                    break;
                Step step{here_, std::nullopt, run};
                append(step.to.dims[d], run);
                steps_.push_back(std::move(step));
            }
        }
    }

    // Trailing axes of one or several dimensions are gathered together. What the target has at the same place stays: gathering
    // it too would only make every other step larger.
    void gathers() {
        std::vector<std::size_t> drop(here_.dims.size(), 0);
        while (true) {
            std::size_t d = 0;
            while (d < drop.size() && drop[d] == most_dropped(d)) drop[d++] = 0;
            if (d == drop.size()) return;
            ++drop[d];
            Step step{here_, CollectiveKind::all_gather, {}, true};
            for (std::size_t i = 0; i < drop.size(); ++i) {
                Axes& axes = step.to.dims[i];
                step.axes.insert(step.axes.end(), axes.end() - static_cast<std::ptrdiff_t>(drop[i]), axes.end());
                axes.resize(axes.size() - drop[i]);
            }
            steps_.push_back(std::move(step));
        }
    }

    // Axes of a dimension that may be gathered: those beyond what it has in common with the target.
    [[nodiscard]] std::size_t most_dropped(std::size_t d) const {
        const Axes& have = here_.dims[d];
        const Axes& goal = target_.dims[d];
        const auto differ = std::mismatch(have.begin(), have.end(), goal.begin(), goal.end()).first;
        return static_cast<std::size_t>(have.end() - differ);
    }

    void sums() {
        Axes open;  // partial sums that must be completed
        for (const std::string& axis : here_.unreduced) {
            if (!holds(target_.unreduced, axis)) open.push_back(axis);
        }
        for (std::size_t set = 1; set < (std::size_t{1} << open.size()); ++set) {
            Step step{here_, CollectiveKind::all_reduce, {}};
            for (std::size_t i = 0; i < open.size(); ++i) {
                if ((set >> i & 1U) != 0) step.axes.push_back(open[i]);
            }
            std::erase_if(step.to.unreduced, [&](const std::string& axis) { return holds(step.axes, axis); });
            steps_.push_back(std::move(step));
        }
        for (std::size_t d = 0; d < here_.dims.size(); ++d) {
            for (const Axes& run : wanted(d)) {
                if (!std::all_of(run.begin(), run.end(), [&](const std::string& axis) { return holds(open, axis); }))
                    break;
                Step step{here_, CollectiveKind::reduce_scatter, run};
                std::erase_if(step.to.unreduced, [&](const std::string& axis) { return holds(run, axis); });
                append(step.to.dims[d], run);
                steps_.push_back(std::move(step));
            }
        }
    }

    // The trailing axes of one dimension go to the end of another.
    void exchanges() {
        for (std::size_t d = 0; d < here_.dims.size(); ++d) {
            for (const Axes& run : wanted(d)) {
                for (std::size_t other = 0; other < here_.dims.size(); ++other) {
                    const Axes& axes = here_.dims[other];
                    if (other == d || axes.size() < run.size() || !std::equal(run.rbegin(), run.rend(), axes.rbegin()))
                        continue;
                    Step step{here_, CollectiveKind::all_to_all, run};
                    step.to.dims[other].resize(axes.size() - run.size());
                    append(step.to.dims[d], run);
                    steps_.push_back(std::move(step));
                }
            }
        }
    }

    // A dimension's axes change their order: chips swap what they hold.
    void permutes() {
        for (std::size_t d = 0; d < here_.dims.size(); ++d) {
            Axes order = here_.dims[d];
            std::sort(order.begin(), order.end());
            if (order.size() < 2 || order.size() > 4) continue;
            do {
                if (order == here_.dims[d]) continue;
                Step step{here_, CollectiveKind::permute, here_.dims[d]};
                step.to.dims[d] = order;
                steps_.push_back(std::move(step));
            } while (std::next_permutation(order.begin(), order.end()));
        }
    }

    static bool holds(const Axes& axes, const std::string& axis) {
        return std::find(axes.begin(), axes.end(), axis) != axes.end();
    }
    static void append(Axes& axes, const Axes& more) { axes.insert(axes.end(), more.begin(), more.end()); }

    const Sharding& here_;
    const Sharding& target_;
    std::set<std::string> used_;
    std::vector<Step> steps_;
};

class Search {
public:
    Search(MoveCosts& costs, const Program& program, const Moved& moved)
        : costs_(costs), system_(costs.system()), program_(program), moved_(moved) {
        const BitsPerElement bits = stored_bits(moved.dtype);
        element_ = Rational(bits.numerator, bits.denominator * std::int64_t{8});
        const Sizes sizes = comparable_sizes(program, moved.dims);
        for (const std::string& dim : moved.dims) sizes_.push_back(sizes.at(dim));
    }

    Result<Resharding> run(const Sharding& from, const Sharding& to) {
        struct Reached {
            MovePrice price;
            Sharding before;
            Step step;
        };
        std::map<Sharding, Reached> reached;
        reached[from];
        std::set<std::pair<MovePrice, Sharding>> open{{MovePrice{}, from}};
        while (!open.empty()) {
            const auto [price, here] = *open.begin();
            open.erase(open.begin());
            if (here == to) {
                Resharding way{{}, price};
                for (const Reached* last = &reached[to]; last->price.collectives > 0 || last->step.axes.size() > 0;
                     last = &reached[last->before]) {
                    if (last->step.kind) way.messages.push_back(message(last->step, last->before));
                }
                std::reverse(way.messages.begin(), way.messages.end());
                return way;
            }
            for (Step& step : Moves(here, to).all()) {
                MovePrice next = price;
                if (step.kind) {
                    auto own = this->price(step, here);
                    if (!own) return fail(own.error());
                    next += *own;
                }
                const auto known = reached.find(step.to);
                if (known != reached.end() && !(next < known->second.price)) continue;
                if (known != reached.end()) open.erase({known->second.price, step.to});
                open.emplace(next, step.to);
                Sharding there = step.to;
                reached[std::move(there)] = {next, here, std::move(step)};
                if (!costs_.spend()) {
                    return fail("too_many_ways",
                                fmt::format("there are too many ways to move `{}` over the mesh", moved_.tensor),
                                "use fewer mesh axes in one statement, or go by a step in between");
                }
            }
        }
        return fail("no_way", fmt::format("no collective leads from {} to {}", text(from), text(to)));
    }

private:
    [[nodiscard]] std::string text(const Sharding& sharding) const {
        TensorType type;
        for (std::size_t i = 0; i < moved_.dims.size(); ++i) type.axes.push_back({moved_.dims[i], sharding.dims[i]});
        type.unreduced = sharding.unreduced;
        const std::string whole = type_text(program_, type);
        return whole.substr(whole.find('['));
    }

    // V of a step is what nccl-tests call the size: the gathered array; what each member holds before a sum; all that a group
    // redistributes. This is the sharding whose local part it is, and how many of those.
    struct Held {
        const Sharding& sharding;
        std::int64_t times;
    };
    [[nodiscard]] Held held(const Step& step, const Sharding& before) const {
        const bool exchange = *step.kind == CollectiveKind::all_to_all || *step.kind == CollectiveKind::permute;
        return {step.gathered ? step.to : before, exchange ? ways(system_, step.axes) : 1};
    }

    [[nodiscard]] Message message(const Step& step, const Sharding& before) const {
        const Held held = this->held(step, before);
        Polynomial bytes =
            Polynomial(element_ * Rational(held.times)) * elements(local_dims(system_, moved_.dims, held.sharding));
        return {*step.kind, step.axes, moved_.tensor, std::move(bytes)};
    }

    // The same in numbers: thousands of steps are looked at for each that is taken.
    [[nodiscard]] Result<MovePrice> price(const Step& step, const Sharding& before) {
        const Held held = this->held(step, before);
        double bytes = element_.to_double() * static_cast<double>(held.times);
        for (std::size_t i = 0; i < sizes_.size(); ++i) {
            const std::int64_t parts = ways(system_, held.sharding.dims[i]);
            bytes *= static_cast<double>((sizes_[i] - 1) / parts + 1);
        }
        auto load = costs_.load(*step.kind, step.axes);
        if (!load) return fail(load.error());
        const auto time = time_of(**load, system_, bytes);
        return MovePrice{time ? time->lower_s : 0, time ? time->upper_s : 0, 1, bytes};
    }

    MoveCosts& costs_;
    const System& system_;
    const Program& program_;
    const Moved& moved_;
    Rational element_;
    std::vector<std::int64_t> sizes_;
};

}  // namespace

std::partial_ordering MovePrice::operator<=>(const MovePrice& other) const {
    // Sums of the same times in another order differ in their last bits.
    const auto rounded = [](double value) {
        int exponent = 0;
        const double mantissa = std::frexp(value, &exponent);
        return std::ldexp(std::round(std::ldexp(mantissa, 30)), exponent - 30);
    };
    const auto key = [&](const MovePrice& price) {
        return std::tuple(rounded(price.lower_s), rounded(price.upper_s), price.collectives, rounded(price.bytes));
    };
    return key(*this) <=> key(other);
}

MovePrice& MovePrice::operator+=(const MovePrice& other) {
    lower_s += other.lower_s;
    upper_s += other.upper_s;
    collectives += other.collectives;
    bytes += other.bytes;
    return *this;
}

Sharding sharding_of(const TensorType& type) {
    Sharding sharding;
    for (const Axis& axis : type.axes) sharding.dims.push_back(axis.mesh);
    sharding.unreduced = type.unreduced;
    return sharding;
}

std::int64_t ways(const System& system, const std::vector<std::string>& axes) {
    std::int64_t count = 1;
    for (const std::string& name : axes) {
        const PlacedAxis* axis = system.axis(name);
        if (axis != nullptr) count *= axis->size;
    }
    return count;
}

std::vector<std::string> local_dims(const System& system, const std::vector<std::string>& dims,
                                    const Sharding& sharding) {
    std::vector<std::string> local;
    for (std::size_t i = 0; i < dims.size(); ++i) local.push_back(local_dim(dims[i], ways(system, sharding.dims[i])));
    return local;
}

Result<const CollectiveLoad*> MoveCosts::load(CollectiveKind kind, const std::vector<std::string>& axes) {
    const auto key = std::pair(kind, axes);
    auto known = loads_.find(key);
    if (known == loads_.end()) {
        auto load = load_of(Message{kind, axes, {}, {}}, system_);
        if (!load) return fail(load.error());
        known = loads_.emplace(key, std::move(*load)).first;
    }
    return &known->second;
}

Result<Resharding> reshard(MoveCosts& costs, const Program& program, const Moved& moved, const Sharding& from,
                           const Sharding& to) {
    for (const std::string& axis : to.unreduced) {
        if (std::find(from.unreduced.begin(), from.unreduced.end(), axis) == from.unreduced.end()) {
            return fail("illegal_resharding",
                        fmt::format("`{}` is whole, and cannot become a partial sum over {}", moved.tensor, axis),
                        "leave {U_...} out of the result");
        }
    }
    return Search(costs, program, moved).run(from, to);
}

}  // namespace roofline
