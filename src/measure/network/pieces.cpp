#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "measure/network/communicator.hpp"
#include "measure/network/sum.hpp"

namespace roofline::core {

namespace {

// The same stretch of every part, side by side, and back.
void gather_stretch(std::byte* to, const std::byte* from, std::size_t part, std::size_t at, std::size_t bytes, int n) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        std::memcpy(to + i * bytes, from + i * part + at, bytes);
}
void scatter_stretch(std::byte* to, const std::byte* from, std::size_t part, std::size_t at, std::size_t bytes, int n) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        std::memcpy(to + i * part + at, from + i * bytes, bytes);
}

}  // namespace

void aim(Exchange& exchange, int rank, int members) {
    const Ends ends = info(exchange.kind).ends;
    if (ends == Ends::pairs) exchange.to = (rank + 1) % members;
    if (ends == Ends::pairs) exchange.from = (rank + members - 1) % members;
    if (ends == Ends::one_to_one && rank == 0) exchange.to = 1;
    if (ends == Ends::one_to_one && rank == 1) exchange.from = 0;
}

std::size_t input_bytes(CollectiveKind kind, std::size_t part, int members) {
    return info(kind).many_in() ? part * static_cast<std::size_t>(members) : part;
}

std::size_t output_bytes(CollectiveKind kind, std::size_t part, int members) {
    return info(kind).many_out() ? part * static_cast<std::size_t>(members) : part;
}

Status exchange(Communicator& group, const Exchange& whole) {
    if (info(whole.kind).sums() && !can_sum(whole.dtype)) {
        return fail("unsupported", fmt::format("partial sums in {} cannot be added up here", name(whole.dtype)),
                    "sum in f32, bf16, f16, f64 or int32");
    }
    const int n = group.size();
    const bool many_in = info(whole.kind).many_in();
    const bool many_out = info(whole.kind).many_out();
    const std::size_t at_once =
        many_in || many_out ? group.max_bytes() / static_cast<std::size_t>(n) : group.max_bytes();
    if (whole.part <= at_once) return group.run(whole);
    const std::size_t step = std::max<std::size_t>(at_once / 64 * 64, 64);
    const bool root = group.rank() == whole.root;
    const bool has_in = info(whole.kind).ends != Ends::one_to_all || root;
    const bool has_out = info(whole.kind).ends != Ends::all_to_one || root;
    std::vector<std::byte> in(many_in && has_in ? step * static_cast<std::size_t>(n) : 0);
    std::vector<std::byte> out(many_out && has_out ? step * static_cast<std::size_t>(n) : 0);
    for (std::size_t at = 0; at < whole.part; at += step) {
        Exchange piece = whole;
        piece.part = std::min(step, whole.part - at);
        if (many_in && has_in) gather_stretch(in.data(), whole.in, whole.part, at, piece.part, n);
        piece.in = many_in ? in.data() : whole.in == nullptr ? nullptr : whole.in + at;
        piece.out = many_out ? out.data() : whole.out == nullptr ? nullptr : whole.out + at;
        ROOFLINE_CHECK(group.run(piece));
        if (many_out && has_out) scatter_stretch(whole.out, out.data(), whole.part, at, piece.part, n);
    }
    return {};
}

}  // namespace roofline::core
