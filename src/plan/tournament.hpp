// The least of many values that change one at a time.
#pragma once

#include <cstddef>
#include <vector>

namespace roofline::core {

/// A tournament among the values of n players, at least one: changing a value takes time log n.
template <typename T>
class Tournament {
public:
    Tournament(std::size_t players, T value) : values_(players, value) {
        while (places_ < players) places_ *= 2;
        winners_.resize(2 * places_);
        for (std::size_t i = 0; i < places_; ++i) winners_[places_ + i] = i;
        for (std::size_t i = places_ - 1; i > 0; --i) play(i);
    }

    void set(std::size_t player, T value) {
        values_[player] = value;
        for (std::size_t i = (places_ + player) / 2; i > 0; i /= 2) play(i);
    }

    /// Returns the player with the least value, of equal ones the first.
    [[nodiscard]] std::size_t least() const { return winners_[1]; }
    [[nodiscard]] const T& least_value() const { return values_[least()]; }

private:
    // The places beyond the last player lose against everybody.
    void play(std::size_t game) {
        const std::size_t left = winners_[2 * game];
        const std::size_t right = winners_[2 * game + 1];
        winners_[game] = right < values_.size() && values_[right] < values_[left] ? right : left;
    }

    std::vector<T> values_;
    std::size_t places_ = 1;
    std::vector<std::size_t> winners_;  ///< of game i, which is between the winners of games 2 i and 2 i + 1
};

}  // namespace roofline::core
