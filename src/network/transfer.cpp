#include "network/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "network/slice_links.hpp"

namespace roofline::core {

namespace {

std::string axes_text(const Slice& slice) {
    std::vector<std::int64_t> sizes;
    for (const SliceTier& tier : slice.tiers) sizes.insert(sizes.end(), tier.shape.begin(), tier.shape.end());
    return fmt::format("{}", fmt::join(sizes, ","));
}

Status on_slice(const Slice& slice, const Chip& chip) {
    std::vector<std::int64_t> sizes;
    for (const SliceTier& tier : slice.tiers) sizes.insert(sizes.end(), tier.shape.begin(), tier.shape.end());
    bool inside = chip.at.size() == sizes.size();
    for (std::size_t i = 0; inside && i < sizes.size(); ++i) inside = chip.at[i] >= 0 && chip.at[i] < sizes[i];
    if (inside) return {};
    return fail("bad_chip", fmt::format("the slice {} has no chip {}", slice.shape_text(), chip_text(chip)),
                sizes.empty() ? "a single chip is ()"
                              : fmt::format("write one number per axis, from 0 and below {}", axes_text(slice)));
}

}  // namespace

std::string chip_text(const Chip& chip) { return fmt::format("({})", fmt::join(chip.at, ",")); }

Result<Chip> parse_chip(const Slice& slice, std::string_view text) {
    constexpr std::size_t longest = 200;
    const auto refused = [&] {
        return fail("bad_chip", fmt::format("`{}` is not a chip's place", text.substr(0, longest)),
                    fmt::format("write one number per axis, from 0 and below {}", axes_text(slice)));
    };
    if (text.size() > longest) return refused();
    const auto trim = [](std::string_view& part) {
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    };
    std::string_view rest = text;
    trim(rest);
    if (rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') {
        rest = rest.substr(1, rest.size() - 2);
        trim(rest);
    }
    Chip chip;
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        std::string_view part = rest.substr(0, comma);
        trim(part);
        std::int64_t place = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), place);
        if (error != std::errc{} || end != part.data() + part.size()) return refused();
        chip.at.push_back(place);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
        if (rest.empty()) return refused();
    }
    ROOFLINE_CHECK(on_slice(slice, chip));
    return chip;
}

Chip chip_at(const Slice& slice, const std::vector<PlacedAxis>& mesh, const std::vector<std::int64_t>& coordinates) {
    std::vector<std::size_t> first;  // by tier: its first axis in the numbering of the whole slice
    std::size_t axes = 0;
    for (const SliceTier& tier : slice.tiers) {
        first.push_back(axes);
        axes += tier.shape.size();
    }
    Chip chip{std::vector<std::int64_t>(axes, 0)};
    for (std::size_t i = 0; i < mesh.size(); ++i) {
        std::int64_t rest = coordinates[i];
        for (const Lane& lane : mesh[i].lanes) {
            chip.at[first[lane.tier] + lane.axis] += rest % lane.size * lane.stride;
            rest /= lane.size;
        }
    }
    return chip;
}

std::vector<Rational> chip_links(const Slice& slice, const Chip& chip) {
    const SliceLinks network(slice);
    std::vector<Part> box = network.whole();
    for (std::size_t i = 0; i < box.size(); ++i) box[i] = network.axes()[i].part(chip.at[i], chip.at[i]);
    return network.around(box);
}

double TransferLoad::transfer_s(double bytes, const std::vector<double>& rates) const {
    double seconds = 0;
    for (const TransferCut& cut : cuts) {
        double rate = 0;
        for (std::size_t i = 0; i < cut.links.size(); ++i) rate += cut.links[i].to_double() * rates[i];
        seconds = std::max(seconds, bytes * cut.bytes.to_double() / rate);
    }
    return seconds;
}

Result<TransferLoad> send_load(const Slice& slice, const Chip& from, const Chip& to) {
    for (const Chip& chip : {from, to}) {
        ROOFLINE_CHECK(on_slice(slice, chip));
    }
    TransferLoad load;
    if (from == to) return load;
    const SliceLinks network(slice);
    const auto take = [&](std::int64_t, bool both, std::vector<Rational> links) {
        if (!both) add_cut(load.cuts, {Rational(1), std::move(links)});
    };
    network.boxes_around(from, to, take);
    network.boxes_around(to, from, take);
    const Hops path = network.path(from, &to);
    load.hops = path.hops;
    load.latency_s = path.latency_s;
    return load;
}

Result<TransferLoad> rooted_load(const Slice& slice, CollectiveKind kind, const Chip& root, std::int64_t parts) {
    if (info(kind).ends != Ends::all_to_one && info(kind).ends != Ends::one_to_all) {
        return fail("bad_transfer", fmt::format("a {} has no root", collective_name(kind)),
                    "gather, scatter and broadcast have one");
    }
    ROOFLINE_CHECK(on_slice(slice, root));
    TransferLoad load;
    load.kind = kind;
    const std::int64_t n = slice.chips();
    const bool gathers = info(kind).many_out();
    if (!gathers && !info(kind).many_in()) parts = 1;
    if (parts == 0) parts = n;
    const SliceLinks network(slice);
    // The parts that this number of chips want, if they all want different ones and n / parts chips hold each.
    const auto wanted = [&](std::int64_t chips) { return Rational((chips * parts + n - 1) / n, parts); };
    network.boxes_around(root, root, [&](std::int64_t chips, bool, std::vector<Rational> links) {
        if (chips == n || (gathers && chips >= parts)) return;
        const Rational bytes = gathers ? Rational(parts - chips, parts) : wanted(n - chips);
        add_cut(load.cuts, {bytes, std::move(links)});
    });
    // The corner opposite to the root: the chip with the fewest links, or an equally good one.
    Chip corner = root;
    for (std::size_t i = 0; i < corner.at.size(); ++i)
        corner.at[i] = root.at[i] == 0 ? network.axes()[i].size() - 1 : 0;
    if (!gathers && parts < n) {
        network.boxes_around(corner, root, [&](std::int64_t chips, bool both, std::vector<Rational> links) {
            if (!both) add_cut(load.cuts, {wanted(chips), std::move(links)});
        });
    }
    const Hops path = network.path(root, nullptr);
    load.hops = path.hops;
    load.latency_s = path.latency_s;
    return load;
}

}  // namespace roofline::core
