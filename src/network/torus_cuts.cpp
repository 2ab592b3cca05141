#include "network/torus_cuts.hpp"

#include <algorithm>
#include <set>

namespace roofline::core {

std::vector<Lane> joined(std::vector<Lane> lanes) {
    std::sort(lanes.begin(), lanes.end(),
              [](const Lane& a, const Lane& b) { return a.axis != b.axis ? a.axis < b.axis : a.stride < b.stride; });
    std::vector<Lane> result;
    for (const Lane& lane : lanes) {
        if (!result.empty() && result.back().axis == lane.axis &&
            result.back().stride * result.back().size == lane.stride) {
            result.back().size *= lane.size;
            result.back().wrapped = lane.wrapped;
        } else {
            result.push_back(lane);
        }
    }
    return result;
}

/// The positions of one axis that are members of the same group, as far as this axis determines it.
class TorusCuts::Groups {
public:
    Groups(const Axis& axis, const std::vector<Lane>& lanes) : axis_(axis) {
        for (const Lane& lane : lanes) members_ *= lane.size;
        if (members_ == 1 || members_ == axis.size) return;
        for (std::int64_t place = 0; place < axis.size; ++place) {
            std::int64_t first = place;
            for (const Lane& lane : lanes) first -= place / lane.stride % lane.size * lane.stride;
            first_.push_back(first);
        }
    }

    [[nodiscard]] std::int64_t count() const { return axis_.size / members_; }
    [[nodiscard]] std::int64_t members() const { return members_; }
    [[nodiscard]] bool ring() const { return axis_.ring; }

    /// Counts over groups: how many have a member in a run of positions, how many have all, and the squares of their
    /// members there.
    struct Inside {
        std::int64_t some = 0;
        std::int64_t all = 0;
        std::int64_t squares = 0;
    };
    [[nodiscard]] Inside inside(const Run& run) const {
        const std::int64_t r = run.places;
        if (members_ == 1) return {r, r, r};
        if (r == axis_.size) return {count(), count(), r * members_};
        if (first_.empty()) return {1, 0, r * r};
        std::vector<std::int64_t> here(first_.size(), 0);
        for (std::int64_t i = 0; i < r; ++i) ++here[index_of(run.first + i)];
        Inside result;
        for (const std::int64_t a : here) {
            if (a > 0) ++result.some;
            if (a == members_) ++result.all;
            result.squares += a * a;
        }
        return result;
    }

    /// Returns the positions of the members of each group, where only some links count (all if none are given).
    [[nodiscard]] std::vector<std::vector<std::int64_t>> places(const std::vector<bool>& counted = {}) const {
        std::vector<std::vector<std::int64_t>> all(members_ == 1 ? 0 : static_cast<std::size_t>(axis_.size));
        std::int64_t at = 0;
        for (std::int64_t place = 0; place < axis_.size; ++place) {
            if (place > 0 && (counted.empty() || counted[static_cast<std::size_t>(place)])) ++at;
            if (members_ > 1) all[first_.empty() ? 0 : index_of(place)].push_back(at);
        }
        std::erase_if(all, [](const auto& group) { return group.empty(); });
        return all;
    }

private:
    [[nodiscard]] std::size_t index_of(std::int64_t place) const {
        return static_cast<std::size_t>(first_[static_cast<std::size_t>(place)]);
    }

