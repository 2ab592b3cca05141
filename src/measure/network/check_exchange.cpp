#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "measure/network/all_ranks.hpp"
#include "measure/network/time_exchanges.hpp"
#include "measure/run/elements.hpp"

namespace roofline::core {

namespace {

// Small integers that all dtypes represent exactly; their sums over up to 16 ranks are exact in bf16 too.
std::int32_t number_of(int rank, std::size_t i) {
    return static_cast<std::int32_t>((static_cast<std::size_t>(rank) * 3 + i * 5) % 13);
}

void put(std::vector<std::byte>& array, std::size_t i, std::int32_t value, Dtype dtype) {
    const double number = value;
    std::byte* to = array.data() + i * element_bytes(dtype);
    if (dtype == Dtype::int32) return store_elements(dtype, &value, to, 1, 1);
    store_elements(dtype, &number, to, 1, 1);
}

// The number that rank `rank` must hold at place i of its output, where each part has `part` elements; -1 if nothing is
// written there.
std::int32_t expected(CollectiveKind kind, int rank, int n, std::size_t part, std::size_t i) {
    const int member = static_cast<int>(i / part);
    const std::size_t inside = i % part;
    const std::size_t mine = static_cast<std::size_t>(rank) * part;
    const auto sum = [&](std::size_t at) {
        std::int32_t all = 0;
        for (int each = 0; each < n; ++each) all += number_of(each, at);
        return all;
    };
    switch (kind) {
        case CollectiveKind::all_gather:
            return number_of(member, inside);
        case CollectiveKind::gather:
            return rank == 0 ? number_of(member, inside) : -1;
        case CollectiveKind::reduce_scatter:
            return sum(mine + i);
        case CollectiveKind::all_reduce:
            return sum(i);
        case CollectiveKind::all_to_all:
            return number_of(member, mine + inside);
        case CollectiveKind::scatter:
            return number_of(0, mine + i);
        case CollectiveKind::broadcast:
            return number_of(0, i);
        case CollectiveKind::permute:
            return number_of((rank + n - 1) % n, i);
        case CollectiveKind::send:
            break;
    }
    return rank == 1 ? number_of(0, i) : -1;
}

}  // namespace

Status check_exchange(Communicator& group, CollectiveKind kind, Dtype dtype, std::size_t elements) {
    const std::size_t element = element_bytes(dtype);
    const int n = group.size();
    const int rank = group.rank();
    Exchange checked;
    checked.kind = kind;
    checked.part = elements * element;
    checked.dtype = dtype;
    aim(checked, rank, n);
    std::vector<std::byte> in(input_bytes(kind, checked.part, n));
    std::vector<std::byte> out(output_bytes(kind, checked.part, n));
    for (std::size_t i = 0; i < in.size() / element; ++i) put(in, i, number_of(rank, i), dtype);
    for (std::size_t i = 0; i < out.size() / element; ++i) put(out, i, -1, dtype);
    checked.in = in.data();
    checked.out = out.data();
    ROOFLINE_CHECK(exchange(group, checked));
    std::vector<std::byte> right(out.size());
    for (std::size_t i = 0; i < out.size() / element; ++i) put(right, i, expected(kind, rank, n, elements, i), dtype);
    if (out == right) return common_status(group, {});
    return common_status(group, fail("check_failed", fmt::format("what arrives of a{} {} over {} ranks is wrong",
                                                                 info(kind).spoken.front() == 'a' ? "n" : "",
                                                                 collective_name(kind, true), n)));
}

}  // namespace roofline::core
