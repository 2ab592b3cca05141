// Gathers the results of all ranks and checks them.
#include <algorithm>
#include <cstring>

#include "measure/network/all_ranks.hpp"
#include "measure/network/sharded_run.hpp"
#include "measure/network/sum.hpp"
#include "measure/run/elements.hpp"

namespace roofline::core {

// Fills places outside the band of a window, which no rank holds, with the value that a mask leaves there.
void ShardedRun::fill_masked(std::vector<char>& bytes, ValueId value, Dtype dtype) const {
    const auto& masks = program_.values[value].masks;
    const bool band = std::any_of(masks.begin(), masks.end(), [](const auto& plane) { return !plane.window.empty(); });
    const double fill = causal_fill(program_, value);
    if (!band || fill == 0) return;
    const std::size_t element = element_bytes(dtype);
    for (std::size_t at = 0; at < bytes.size(); at += element) store_elements(dtype, &fill, bytes.data() + at, 1, 1);
}

// Returns the whole array on the first rank: shards are put in their places; of replicas the first counts, and partial
// sums are added.
Result<std::vector<char>> ShardedRun::gathered(ValueId value, const Place& place) {
    const RunArray& shape = plan_.arrays[*plan_.array_of[value]];
    const std::size_t element = element_bytes(shape.dtype);
    const Sharding& lies = place.held.lies;
    const auto held = [&](std::int64_t chip) { return box_of(place.held, shape.sizes, system_, chip); };
    Communicator& world = ranks_.world();
    Exchange gather;
    gather.kind = CollectiveKind::gather;
    for (std::int64_t chip = 0; chip < world.size(); ++chip) {
        gather.part = std::max(gather.part, held(chip).elements() * element);
    }
    std::vector<std::byte> mine(gather.part);
    std::memcpy(mine.data(), place.memory, held(ranks_.chip()).elements() * element);
    std::vector<std::byte> all(world.rank() == 0 ? gather.part * static_cast<std::size_t>(world.size()) : 0);
    gather.in = mine.data();
    gather.out = all.data();
    ROOFLINE_CHECK(exchange(world, gather));
    std::vector<char> whole(world.rank() == 0 ? static_cast<std::size_t>(shape.bytes()) : 0);
    if (world.rank() != 0) return whole;
    fill_masked(whole, value, shape.dtype);
    const Box everything{std::vector<std::int64_t>(shape.sizes.size(), 0), shape.sizes};
    auto* to = reinterpret_cast<std::byte*>(whole.data());
    std::vector<std::byte> part(whole.size());
    const AxisMask used = lies.used();
    for (std::int64_t chip = 0; chip < world.size(); ++chip) {
        bool first = true;
        for (std::size_t axis = 0; axis < system_.mesh.size() && !lies.at_chip(); ++axis) {
            first = first && ((used >> axis & 1U) != 0 || coordinate(system_, chip, axis) == 0);
        }
        const Box box = held(chip);
        if (!first || box.elements() == 0) continue;
        const std::byte* from = all.data() + static_cast<std::size_t>(chip) * gather.part;
        if (lies.unreduced == 0) {
            copy_part(to, everything, from, box, box, element);
            continue;
        }
        std::fill(part.begin(), part.end(), std::byte{0});
        copy_part(part.data(), everything, from, box, box, element);
        add_into(to, part.data(), part.size(), shape.dtype);
    }
    return whole;
}

Result<CheckResult> ShardedRun::check(const CheckOptions& options) {
    // keyed by value and memory because a carried value is in different places before and after an iteration
    std::map<std::pair<ValueId, const void*>, std::vector<char>> whole;
    for (const auto& read : read_) {
        for (const auto& [id, place] : read) {
            const auto key = std::pair<ValueId, const void*>(id, place.memory);
            if (!plan_.array_of[id] || place.memory == nullptr || whole.contains(key)) continue;
            ROOFLINE_TRY(whole[key], gathered(id, place));
        }
    }
    CheckResult all;
    Status status;
    CheckOptions with_shares = options;
    with_shares.shares = shares_;
    if (ranks_.world().rank() == 0) {
        for (std::size_t number = 0; number < whole_statements_.size(); ++number) {
            const auto held = [&](ValueId id) -> HeldValue {
                const auto place = read_[number].find(id);
                if (place == read_[number].end()) return {};
                const auto array = whole.find({id, place->second.memory});
                if (array == whole.end() || array->second.empty()) return {};
                return {array->second.data(), plan_.arrays[*plan_.array_of[id]].dtype};
            };
            auto result = check_statement(whole_, *whole_statements_[number], held, with_shares);
            if (!result) {
                status = fail(result.error());
                break;
            }
            all.checked += result->checked;
            all.max_rel_error = std::max(all.max_rel_error, result->max_rel_error);
            if (result->of_bound > all.of_bound) {
                all.of_bound = result->of_bound;
                all.worst = result->worst;
            }
        }
    }
    ROOFLINE_CHECK(common_status(ranks_.world(), status));
    return all;
}

}  // namespace roofline::core
