#include "network/slice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/slice_shapes.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Shape = std::vector<std::int64_t>;

// The devices of a slice are counted in 64 bits; real slices are far smaller than this limit.
constexpr std::int64_t max_chips = 1'000'000'000;

std::int64_t product(const Shape& shape) {
    std::int64_t result = 1;
    for (const std::int64_t size : shape) {
        if (__builtin_mul_overflow(result, size, &result) || result > max_chips) return max_chips + 1;
    }
    return result;
}

std::string joined(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

struct Wanted {
    Shape sizes;
    std::int64_t slices = 1;
};

Result<std::int64_t> whole(std::string_view text, std::string_view shape) {
    auto size = parse_size(text);
    if (!size) {
        return fail("bad_slice", fmt::format("`{}` is not a slice shape: {}", shape, size.error().message),
                    "write, for example, tpu-v5e:4x4, tpu-v5p:16x16x16*4 or h100-sxm:8x16");
    }
    return *size;
}

Result<Wanted> parse_shape(std::string_view shape) {
    Wanted wanted;
    std::string_view sizes = shape;
    if (const std::size_t star = shape.find('*'); star != std::string_view::npos) {
        ROOFLINE_TRY(wanted.slices, whole(shape.substr(star + 1), shape));
        sizes = shape.substr(0, star);
    }
    while (true) {
        const std::size_t x = sizes.find('x');
        ROOFLINE_TRY(auto size, whole(sizes.substr(0, x), shape));
        wanted.sizes.push_back(size);
        if (x == std::string_view::npos) break;
        sizes.remove_prefix(x + 1);
    }
    if (product(wanted.sizes) > max_chips || wanted.slices > max_chips / product(wanted.sizes)) {
        return fail("bad_slice", fmt::format("a slice of {} has more than a billion chips", shape));
    }
    return wanted;
}

std::size_t axes_of(const NetworkTier& tier) {
    if (!tier.pod_shape.empty()) return tier.pod_shape.size();
    return tier.topology == "torus3d" ? 3 : tier.topology == "ring" ? 1 : 2;
}

class Wiring {
public:
    explicit Wiring(Slice& slice) : slice_(slice) {}

    Status torus(std::size_t index, Shape sizes, std::int64_t slices) {
        const NetworkTier& tier = slice_.machine.network[index];
        const std::size_t axes = axes_of(tier);
        if (sizes.size() > axes) {
            return fail(
                "bad_slice",
                fmt::format("{} has {} ax{}s, but the slice {} has {}", tier.label, axes, axes == 1 ? "i" : "e",
                            joined(sizes), sizes.size()),
                slice_.machine.network.size() > index + 1
                    ? fmt::format("several slices are written {}*4",
                                  joined(Shape(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(axes))))
                    : "");
        }
        sizes.resize(axes, 1);
        ROOFLINE_CHECK(inside_pod(index, sizes, slices));
        ROOFLINE_CHECK(inside_domain(tier, product(sizes), '*'));
        if (!can_be_wired(tier, sizes)) {
            const std::string other = other_shape(tier, sizes, slices);
            return fail("bad_slice",
                        fmt::format("a slice of {} cannot be wired on {}", joined(sizes), slice_.machine.name),
                        fmt::format("{}{}", building_hint(tier), other.empty() ? "" : "; write " + other));
        }
        const bool blocks = whole_blocks(tier, sizes);
        std::vector<bool> wrapped;
        for (const std::int64_t size : sizes) {
            const bool multiple = tier.wrap_multiple > 0 && size % tier.wrap_multiple == 0;
            wrapped.push_back(size > 1 &&
                              (tier.topology == "ring" || (multiple && (blocks || !tier.wrap_needs_blocks))));
        }
        if (tier.topology != "ring" && tier.wrap_multiple == 0 && tier.topology != "mesh2d") {
            slice_.notes.push_back(fmt::format(
                "it is not known when axes of {} close into rings; they are assumed to be open", tier.label));
        }
        if (!tier.max_job.empty() && !fits_some_way(sizes, tier.max_job)) {
            slice_.notes.push_back(
                fmt::format("{} is larger than the largest available slice, {}", joined(sizes), joined(tier.max_job)));
        }
        if (product(sizes) > 1) slice_.tiers.push_back({index, std::move(sizes), std::move(wrapped)});
        return {};
    }

    Status members(std::size_t index, std::int64_t count) {
        if (count == 1) return {};
        const NetworkTier& tier = slice_.machine.network[index];
        ROOFLINE_CHECK(inside_domain(tier, count, 'x'));
        for (const std::string_view uneven : {"partial_mesh", "hybrid_cube_mesh", "dragonfly"}) {
            if (tier.topology != uneven) continue;
            slice_.notes.push_back(fmt::format(
                "it is not modelled which chips the links of {} connect: only the bytes that pass through a chip's own "
                "links count, so real times may exceed these lower bounds",
                tier.label));
        }
        slice_.tiers.push_back({index, {count}, {tier.topology == "ring"}});
        return {};
    }

private:
    // Whether the shape is within the limits with its axes in some order.
    [[nodiscard]] static bool fits_some_way(Shape sizes, Shape limits) {
        limits.resize(sizes.size(), 1);
        std::sort(sizes.begin(), sizes.end());
        std::sort(limits.begin(), limits.end());
        return std::equal(sizes.begin(), sizes.end(), limits.begin(),
                          [](auto size, auto limit) { return size <= limit; });
    }

    Status inside_pod(std::size_t index, const Shape& sizes, std::int64_t slices) const {
        const NetworkTier& tier = slice_.machine.network[index];
        if (tier.pod_shape.empty() || fits_some_way(sizes, tier.pod_shape)) return {};
        const std::string other = other_shape(tier, sizes, slices);
        const std::int64_t pods = (product(sizes) - 1) / product(tier.pod_shape) + 1;
        std::string hint = fmt::format("a whole pod is {}", written(tier.pod_shape, 1));
        if (!other.empty()) {
            hint = fmt::format("write {}", other);
        } else if (pods * slices > 1 && slice_.machine.network.size() > index + 1) {
            hint = fmt::format("write several slices, which {} connects: {}", slice_.machine.network[index + 1].label,
                               written(tier.pod_shape, pods * slices));
        }
        return fail("bad_slice",
                    fmt::format("a slice of {} is larger than a pod of {}, {}", joined(sizes), slice_.machine.name,
                                joined(tier.pod_shape)),
                    hint);
    }

    /// The most even slice of as many chips that fits a pod and can be wired; "": there is none.
    [[nodiscard]] std::string other_shape(const NetworkTier& tier, const Shape& sizes, std::int64_t slices) const {
        const std::int64_t chips = product(sizes);
        constexpr std::size_t most_axes = 3;
        if (tier.pod_shape.empty() || sizes.size() > most_axes || chips > product(tier.pod_shape)) return "";
        for (const Shape& shape : even_shapes(chips, sizes.size())) {
            if (fits_some_way(shape, tier.pod_shape) && can_be_wired(tier, shape)) return written(shape, slices);
        }
        return "";
    }

    [[nodiscard]] std::string written(const Shape& shape, std::int64_t slices) const {
        return fmt::format("{}:{}{}", slice_.machine.id, joined(shape), slices > 1 ? fmt::format("*{}", slices) : "");
    }

    Status inside_domain(const NetworkTier& tier, std::int64_t chips, char times) const {
        const std::int64_t domain = tier.topology == "pair" ? 2 : tier.domain;
        if (domain == 0 || chips <= domain) return {};
        return fail("bad_slice",
                    fmt::format("{} of {} connects {} chips, not {}", tier.label, slice_.machine.name, domain, chips),
                    fmt::format("write several such groups as {}:{}{}{}", slice_.machine.id, domain, times,
                                (chips - 1) / domain + 1));
    }

    // The slice consists of whole blocks (4x4x4 cubes) that switches connect.
    [[nodiscard]] static bool whole_blocks(const NetworkTier& tier, const Shape& sizes) {
        return tier.wrap_needs_blocks && std::all_of(sizes.begin(), sizes.end(),
                                                     [&](std::int64_t size) { return size % tier.wrap_multiple == 0; });
    }

    // The slice is a part of one block: every side divides it evenly.
    [[nodiscard]] static bool inside_block(const NetworkTier& tier, const Shape& sizes) {
        return tier.wrap_needs_blocks && std::all_of(sizes.begin(), sizes.end(),
                                                     [&](std::int64_t size) { return tier.wrap_multiple % size == 0; });
    }

    // A flat torus is cut along its hosts: in one of the two orders each side is a number of whole hosts or an even
    // part of one.
    [[nodiscard]] static bool on_hosts(const NetworkTier& tier, const Shape& sizes) {
        if (tier.wrap_needs_blocks) return false;
        Shape host = tier.host_shape;
        host.resize(sizes.size(), 1);
        std::sort(host.begin(), host.end());
        do {
            bool even = true;
            for (std::size_t i = 0; i < sizes.size(); ++i)
                even = even && (sizes[i] % host[i] == 0 || host[i] % sizes[i] == 0);
            if (even) return true;
        } while (std::next_permutation(host.begin(), host.end()));
        return false;
    }

    [[nodiscard]] static bool can_be_wired(const NetworkTier& tier, const Shape& sizes) {
        return whole_blocks(tier, sizes) || inside_block(tier, sizes) || on_hosts(tier, sizes);
    }

    [[nodiscard]] static std::string building_hint(const NetworkTier& tier) {
        if (tier.wrap_needs_blocks) {
            return fmt::format("axes must be multiples of {0}, or all at most {0} and divisors of it",
                               tier.wrap_multiple);
        }
        return fmt::format("a slice must consist of hosts of {}", joined(tier.host_shape));
    }

    Slice& slice_;
};

// Members that share a machine each have a part of its rates and memory.
void divide(Slice& slice) {
    std::int64_t parts = 1;
    for (const SliceTier& tier : slice.tiers) parts *= std::min(tier.members(), slice.network(tier).parts);
    if (parts == 1) return;
    slice.machine = part_of(std::move(slice.machine), parts);
    slice.notes.push_back(fmt::format("a chip is one of {} equal parts of {}: its cores, rates and memory are divided",
                                      parts, slice.machine.name));
}

}  // namespace

