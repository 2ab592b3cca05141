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

// A dimension without a size counts as this many when ways are compared.
constexpr std::int64_t assumed_size = 1'000'000;

constexpr std::size_t most_states = 20'000;

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

    // Trailing axes of one or several dimensions are gathered together.
    void gathers() {
        std::vector<std::size_t> drop(here_.dims.size(), 0);
        while (true) {
            std::size_t d = 0;
            while (d < drop.size() && drop[d] == here_.dims[d].size()) drop[d++] = 0;
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
    Search(const System& system, const Program& program, std::string tensor, Dtype dtype,
           const std::vector<std::string>& dims)
        : system_(system), program_(program), tensor_(std::move(tensor)), dims_(dims), sizes_(program.sizes) {
        const BitsPerElement bits = stored_bits(dtype);
        element_ = Polynomial(Rational(bits.numerator, bits.denominator * std::int64_t{8}));
        for (const std::string& dim : dims) sizes_.try_emplace(dim, assumed_size);
    }

    Result<Resharding> run(const Sharding& from, const Sharding& to) {
        std::map<Sharding, Resharding> reached{{from, {}}};
        std::set<std::pair<MovePrice, Sharding>> open{{MovePrice{}, from}};
        while (!open.empty()) {
            const Sharding here = open.begin()->second;
            open.erase(open.begin());
            const Resharding way = reached[here];
            if (here == to) return way;
            for (const Step& step : Moves(here, to).all()) {
                Resharding next = way;
                if (step.kind) {
                    Message message = this->message(step, here);
                    auto price = this->price(message);
                    if (!price) return fail(price.error());
                    next.price += *price;
                    next.messages.push_back(std::move(message));
                }
                const auto known = reached.find(step.to);
                if (known != reached.end() && !(next.price < known->second.price)) continue;
                if (known != reached.end()) open.erase({known->second.price, step.to});
                open.emplace(next.price, step.to);
                reached[step.to] = std::move(next);
            }
            if (reached.size() > most_states) {
                return fail("too_many_ways",
                            fmt::format("there are more than {} ways to move `{}` over the mesh", most_states, tensor_),
                            "use fewer mesh axes in one statement, or go by a step in between");
            }
        }
        return fail("no_way", fmt::format("no collective leads from {} to {}", text(from), text(to)));
    }

private:
    [[nodiscard]] std::string text(const Sharding& sharding) const {
        TensorType type;
        for (std::size_t i = 0; i < dims_.size(); ++i) type.axes.push_back({dims_[i], sharding.dims[i]});
        type.unreduced = sharding.unreduced;
        const std::string whole = type_text(program_, type);
        return whole.substr(whole.find('['));
    }

    [[nodiscard]] Polynomial local_bytes(const Sharding& state) const {
        return element_ * elements(local_dims(system_, dims_, state));
    }

    // What nccl-tests call the size: the gathered array; what each member holds before a sum; all that a group redistributes.
    [[nodiscard]] Message message(const Step& step, const Sharding& before) const {
        Polynomial bytes = local_bytes(step.gathered ? step.to : before);
        if (*step.kind == CollectiveKind::all_to_all || *step.kind == CollectiveKind::permute) {
            bytes *= Polynomial(ways(system_, step.axes));
        }
        return {*step.kind, step.axes, tensor_, std::move(bytes)};
    }

    [[nodiscard]] Result<MovePrice> price(const Message& message) const {
        Work work;
        work.messages.push_back({message, Polynomial(1)});
        Pricing pricing;
        if (auto status = price_network(pricing, work, system_); !status) return fail(status.error());
        const CompiledTimes times(pricing, {}, sizes_);
        std::vector<double> seconds(times.places());
        const Bounds bounds = times.evaluate({}, seconds);
        const auto bytes = message.bytes.evaluate(sizes_);
        return MovePrice{bounds.lower, bounds.upper, 1, bytes ? bytes->to_double() : 0};
    }

    const System& system_;
    const Program& program_;
    std::string tensor_;
    const std::vector<std::string>& dims_;
    Sizes sizes_;
    Polynomial element_;
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

Result<Resharding> reshard(const System& system, const Program& program, const std::string& tensor, Dtype dtype,
                           const std::vector<std::string>& dims, const Sharding& from, const Sharding& to) {
    for (const std::string& axis : to.unreduced) {
        if (std::find(from.unreduced.begin(), from.unreduced.end(), axis) == from.unreduced.end()) {
            return fail("illegal_resharding",
                        fmt::format("`{}` is whole, and cannot become a partial sum over {}", tensor, axis),
                        "leave {U_...} out of the result");
        }
    }
    return Search(system, program, tensor, dtype, dims).run(from, to);
}

}  // namespace roofline
