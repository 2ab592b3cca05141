#include "measure/network/halo_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "measure/network/sum.hpp"

namespace roofline::core {

HaloExchange::HaloExchange(MeshRanks& ranks, Communicator& group, const HeldShard& with_halo,
                           const std::vector<std::int64_t>& sizes, Dtype dtype, bool back)
    : group_(&group), element_(static_cast<std::size_t>(info(dtype).bits) / 8), dtype_(dtype), back_(back) {
    own_ = box_of(with_halo.without_halo(), sizes, ranks.system(), ranks.chip());
    with_halo_ = box_of(with_halo, sizes, ranks.system(), ranks.chip());
    prepare(ranks, with_halo, sizes);
    std::size_t most = 0;
    for (const Hop& hop : hops_) most = std::max(most, hop.part);
    sent_.resize(most);
    got_.resize(most);
    sums_.resize(back ? with_halo_.elements() * element_ : 0);
}

void HaloExchange::prepare(MeshRanks& ranks, const HeldShard& with_halo, const std::vector<std::int64_t>& sizes) {
    const System& system = ranks.system();
    const std::size_t dim = with_halo.dim;
    const std::int64_t share = own_.size[dim];
    const std::vector<std::int64_t> members = ranks.members(with_halo.lies.dims[dim].mask());
    std::vector<int> rank_at(members.size());  // in the order of their shards
    for (std::size_t i = 0; i < members.size(); ++i) {
        const Box own = box_of(with_halo.without_halo(), sizes, system, members[i]);
        rank_at[static_cast<std::size_t>(own.start[dim] / share)] = static_cast<int>(i);
    }
    const auto count = static_cast<std::int64_t>(members.size());
    const std::int64_t way = with_halo.before > 0 ? 1 : -1;  // direction: to the next chip or to the previous one
    const std::int64_t places = with_halo.before + with_halo.behind;
    const std::int64_t here = own_.start[dim] / share;
    // the part of the shard `hop` hops away that the chip at `at` has
    const auto piece = [&](std::int64_t at, std::int64_t hop) {
        const std::int64_t owner = at - way * hop;
        Box box = own_;
        box.size[dim] = 0;
        if (at < 0 || at >= count || owner < 0 || owner >= count) return box;
        const std::int64_t size = std::min(share, places - (hop - 1) * share);
        box.start[dim] = way > 0 ? (owner + 1) * share - size : owner * share;
        box.size[dim] = size;
        return box;
    };
    const auto rank = [&](const Box& box, std::int64_t at) {
        return box.elements() == 0 ? -1 : rank_at[static_cast<std::size_t>(at)];
    };
    Box row = own_;
    row.size[dim] = 1;
    for (std::int64_t hop = 1; (hop - 1) * share < places; ++hop) {
        Hop made;
        made.part = row.elements() * static_cast<std::size_t>(std::min(share, places - (hop - 1) * share)) * element_;
        made.sent = piece(here + way, hop);
        made.to = rank(made.sent, here + way);
        made.got = piece(here, hop);
        made.from = rank(made.got, here - way);
        if (back_) {
            std::swap(made.sent, made.got);
            std::swap(made.to, made.from);
        }
        hops_.push_back(std::move(made));
    }
    if (back_) std::reverse(hops_.begin(), hops_.end());
}

void HaloExchange::begin(const std::byte* in, std::byte* out) {
    out_ = out;
    if (back_) {
        std::memcpy(sums_.data(), in, sums_.size());
        array_ = sums_.data();
        return;
    }
    copy_part(out, with_halo_, in, own_, own_, element_);
    array_ = out;
}

Exchange HaloExchange::packed(const Hop& hop) {
    copy_part(sent_.data(), hop.sent, array_, with_halo_, hop.sent, element_);
    Exchange exchange;
    exchange.kind = CollectiveKind::permute;
    exchange.in = sent_.data();
    exchange.out = got_.data();
    exchange.part = hop.part;
    exchange.dtype = dtype_;
    exchange.to = hop.to;
    exchange.from = hop.from;
    return exchange;
}

void HaloExchange::take(const Hop& hop) {
    if (hop.from < 0) return;
    if (back_) {
        copy_part(sent_.data(), hop.got, array_, with_halo_, hop.got, element_);
        add_into(got_.data(), sent_.data(), hop.part, dtype_);
    }
    copy_part(array_, with_halo_, got_.data(), hop.got, hop.got, element_);
}

Status HaloExchange::rest(std::size_t first) {
    for (std::size_t i = first; i < hops_.size(); ++i) {
        ROOFLINE_CHECK(exchange(*group_, packed(hops_[i])));
        take(hops_[i]);
    }
    if (back_) copy_part(out_, own_, array_, with_halo_, own_, element_);
    return {};
}

Status HaloExchange::run(const std::byte* in, std::byte* out) {
    begin(in, out);
    return rest(0);
}

Status HaloExchange::start(const std::byte* in, std::byte* out) {
    begin(in, out);
    // too large for one call: done in pieces, one after the other
    if (hops_.front().part > group_->max_bytes()) return {};
    ROOFLINE_TRY(pending_, group_->start(packed(hops_.front())));
    return {};
}

Result<bool> HaloExchange::done() { return pending_ ? pending_->done() : false; }

Status HaloExchange::finish() {
    if (!pending_) return rest(0);
    auto status = pending_->wait();
    pending_.reset();
    if (!status) return status;
    take(hops_.front());
    return rest(1);
}

}  // namespace roofline::core
