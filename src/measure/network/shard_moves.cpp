#include "measure/network/shard_moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "measure/network/sum.hpp"

namespace roofline::core {

namespace {

// Parts that follow one another in the array of a box need no packing.
bool in_order(const std::vector<Box>& parts, const Box& box) {
    std::vector<std::int64_t> next = box.start;
    std::size_t split = 0;  // the dimension that divides the parts: the first one that a part does not span
    for (const Box& part : parts) {
        for (std::size_t d = 0; d < part.size.size(); ++d) {
            if (part.size[d] == box.size[d]) continue;
            split = d;
            // every dimension before it must have one place, and every dimension after it must be whole
            for (std::size_t outer = 0; outer < d; ++outer) {
                if (box.size[outer] != 1) return false;
            }
            for (std::size_t inner = d + 1; inner < part.size.size(); ++inner) {
                if (part.size[inner] != box.size[inner]) return false;
            }
            break;
        }
        if (part.start != next) return false;
        if (!next.empty()) next[split] += part.size[split];
    }
    return true;
}

}  // namespace

Result<ShardMove> ShardMove::make(MeshRanks& ranks, What what) {
    ShardMove move(ranks, std::move(what));
    ROOFLINE_CHECK(move.prepare());
    return move;
}

Status ShardMove::prepare() {
    const int bits = info(what_.dtype).bits;
    if (bits % 8 != 0) {
        return fail("unsupported",
                    fmt::format("elements of {} are smaller than a byte and cannot be exchanged", name(what_.dtype)));
    }
    element_ = static_cast<std::size_t>(bits) / 8;
    for (const Sharding* sharding : {&what_.from.lies, &what_.to.lies}) {
        for (std::size_t d = 0; d < what_.sizes.size(); ++d) {
            const std::int64_t parts = chips_across(ranks_->system(), sharding->dims[d]);
            if (what_.sizes[d] % parts == 0) continue;
            return fail("uneven",
                        fmt::format("a dimension of size {} is not divisible into {} shards", what_.sizes[d], parts),
                        "ranks hold equal shards: choose divisible sizes");
        }
    }
    before_ = box_of(what_.from, what_.sizes, ranks_->system(), ranks_->chip());
    after_ = box_of(what_.to, what_.sizes, ranks_->system(), ranks_->chip());
    if (!what_.move) {
        keeps_ = keeps_numbers();
        return {};
    }
    exchange_.kind = what_.move->kind;
    exchange_.dtype = what_.dtype;
    exchange_.reduction = what_.reduction;
    exchange_.part = bytes_before();
    if (info(exchange_.kind).sums() && !can_sum(what_.dtype)) {
        return fail("unsupported", fmt::format("partial sums in {} cannot be added up here", name(what_.dtype)),
                    "sum in f32, bf16, f16, f64 or int32");
    }
    if (has_root(exchange_.kind)) return prepare_rooted();
    const AxisMask axes = what_.move->axes.mask();
    ROOFLINE_TRY(group_, ranks_->along(axes));
    if (what_.move->hops > 0) {
        const HeldShard& with_halo = what_.move->back ? what_.from : what_.to;
        halo_.emplace(*ranks_, *group_, with_halo, what_.sizes, what_.dtype, what_.move->back);
    } else {
        prepare_parts(ranks_->members(axes));
    }
    return {};
}

// When replicated data becomes partial sums, only the first member keeps the numbers and the others hold zeros.
bool ShardMove::keeps_numbers() const {
    const Sharding& from = what_.from.lies;
    const auto opened = static_cast<AxisMask>(what_.to.lies.unreduced & ~from.used());
    for (std::size_t axis = 0; axis < ranks_->system().mesh.size() && !from.at_chip(); ++axis) {
        if ((unsigned{opened} >> axis & 1U) != 0 && coordinate(ranks_->system(), ranks_->chip(), axis) != 0)
            return false;
    }
    return true;
}

// Determines what each member of the group sends to each other: the intersection of its shard before with the other's
// shard after.
void ShardMove::prepare_parts(const std::vector<std::int64_t>& members) {
    const System& system = ranks_->system();
    const auto held_by = [&](const HeldShard& held, std::int64_t chip) {
        return box_of(held, what_.sizes, system, chip);
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
        const Box from = held_by(what_.from, members[i]);
        const Box to = held_by(what_.to, members[i]);
        switch (exchange_.kind) {
            case CollectiveKind::all_gather:
                out_parts_.push_back(from);
                break;
            case CollectiveKind::reduce_scatter:
                in_parts_.push_back(to);
                exchange_.part = bytes_after();
                break;
            case CollectiveKind::all_to_all:
                in_parts_.push_back(common(before_, to));
                out_parts_.push_back(common(from, after_));
                exchange_.part = in_parts_.back().elements() * element_;
                break;
            case CollectiveKind::permute:
                if (to == before_) exchange_.to = static_cast<int>(i);
                if (from == after_) exchange_.from = static_cast<int>(i);
                break;
            default:
                break;
        }
    }
    if (in_order(in_parts_, before_)) in_parts_.clear();
    if (in_order(out_parts_, after_)) out_parts_.clear();
    packed_in_.resize(in_parts_.empty() ? 0 : input_bytes(exchange_.kind, exchange_.part, group_->size()));
    packed_out_.resize(out_parts_.empty() ? 0 : output_bytes(exchange_.kind, exchange_.part, group_->size()));
}

// Prepares steps from or to one chip. A gather collects from the chips of its group along the axes that split the
// array.
Status ShardMove::prepare_rooted() {
    const System& system = ranks_->system();
    const std::int64_t chip = ranks_->chip();
    const std::int64_t root = exchange_.kind == CollectiveKind::gather ? what_.to.lies.at : what_.from.lies.at;
    if (exchange_.kind == CollectiveKind::gather) {
        const AxisMask axes = what_.move->axes.mask();
        bool with_root = true;
        for (std::size_t axis = 0; axis < system.mesh.size(); ++axis) {
            with_root = with_root &&
                        ((axes >> axis & 1U) != 0 || coordinate(system, chip, axis) == coordinate(system, root, axis));
        }
        ROOFLINE_TRY(auto group, ranks_->world().split(with_root ? 1 : 0, ranks_->world().rank()));
        if (!with_root) return {};
        own_group_ = std::move(group);
        group_ = own_group_.get();
        const std::vector<std::int64_t> members = ranks_->members(axes);
        exchange_.root = static_cast<int>(std::find(members.begin(), members.end(), root) - members.begin());
        for (const std::int64_t member : members) {
            if (chip == root) out_parts_.push_back(box_of(what_.from, what_.sizes, system, member));
        }
        if (in_order(out_parts_, after_)) out_parts_.clear();
        packed_out_.resize(out_parts_.empty() ? 0 : exchange_.part * members.size());
        return {};
    }
    group_ = &ranks_->world();
    exchange_.root = static_cast<int>(root);
    exchange_.part = bytes_after();
    if (exchange_.kind == CollectiveKind::send) {
        exchange_.part = std::max(bytes_before(), bytes_after());
        if (chip == what_.from.lies.at) exchange_.to = static_cast<int>(what_.to.lies.at);
        if (chip == what_.to.lies.at) exchange_.from = static_cast<int>(what_.from.lies.at);
    }
    if (exchange_.kind == CollectiveKind::scatter && chip == root) {
        for (std::int64_t other = 0; other < group_->size(); ++other) {
            in_parts_.push_back(box_of(what_.to, what_.sizes, system, other));
        }
        packed_in_.resize(exchange_.part * in_parts_.size());
    }
    return {};
}

void ShardMove::pack(const std::byte* in) {
    for (std::size_t i = 0; i < in_parts_.size(); ++i) {
        copy_part(packed_in_.data() + i * exchange_.part, in_parts_[i], in, before_, in_parts_[i], element_);
    }
}

void ShardMove::unpack(std::byte* out) const {
    for (std::size_t i = 0; i < out_parts_.size(); ++i) {
        copy_part(out, after_, packed_out_.data() + i * exchange_.part, out_parts_[i], out_parts_[i], element_);
    }
}

Exchange ShardMove::exchange_of(const std::byte* in, std::byte* out) {
    Exchange once = exchange_;
    once.in = packed_in_.empty() ? in : packed_in_.data();
    once.out = packed_out_.empty() ? out : packed_out_.data();
    return once;
}

Status ShardMove::run(const std::byte* in, std::byte* out) {
    if (!what_.move) {
        const bool any = keeps_ && before_.elements() > 0;
        const Box both = any ? common(before_, after_) : Box{};
        if (both != after_ || !any) std::memset(out, 0, bytes_after());
        if (any) copy_part(out, after_, in, before_, both, element_);
        return {};
    }
    if (group_ == nullptr) return {};
    if (halo_) return halo_->run(in, out);
    pack(in);
    ROOFLINE_CHECK(exchange(*group_, exchange_of(in, out)));
    unpack(out);
    return {};
}

Status ShardMove::start(const std::byte* in, std::byte* out) {
    in_ = in;
    out_ = out;
    if (!what_.move || group_ == nullptr) return {};
    if (halo_) return halo_->start(in, out);
    const std::size_t most = std::max(input_bytes(exchange_.kind, exchange_.part, group_->size()),
                                      output_bytes(exchange_.kind, exchange_.part, group_->size()));
    if (most > group_->max_bytes()) return {};  // too large for one call: done in pieces, one after the other
    pack(in);
    ROOFLINE_TRY(pending_, group_->start(exchange_of(in, out)));
    return {};
}

Result<bool> ShardMove::done() {
    if (halo_) return halo_->done();
    return pending_ ? pending_->done() : false;
}

Status ShardMove::finish() {
    if (halo_) return halo_->finish();
    if (!pending_) return run(in_, out_);
    auto status = pending_->wait();
    pending_.reset();
    if (status) unpack(out_);
    return status;
}

}  // namespace roofline::core