std::int64_t SliceTier::members() const { return product(shape); }

std::int64_t Slice::chips() const {
    std::int64_t chips = 1;
    for (const SliceTier& tier : tiers) chips *= tier.members();
    return chips;
}

bool Slice::has_network(std::string_view id) const {
    return std::any_of(tiers.begin(), tiers.end(), [&](const SliceTier& tier) { return network(tier).id == id; });
}

std::string Slice::shape_text() const {
    if (tiers.empty()) return "1";
    // A tier that a slice does not use is written as 1, so that an outer tier is not mistaken for it.
    std::string text;
    const char* separator = "";
    auto present = tiers.begin();
    for (std::size_t i = 0; i <= tiers.back().tier; ++i) {
        if (!joins_chips(machine.network[i])) continue;
        text += separator;
        text += present->tier == i ? joined(present->shape) : "1";
        if (present->tier == i) ++present;
        separator = has_axes(machine.network[i]) ? "*" : "x";
    }
    return text;
}

bool joins_chips(const NetworkTier& tier) { return tier.topology != "none" && tier.domain != 1; }

bool has_axes(const NetworkTier& tier) {
    return tier.topology == "torus2d" || tier.topology == "torus3d" || tier.topology == "ring" ||
           tier.topology == "mesh2d";
}

