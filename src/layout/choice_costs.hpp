// What layouts cost, in numbers: a vector for each choice, which adds up over a program.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "layout/sharding.hpp"
#include "network/system.hpp"

namespace roofline::core {

/// Prices are compared by these, in this order; times that differ by less than a part in a billion are the same.
struct LayoutPrice {
    double lower_s = 0;
    double upper_s = 0;
    double collectives = 0;
    double bytes = 0;

    LayoutPrice& operator+=(const LayoutPrice& other);
    std::weak_ordering operator<=>(const LayoutPrice& other) const;
    bool operator==(const LayoutPrice& other) const { return (*this <=> other) == 0; }
};

/// What of a collective decides what a byte of it costs.
struct Route {
    CollectiveKind kind = CollectiveKind::all_gather;
    AxisMask axes = 0;
    std::int64_t from = Sharding::everywhere;  ///< a chip, of what has a root
    std::int64_t to = Sharding::everywhere;
    AxisList before{};  ///< of a permute: the axes in their order, and in that which follows
    AxisList after{};
    std::int64_t hops = 0;  ///< as Message has it, along `before`

    /// Whether more than the kind and the set of axes decides.
    [[nodiscard]] bool special() const { return has_root(kind) || !before.empty(); }
    bool operator==(const Route&) const = default;
    auto operator<=>(const Route&) const = default;
};

/// The route as a message without bytes.
[[nodiscard]] Message message_of(const Route& route, AxisList axes, const System& system);

/// A cost is a row of `width()` numbers: the seconds of each resource (of a torus for each cut, see TierLoad), which
/// add up, and so do those out of and into each chip that transfers are known to go from and to; the longest latency on each tier,
/// or transfer over other wires, of collectives that follow one another on one array together; of these latencies those on operands
/// that an earlier operation has left wherever it was best, and those on the result, which such a one adds to; and the seconds of everything in turn, the collectives, and the bytes of their
/// arrays, which add up too. The lower bound of a program is the greatest of the first two kinds.
class ChoiceCosts {
public:
    /// `roots`: chips that transfers go from and to.
    explicit ChoiceCosts(const System& system, std::vector<std::int64_t> roots = {});

    [[nodiscard]] const System& system() const { return *system_; }
    /// The place of a resource of compute or memory. All of them are made known before the first cost is made.
    std::size_t slot(std::string_view resource);
    [[nodiscard]] std::size_t width() const { return sums() + 3 * latencies_ + 3; }

    /// to += count * more; latencies take the longer.
    void add(std::span<double> to, std::span<const double> more, double count) const;
    /// Adds seconds of a resource.
    void add_time(std::span<double> to, std::size_t slot, double seconds) const;
    /// Adds a collective whose group holds `bytes` together.
    void add_collective(std::span<double> to, const Route& route, double bytes) const;
    /// The same of one that waits for those in `to`, on the same array: their latencies add up.
    void add_next(std::span<double> to, const Route& route, double bytes) const;
    /// Notes that the latencies in `leg` are of an operand that an operation has left where it was best, or of the result.
    void note_operand(std::span<double> to, std::span<const double> leg) const;
    void note_result(std::span<double> to, std::span<const double> leg) const;
    /// After an operation was added: whether results wait that lie where it was best, and others than its own.
    void keep_results(std::span<double> to, std::span<const double> added, double count, bool own, bool others) const;
    /// Takes `count` of them away again, which had been added before: the longest latencies stay.
    void take_back(std::span<double> from, const Route& route, double bytes, double count) const;

    [[nodiscard]] LayoutPrice price(std::span<const double> cost) const;
    /// True when no number of `a` is greater than that of `b`.
    [[nodiscard]] bool no_worse(std::span<const double> a, std::span<const double> b) const;

    /// A collective by itself. `loaded` must have succeeded for it.
    [[nodiscard]] LayoutPrice price(const Route& route, double bytes) const;
    /// Finds the loads of a collective, once. Errors: a topology that is not costed.
    [[nodiscard]] Status loaded(const Route& route);

private:
    struct TierCost {
        std::vector<std::pair<std::size_t, double>> seconds_per_byte;  ///< by slot
        double link = 0;                                               ///< of them the greatest
        std::size_t latency_slot = 0;
        double latency_s = 0;
        bool apart = false;  ///< a transfer over wires of its own
    };
    struct Loads {
        std::vector<TierCost> tiers;
        std::optional<Error> error;
    };

    static constexpr std::size_t kinds = 5;  ///< without a root
    [[nodiscard]] const Loads& loads(const Route& route) const {
        return route.special() ? *special_.at(route) : *loads_[static_cast<std::size_t>(route.kind) * 256 + route.axes];
    }
    [[nodiscard]] Loads found(const Route& route) const;
    [[nodiscard]] TierCost cost_of(const TierLoad& load, const Route& route, double rate) const;
    [[nodiscard]] std::size_t sums() const { return network_slots_ + resources_.size(); }

    const System* system_;
    std::vector<std::size_t> first_slot_;  ///< of each tier's cuts
    std::vector<std::int64_t> roots_;
    std::size_t root_slots_ = 0;  ///< the first of them: out of the first root, into it, out of the second ...
    std::size_t network_slots_ = 0;
    std::size_t latencies_ = 0;
    std::vector<std::string> resources_;  ///< after the network's slots
    std::vector<std::unique_ptr<Loads>> loads_;
    std::map<Route, std::unique_ptr<Loads>> special_;
};

}  // namespace roofline::core
