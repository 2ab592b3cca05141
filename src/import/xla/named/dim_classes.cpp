#include "import/xla/named/dim_classes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace roofline::core {

class DimClasses::Walk {
public:
    Walk(DimClasses& classes, std::span<const Id> dims) : classes_(classes), left_(dims.rbegin(), dims.rend()) {}

    /// Returns the next part without taking it; nothing at the end.
    [[nodiscard]] std::optional<Id> peek() {
        while (!left_.empty()) {
            const Id id = classes_.find(left_.back());
            const std::vector<Id>& parts = classes_.classes_[id].parts;
            if (parts.empty()) return id;
            left_.pop_back();
            left_.insert(left_.end(), parts.rbegin(), parts.rend());
        }
        return std::nullopt;
    }
    void take() { left_.pop_back(); }

private:
    DimClasses& classes_;
    std::vector<Id> left_;  ///< the next one last
};

DimClasses::Id DimClasses::add(std::int64_t size, std::uint32_t owner) {
    const auto id = static_cast<Id>(classes_.size());
    classes_.push_back({id, size, false, {}, {owner}});
    return id;
}

DimClasses::Id DimClasses::find(Id id) {
    while (classes_[id].joined != id) id = classes_[id].joined = classes_[classes_[id].joined].joined;
    return id;
}

void DimClasses::keep_whole(Id id) {
    Class& at = classes_[find(id)];
    at.whole = at.parts.empty();
}

bool DimClasses::may_join(Id one, Id other) const {
    const auto& few = classes_[one].owners.size() < classes_[other].owners.size() ? classes_[one] : classes_[other];
    const auto& many = &few == &classes_[one] ? classes_[other] : classes_[one];
    return std::none_of(few.owners.begin(), few.owners.end(),
                        [&](std::uint32_t owner) { return many.owners.contains(owner); });
}

void DimClasses::join(Id one, Id other) {
    if (classes_[one].owners.size() < classes_[other].owners.size()) std::swap(one, other);
    classes_[other].joined = one;
    classes_[one].owners.merge(classes_[other].owners);
    classes_[other].owners.clear();
    classes_[one].whole = classes_[one].whole || classes_[other].whole;
}

void DimClasses::split(Id id, std::int64_t outer) {
    const auto first = static_cast<Id>(classes_.size());
    classes_.push_back({first, outer, false, {}, classes_[id].owners});
    classes_.push_back({first + 1, classes_[id].size / outer, false, {}, std::move(classes_[id].owners)});
    classes_[id].owners.clear();
    classes_[id].parts = {first, first + 1};
}

bool DimClasses::tie(std::span<const Id> one, std::span<const Id> other) {
    Walk left(*this, one);
    Walk right(*this, other);
    bool all = true;
    // After dimensions that could not be tied, both sides go on where they have passed as many elements again.
    double ahead = 1;  // elements passed on the left over those passed on the right
    while (true) {
        const auto a = left.peek();
        const auto b = right.peek();
        if (!a || !b) return all && !a && !b;
        const std::int64_t of_a = classes_[*a].size;
        const std::int64_t of_b = classes_[*b].size;
        if (ahead != 1) {
            const bool behind = ahead < 1;
            ahead = behind ? ahead * static_cast<double>(of_a) : ahead / static_cast<double>(of_b);
            (behind ? left : right).take();
            continue;
        }
        if (*a != *b && !may_join(*a, *b)) {
            all = false;
        } else if (*a != *b && of_a != of_b) {
            const bool larger = of_a > of_b;
            const Id whole = larger ? *a : *b;
            const std::int64_t outer = std::min(of_a, of_b);
            if (!classes_[whole].whole && classes_[whole].size % outer == 0) {
                split(whole, outer);
                continue;
            }
            all = false;
        } else if (*a != *b) {
            join(*a, *b);
        }
        ahead = static_cast<double>(of_a) / static_cast<double>(of_b);
        left.take();
        right.take();
    }
}

std::vector<DimClasses::Id> DimClasses::parts(std::span<const Id> dims) {
    std::vector<Id> all;
    Walk walk(*this, dims);
    for (auto next = walk.peek(); next; next = walk.peek()) {
        all.push_back(*next);
        walk.take();
    }
    return all;
}

}  // namespace roofline::core