bool pairs_have_links(const NetworkTier& tier) { return tier.topology == "full_mesh" || tier.topology == "pair"; }

std::int64_t bisection_links(const Slice& slice, const SliceTier& tier) {
    const std::int64_t members = tier.members();
    if (pairs_have_links(slice.network(tier))) return members / 2 * (members - members / 2);
    if (!has_axes(slice.network(tier))) return members / 2;
    std::int64_t least = members;
    for (std::size_t axis = 0; axis < tier.shape.size(); ++axis) {
        const std::int64_t length = tier.shape[axis];
        if (length == 1) continue;
        const std::int64_t across = members / length * (tier.wrapped[axis] && length > 2 ? 2 : 1);
        least = std::min(least, across);
    }
    return least;
}

Result<Slice> make_slice(Machine machine, std::string_view shape) {
    ROOFLINE_TRY(auto wanted, parse_shape(shape));
    Slice slice;
    slice.machine = std::move(machine);
    const std::vector<NetworkTier>& network = slice.machine.network;
    const std::int64_t chips = product(wanted.sizes) * wanted.slices;
    if (chips > 1 && network.empty()) {
        return fail("bad_slice", fmt::format("the file of {} names no network", slice.machine.name),
                    "add [[network]] to your own machine file; for this machine `mpirun -n 2 roofline "
                    "measure network` does");
    }
    Wiring wiring(slice);
    std::size_t next = 0;
    const auto skip = [&] {
        while (next < network.size() && !joins_chips(network[next])) ++next;
    };
    skip();
    if (next < network.size() && has_axes(network[next])) {
        ROOFLINE_CHECK(wiring.torus(next++, wanted.sizes, wanted.slices));
        wanted.sizes.clear();
    }
    if (wanted.slices > 1) wanted.sizes.push_back(wanted.slices);
    for (const std::int64_t size : wanted.sizes) {
        skip();
        if (next == network.size()) {
            if (size == 1) continue;
            return fail("bad_slice",
                        fmt::format("{} has {} network tier{}, but the slice {} needs more", slice.machine.name,
                                    network.size(), network.size() == 1 ? "" : "s", shape),
                        "`roofline machine` lists the tiers");
        }
        ROOFLINE_CHECK(wiring.members(next++, size));
    }
    divide(slice);
    return slice;
}

}  // namespace roofline::core
