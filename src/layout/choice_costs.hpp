// The costs of layouts as vectors of numbers: each choice has one, and they add up over a program.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "layout/known_permutes.hpp"
#include "layout/sharding.hpp"
#include "network/system.hpp"

namespace roofline::core {

/// The figures by which layouts are compared, in this order. Times that differ by less than one part in a billion are
/// equal.
struct LayoutPrice {
    double lower_s = 0;
    double upper_s = 0;
    double collectives = 0;
    double bytes = 0;

    LayoutPrice& operator+=(const LayoutPrice& other);
    std::weak_ordering operator<=>(const LayoutPrice& other) const {
        if (const auto first = rounded(lower_s) <=> rounded(other.lower_s); first != 0) return first;
        if (const auto second = rounded(upper_s) <=> rounded(other.upper_s); second != 0) return second;
        if (const auto third = rounded(collectives) <=> rounded(other.collectives); third != 0) return third;
        return rounded(bytes) <=> rounded(other.bytes);
    }
    bool operator==(const LayoutPrice& other) const { return (*this <=> other) == 0; }

private:
    // Sums of the same times in another order differ in their last bits, so the last 22 of 52 bits are rounded away.
    static std::uint64_t rounded(double value) {
        constexpr int dropped = 22;
        return (std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << (dropped - 1))) >> dropped;
    }
};

/// The properties of a collective that determine its cost per byte.
struct Route {
    CollectiveKind kind = CollectiveKind::all_gather;
    AxisMask axes = 0;
    std::int64_t from = Sharding::everywhere;  ///< the root, of a collective that has one
    std::int64_t to = Sharding::everywhere;
    AxisList before{};  ///< of a permute: the axes in their order before it; `after`: in their order after it
    AxisList after{};
    std::int64_t hops = 0;  ///< as in Message, along `before`

    /// True when the cost depends on more than the kind and the set of axes.
    [[nodiscard]] bool special() const { return has_root(kind) || !before.empty(); }
    bool operator==(const Route&) const = default;
    [[nodiscard]] std::uint64_t hash() const;
};

/// Returns the route as a message without bytes.
[[nodiscard]] Message message_of(const Route& route, AxisList axes, const System& system);

/// Cost vectors of layouts. A cost is a row of `width()` numbers:
/// - the seconds of each resource (on a torus one number per cut, see TierLoad), which add up; so do the seconds out of
///   and into each chip that is the root of a transfer;
/// - the longest latency, per tier or per transfer over separate links, of collectives that follow one another on one
///   array;
/// - the same for collectives on operands that an earlier operation has left in their best sharding, and for
///   collectives on a result, because the latency of such an operand adds to that of the result;
/// - the sequential seconds, the number of collectives, and the bytes of their arrays, which add up too.
/// The lower bound of a program is the maximum of the first two groups.
class ChoiceCosts {
public:
    /// `roots`: the chips that transfers start from and go to.
    explicit ChoiceCosts(const System& system, std::vector<std::int64_t> roots = {});

    /// Loads of permutes are looked up there first. `permutes` must outlive the object.
    void share(KnownPermutes* permutes) { permutes_ = permutes; }

    [[nodiscard]] const System& system() const { return *system_; }
    /// Returns the index of a compute or memory resource. All resources must be registered before the first cost is
    /// made.
    std::size_t slot(std::string_view resource);
    [[nodiscard]] std::size_t width() const { return sums() + 3 * latencies_ + 3; }

    /// to += count * more, but of two latencies the longer one is kept.
    void add(std::span<double> to, std::span<const double> more, double count) const;
    /// Adds seconds of a resource.
    void add_time(std::span<double> to, std::size_t slot, double seconds) const;
    /// Adds a collective; the members of its group together hold `bytes`.
    void add_collective(std::span<double> to, const Route& route, double bytes) const;
    /// Adds a collective that follows the ones in `to` on the same array: their latencies add up.
    void add_next(std::span<double> to, const Route& route, double bytes) const;
    /// Records that the latencies in `leg` belong to an operand that an operation has left in its best sharding, or to
    /// the result.
    void note_operand(std::span<double> to, std::span<const double> leg) const;
    void note_result(std::span<double> to, std::span<const double> leg) const;
    /// Call this after adding an operation. `own`: its result is still needed in its best sharding; `others`: so are
    /// results of other operations.
    void keep_results(std::span<double> to, std::span<const double> added, double count, bool own, bool others) const;
    /// Subtracts `count` collectives that were added before. The longest latencies stay.
    void take_back(std::span<double> from, const Route& route, double bytes, double count) const;

    [[nodiscard]] LayoutPrice price(std::span<const double> cost) const;
    /// True when no number of `a` is greater than the corresponding number of `b`.
    [[nodiscard]] bool no_worse(std::span<const double> a, std::span<const double> b) const;

    /// The price of a single collective. `loaded` must have succeeded for it.
    [[nodiscard]] LayoutPrice price(const Route& route, double bytes) const { return price(loads(route), bytes); }
    /// The same where its loads may be unknown. Errors: those of loaded().
    [[nodiscard]] Result<LayoutPrice> loaded_price(const Route& route, double bytes);
    /// Computes the loads of a collective unless they are known. Errors: a topology that has no cost model.
    [[nodiscard]] Status loaded(const Route& route);

private:
    struct TierCost {
        std::vector<std::pair<std::size_t, double>> seconds_per_byte;  ///< by slot
        double link = 0;                                               ///< the greatest of them
        std::size_t latency_slot = 0;
        double latency_s = 0;
        bool separate_links = false;  ///< a transfer over separate links
    };
    struct Loads {
        std::vector<TierCost> tiers;
        std::optional<Error> error;
    };

    static constexpr std::size_t kinds = 5;  ///< kinds without a root
    struct Hash {
        std::size_t operator()(const Route& route) const { return route.hash(); }
    };
    [[nodiscard]] const Loads& loads(const Route& route) const {
        return route.special() ? special_.at(route) : *loads_[static_cast<std::size_t>(route.kind) * 256 + route.axes];
    }
    /// Computes the loads unless they are known.
    [[nodiscard]] const Loads& loads_of(const Route& route);
    [[nodiscard]] Loads found(const Route& route);
    [[nodiscard]] Result<CollectiveLoad> load_of_route(const Route& route);
    [[nodiscard]] LayoutPrice price(const Loads& loads, double bytes) const;
    [[nodiscard]] TierCost cost_of(const TierLoad& load, const Route& route, double rate) const;
    [[nodiscard]] std::size_t sums() const { return network_slots_ + resources_.size(); }

    KnownPermutes* permutes_ = nullptr;
    const System* system_;
    std::vector<std::size_t> first_slot_;  ///< of the cuts of each tier
    std::vector<std::int64_t> roots_;
    /// Index of the first root slot: out of the first root, into it, out of the second ...
    std::size_t root_slots_ = 0;
    std::size_t network_slots_ = 0;
    std::size_t latencies_ = 0;
    std::vector<std::string> resources_;  ///< they follow the slots of the network
    std::vector<std::unique_ptr<Loads>> loads_;
    std::unordered_map<Route, Loads, Hash> special_;
};

}  // namespace roofline::core