    Axis axis_;
    std::int64_t members_ = 1;
    /// By position: the first of its group; empty if each position or the whole axis is a group.
    std::vector<std::int64_t> first_;
};

TorusCuts::TorusCuts(const SliceTier& tier, std::size_t index, const std::vector<const PlacedAxis*>& mesh) {
    for (std::size_t i = 0; i < tier.shape.size(); ++i) {
        axes_.push_back({tier.shape[i], tier.wrapped[i] && tier.shape[i] > 2});  // two neighbours have one link
    }
    for (const Axis& axis : axes_) {
        if (axis.size > max_axis_places) return;
    }
    choose(mesh, index);
    for (const Choice& choice : choices_) add_cuts(choice);
}

std::int64_t TorusCuts::chips() const {
    std::int64_t n = 1;
    for (const Axis& axis : axes_) n *= axis.size;
    return n;
}

TorusCuts::Part TorusCuts::part_of(const Lane& lane) const {
    const Axis& axis = axes_[lane.axis];
    return {lane.stride, lane.size, axis.ring && lane.stride * lane.size == axis.size};
}

void TorusCuts::add_choice(const Choice& choice) {
    if (std::find(choices_.begin(), choices_.end(), choice) == choices_.end()) choices_.push_back(choice);
}

// Takes the lanes of every set of mesh axes, and each lane by itself. With many axes, only pairs and all of them.
void TorusCuts::choose(const std::vector<const PlacedAxis*>& mesh, std::size_t index) {
    constexpr std::size_t few = 5;
    std::vector<std::vector<Lane>> here;
    for (const PlacedAxis* axis : mesh) {
        std::vector<Lane> lanes;
        for (const Lane& lane : axis->lanes) {
            if (lane.tier == index && lane.size > 1) lanes.push_back(lane);
        }
        if (!lanes.empty()) here.push_back(std::move(lanes));
    }
    const std::size_t all = (std::size_t{1} << here.size()) - 1;
    for (std::size_t set = 1; set <= all; ++set) {
        std::vector<Lane> lanes;
        std::size_t count = 0;
        for (std::size_t i = 0; i < here.size(); ++i) {
            if ((set >> i & 1U) == 0) continue;
            ++count;
            lanes.insert(lanes.end(), here[i].begin(), here[i].end());
        }
        if (here.size() > few && count > 2 && set != all) continue;
        std::vector<Choice> made = {Choice(axes_.size())};
        for (const Lane& lane : joined(std::move(lanes))) {
            const Part part = part_of(lane);
            Choice alone(axes_.size());
            alone[lane.axis] = part;
            add_choice(alone);
            // If an axis has two parts of the set, each of them is taken in turn.
            const std::size_t before = made.size();
            for (std::size_t i = 0; i < before; ++i) {
                if (made[i][lane.axis]) made.push_back(made[i]);
                made[i][lane.axis] = part;
            }
        }
        for (const Choice& choice : made) add_choice(choice);
    }
}

// A number of cells at the end of a part: on an open axis those before its end, on a longer one those on both sides of
// the position where the part ends and begins again, on a ring any.
TorusCuts::Run TorusCuts::run(std::size_t axis, const Part& part, std::int64_t cells) const {
    const std::int64_t places = cells * part.stride;
    const std::int64_t end = part.stride * part.size;
    if (part.ring) return {0, places, 2};
    if (end == axes_[axis].size) return {end - places, places, 1};
    return {end - places, 2 * places, 2};
}

// A ring, or a pair, looks the same from every chip; there the bytes into one chip are at most the bytes over all
// links.
void TorusCuts::add_cuts(const Choice& choice) {
    std::size_t chosen = 0;
    std::size_t last = 0;
    bool alike = true;
    for (std::size_t i = 0; i < choice.size(); ++i) {
        if (!choice[i]) continue;
        ++chosen;
        last = i;
        alike = alike && (choice[i]->ring || choice[i]->size == 2);
    }
    if (chosen == 1 && !axes_[last].ring) {
        add_paths_up(last, *choice[last]);
        return;
    }
    if (alike || chosen > 1) add_all_links(choice);
    if (alike) return;
    if (chosen == 1 && axes_[last].size <= max_ring_places) {
        add_paths_round(last, *choice[last]);
        return;
    }
    std::vector<Run> corner;
    for (std::size_t i = 0; i < choice.size(); ++i) corner.push_back(choice[i] ? run(i, *choice[i], 1) : whole(i));
    add_box(Kind::into, corner);
    add_box(Kind::out_of, corner);
    if (chosen > 1 || choice[last]->size == 3) return;
    const std::int64_t n = choice[last]->size;
    std::vector<Run> half = corner;
    half[last] = run(last, *choice[last], n / 2);
    add_box(Kind::into, half);
    if (n % 2 != 0) add_box(Kind::out_of, half);
}

// On an open axis there is one path up, and the link at each position is a cut; by symmetry the load down at a position
// is the load up at the mirrored one. The busiest links are at the ends and in the middle of a part, and, because other
// parts share the links with its copies, in the copies about the middle of the axis.
void TorusCuts::add_paths_up(std::size_t axis, const Part& part) {
    const std::int64_t length = part.stride * part.size;
    const std::int64_t copies = axes_[axis].size / length;
    std::set<std::int64_t> places;
    for (const std::int64_t copy : {(copies - 1) / 2, copies / 2}) {
        for (const std::int64_t cells : {std::int64_t{1}, part.size / 2, part.size - part.size / 2, part.size - 1}) {
            places.insert(copy * length + cells * part.stride);
        }
    }
    for (const std::int64_t place : places) {
        std::vector<Run> box;
        for (std::size_t i = 0; i < axes_.size(); ++i) box.push_back(whole(i));
        box[axis] = {place, axes_[axis].size - place, 1};
        add_box(Kind::into, std::move(box));
    }
}

// On a ring a part that does not close has ends at which its bytes go one way. Bytes that pass them in the other
// direction, to members of other parts, do not load the same links. The cuts are the links up to the last cell of each
// copy together with those down to the first, those up from the first together with those down from the last, and those
// in the middle.
void TorusCuts::add_paths_round(std::size_t axis, const Part& part) {
    const std::int64_t length = part.stride * part.size;
    for (const std::int64_t cells : {part.size - 1, std::int64_t{1}, part.size / 2, part.size - part.size / 2}) {
        Cut cut;
        cut.kind = Kind::paths_round;
        for (std::size_t i = 0; i < axes_.size(); ++i) cut.box.push_back(whole(i));
        const std::int64_t half = std::max(cells, part.size - cells) * part.stride;
        cut.box[axis] = {half, 2 * (length - half), 2};
        cut.inwards = cells * part.stride == half;
        cut.counted.resize(axes_.size());
        std::vector<bool> up;
        std::vector<bool> down;
        for (std::int64_t place = 0; place < axes_[axis].size; ++place) {
            up.push_back(place % length == cells * part.stride);
            down.push_back((length - place % length) % length == cells * part.stride);
        }
        cut.round.emplace(up, down);
        cut.links = Rational(cut.round->links() * (chips() / axes_[axis].size));
        cut.copies = axes_[axis].size / length;
        const bool known = std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& other) {
            return other.kind == cut.kind && other.box == cut.box && other.inwards == cut.inwards;
        });
        if (!known) cuts_.push_back(std::move(cut));
    }
}

void TorusCuts::add_box(Kind kind, std::vector<Run> box) {
    const bool known =
        std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) { return cut.kind == kind && cut.box == box; });
    if (known) return;
    Cut cut;
    cut.kind = kind;
    cut.box = std::move(box);
    for (std::size_t i = 0; i < cut.box.size(); ++i) {
        Rational lines(cut.box[i].links);
        for (std::size_t j = 0; j < cut.box.size(); ++j) {
            if (j != i) lines *= Rational(cut.box[j].places);
        }
        cut.links += lines;
    }
    cuts_.push_back(std::move(cut));
}

// Of a part only the links between its cells count, because it does not need those where one copy of it ends and the
// next begins.
void TorusCuts::add_all_links(const Choice& choice) {
    Cut cut;
    for (std::size_t i = 0; i < choice.size(); ++i) {
        cut.counted.emplace_back();
        if (!choice[i]) continue;
        std::int64_t count = 0;
        for (std::int64_t place = 0; place < axes_[i].size; ++place) {
            const bool between = place % choice[i]->stride == 0 &&
                                 (choice[i]->ring || place % (choice[i]->stride * choice[i]->size) != 0);
            cut.counted.back().push_back(between);
            if (between) ++count;
        }
        cut.links += Rational(2 * count) * Rational(chips() / axes_[i].size);
    }
    cuts_.push_back(std::move(cut));
}

Rational TorusCuts::crossing(CollectiveKind kind, const Cut& cut, const std::vector<Groups>& groups,
                             std::int64_t members) {
    Rational some(1);
    Rational all(1);
    Rational places(1);
    Rational squares(1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const Groups::Inside inside = groups[i].inside(cut.box[i]);
        some *= Rational(inside.some);
        all *= Rational(inside.all);
        squares *= Rational(inside.squares);
        places *= Rational(cut.box[i].places);
    }
    const Rational n(members);
    if (kind == CollectiveKind::all_to_all) return places / n - squares / n / n;
    if (kind == CollectiveKind::all_reduce) return some - all;
    const bool gathers = (kind == CollectiveKind::all_gather) == (cut.kind == Kind::into);
    return gathers ? some - places / n : places / n - all;
}

namespace {

// The counted links between neighbours of a group, on a ring also between the last and the first.
std::vector<std::int64_t> gaps_of(const std::vector<std::int64_t>& places, std::int64_t around) {
    std::vector<std::int64_t> gaps;
    for (std::size_t i = 1; i < places.size(); ++i) gaps.push_back(places[i] - places[i - 1]);
    if (around > 0) gaps.push_back(around - places.back() + places.front());
    return gaps;
}

// The sum over all ordered pairs of positions, on a ring by the shorter way round.
Rational distances(const std::vector<std::int64_t>& places, std::int64_t around) {
    Rational sum(0);
    const std::size_t n = places.size();
    if (around == 0) {
        for (std::size_t i = 1; i < n; ++i) {
            const auto before = static_cast<std::int64_t>(i);
            sum +=
                Rational(2 * (places[i] - places[i - 1])) * Rational(before * (static_cast<std::int64_t>(n) - before));
        }
        return sum;
    }
    // From each position to those up to half way round, upwards; the way back is equally long, and exactly half way
    // counts once.
    std::size_t end = 0;
    Rational ahead(0);  // of the positions from here to `end`: distances from position 0
    const auto at = [&](std::size_t i) { return places[i % n] + (i >= n ? around : 0); };
    for (std::size_t i = 0; i < n; ++i) {
        if (end <= i) {
            end = i;
            ahead = Rational(0);
        }
        while (end + 1 < i + n && 2 * (at(end + 1) - at(i)) <= around) ahead += Rational(at(++end));
        const auto count = static_cast<std::int64_t>(end - i);
        const bool opposite = count > 0 && 2 * (at(end) - at(i)) == around;
        sum += Rational(2) * (ahead - Rational(count) * Rational(at(i)));
        if (opposite) {
            // Positions at the same distance in the other direction are counted from there.
            for (std::size_t k = end; k > i && 2 * (at(k) - at(i)) == around; --k) sum = sum - Rational(at(k) - at(i));
        }
        if (end > i) ahead = ahead - Rational(at(i + 1));
    }
    return sum;
}

}  // namespace

// A tree that connects the members has, for each d, hops of d links or more between all clusters of members that are
// nearer to each other than that; the number of clusters of a group is the product of those along each axis.
Rational TorusCuts::in_all(CollectiveKind kind, const Cut& cut, const std::vector<Groups>& groups,
                           std::int64_t members) {
    std::vector<std::vector<std::int64_t>> wide(groups.size());  // by axis: gaps between members, of all groups
    std::set<std::int64_t> widths;
    Rational ways(0);
    Rational count(1);
    for (const Groups& each : groups) count *= Rational(each.count());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (cut.counted[i].empty() || groups[i].members() == 1) continue;
        const bool ring = groups[i].ring();
        const std::int64_t around = ring ? std::count(cut.counted[i].begin(), cut.counted[i].end(), true) : 0;
        Rational own(0);
        for (const std::vector<std::int64_t>& places : groups[i].places(cut.counted[i])) {
            if (kind == CollectiveKind::all_to_all) own += distances(places, around);
            std::vector<std::int64_t> gaps = gaps_of(places, around);
            // On a ring the widest gap need not be bridged.
            if (ring) gaps.erase(std::max_element(gaps.begin(), gaps.end()));
            wide[i].insert(wide[i].end(), gaps.begin(), gaps.end());
        }
        widths.insert(wide[i].begin(), wide[i].end());
        const Rational others(members / groups[i].members());
        ways += own * (count / Rational(groups[i].count())) * others * others;
    }
    if (kind == CollectiveKind::all_to_all) return ways / Rational(members) / Rational(members);
    Rational hops(0);
    std::int64_t below = 0;
    for (const std::int64_t width : widths) {
        Rational bunches(1);
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const auto apart =
                std::count_if(wide[i].begin(), wide[i].end(), [&](std::int64_t gap) { return gap >= width; });
            bunches *= Rational(groups[i].count() + apart);
        }
        hops += Rational(width - below) * (bunches - count);
        below = width;
    }
    return kind == CollectiveKind::all_reduce ? Rational(2) * hops : hops;
}

// For an all-reduce, the bytes that must go into the boxes at the ends of all copies, or out of them.
Rational TorusCuts::round_ring(CollectiveKind kind, const Cut& cut, const std::vector<Groups>& groups,
                               std::int64_t members) {
    if (kind == CollectiveKind::all_reduce) return Rational(cut.copies) * crossing(kind, cut, groups, members);
    const auto narrow = std::find_if(cut.box.begin(), cut.box.end(), [](const Run& run) { return run.links > 0; });
    const auto axis = static_cast<std::size_t>(narrow - cut.box.begin());
    if (groups[axis].members() == 1) return Rational(0);
    Rational others(1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i != axis) others *= Rational(groups[i].count());
    }
    std::int64_t sum = 0;
    for (const std::vector<std::int64_t>& places : groups[axis].places()) {
        sum += kind == CollectiveKind::all_gather       ? cut.round->gathered(places)
               : kind == CollectiveKind::reduce_scatter ? cut.round->scattered(places)
                                                        : cut.round->exchanged(places);
    }
    // Each position of a group holds the same number of its members, and 1/n of V for each.
    const Rational own(groups[axis].members());
    return others * Rational(sum) / (kind == CollectiveKind::all_to_all ? own * own : own);
}

std::vector<Rational> TorusCuts::loads(CollectiveKind kind, const std::vector<Lane>& lanes) const {
    std::vector<Groups> groups;
    std::int64_t members = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        std::vector<Lane> along;
        for (const Lane& lane : lanes) {
            if (lane.axis == i) along.push_back(lane);
        }
        groups.emplace_back(axes_[i], along);
        members *= groups.back().members();
    }
    std::vector<Rational> loads;
    for (const Cut& cut : cuts_) {
        const Rational bytes = cut.kind == Kind::all_links     ? in_all(kind, cut, groups, members)
                               : cut.kind == Kind::paths_round ? round_ring(kind, cut, groups, members)
                                                               : crossing(kind, cut, groups, members);
        loads.push_back(bytes / cut.links);
    }
    return loads;
}

}  // namespace roofline::core
