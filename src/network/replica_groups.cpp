#include "network/replica_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace roofline::core {

namespace {

constexpr std::int64_t max_devices = 1'000'000'000;
constexpr std::size_t max_dims = 32;

/// A position in the text; every method skips blanks first.
class Cursor {
public:
    explicit Cursor(std::string_view text) : text_(text) {}

    [[nodiscard]] bool at(char c) {
        blanks();
        return at_ < text_.size() && text_[at_] == c;
    }
    bool take(char c) {
        if (!at(c)) return false;
        ++at_;
        return true;
    }
    bool take(std::string_view word) {
        blanks();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    [[nodiscard]] bool ended() {
        blanks();
        return at_ == text_.size();
    }
    /// Reads a number of at most a billion.
    std::optional<std::int64_t> number() {
        blanks();
        const std::size_t begin = at_;
        std::int64_t value = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
            value = value * 10 + (text_[at_] - '0');
            if (value > max_devices) return std::nullopt;
            ++at_;
        }
        return at_ == begin ? std::nullopt : std::optional(value);
    }
    std::optional<std::string_view> name() {
        if (!take('\'')) return std::nullopt;
        const std::size_t end = text_.find('\'', at_);
        if (end == std::string_view::npos || end == at_) return std::nullopt;
        const std::string_view word = text_.substr(at_, end - at_);
        at_ = end + 1;
        return word;
    }
    [[nodiscard]] tl::unexpected<Error> expected(std::string_view what) {
        blanks();
        constexpr std::size_t longest = 20;
        const std::string found = at_ == text_.size() ? "the end" : fmt::format("`{}`", text_.substr(at_, longest));
        return fail("bad_groups", fmt::format("replica groups, column {}: expected {}, found {}", at_ + 1, what, found),
                    "{{0,1},{2,3}}, [2,4]<=[8], [4,2]<=[2,4]T(1,0) or mesh['x'=2,'y'=4] {'x'}");
    }

private:
    void blanks() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    std::string_view text_;
    std::size_t at_ = 0;
};

tl::unexpected<Error> refused(const std::string& message, std::string hint = "") {
    return fail("bad_groups", "replica groups: " + message, std::move(hint));
}

// [2,4]: sizes of at least 1, whose product is at most a billion.
Result<std::vector<std::int64_t>> parse_dims(Cursor& cursor) {
    if (!cursor.take('[')) return cursor.expected("`[`");
    std::vector<std::int64_t> dims;
    std::int64_t product_of_sizes = 1;
    do {
        const auto size = cursor.number();
        if (!size || *size < 1) return cursor.expected("a size from 1 to a billion");
        if (*size > max_devices / product_of_sizes) return refused("more than a billion devices");
        product_of_sizes *= *size;
        dims.push_back(*size);
        if (dims.size() > max_dims) return refused(fmt::format("more than {} dimensions", max_dims));
    } while (cursor.take(','));
    if (!cursor.take(']')) return cursor.expected("`,` or `]`");
    return dims;
}

std::int64_t product_of_sizes(const std::vector<std::int64_t>& sizes) {
    std::int64_t result = 1;
    for (const std::int64_t size : sizes) result *= size;
    return result;
}

Result<ReplicaGroups> parse_iota(Cursor& cursor) {
    ROOFLINE_TRY(auto shape, parse_dims(cursor));
    if (shape.size() != 2) {
        return refused(fmt::format("[{}] is not a number of groups and their size", fmt::join(shape, ",")));
    }
    if (!cursor.take("<=")) return cursor.expected("`<=`");
    ROOFLINE_TRY(auto dims, parse_dims(cursor));
    ReplicaGroups groups{(shape)[0], (shape)[1], std::move(dims), {}, {}};
    if (product_of_sizes(groups.dims) != groups.devices()) {
        return refused(fmt::format("[{},{}] has {} devices, but [{}] has {}", groups.groups, groups.size,
                                   groups.devices(), fmt::join(groups.dims, ","), product_of_sizes(groups.dims)),
                       "both sides of <= name the same devices");
    }
    if (!cursor.take('T')) {
        for (std::size_t i = 0; i < groups.dims.size(); ++i) groups.order.push_back(i);
        return groups;
    }
    if (!cursor.take('(')) return cursor.expected("`(`");
    do {
        const auto dim = cursor.number();
        if (!dim) return cursor.expected("the number of a dimension");
        const bool twice = std::find(groups.order.begin(), groups.order.end(), *dim) != groups.order.end();
        if (twice || static_cast<std::size_t>(*dim) >= groups.dims.size()) {
            return refused(fmt::format("T(...) must name each of the {} dimensions once, from 0", groups.dims.size()));
        }
        groups.order.push_back(static_cast<std::size_t>(*dim));
    } while (cursor.take(','));
    if (!cursor.take(')')) return cursor.expected("`,` or `)`");
    if (groups.order.size() != groups.dims.size()) {
        return refused(fmt::format("T(...) must name each of the {} dimensions once, from 0", groups.dims.size()));
    }
    return groups;
}

struct NamedAxis {
    std::string_view name;
    std::int64_t size;
};

/// A part of an axis: `outside` times `size` times what is inside is the axis.
struct AxisPart {
    std::size_t axis;
    std::int64_t outside;
    std::int64_t size;
};

Result<std::vector<NamedAxis>> parse_mesh(Cursor& cursor) {
    std::vector<NamedAxis> axes;
    std::int64_t devices = 1;
    if (!cursor.take('[')) return cursor.expected("`[`");
    do {
        const auto name = cursor.name();
        if (!name) return cursor.expected("the name of an axis, such as 'x'");
        for (const NamedAxis& other : axes) {
            if (other.name == *name) return refused(fmt::format("the mesh has two axes '{}'", *name));
        }
        if (!cursor.take('=')) return cursor.expected("`=`");
        const auto size = cursor.number();
        if (!size || *size < 1) return cursor.expected("a size from 1 to a billion");
        if (*size > max_devices / devices) return refused("more than a billion devices");
        devices *= *size;
        axes.push_back({*name, *size});
        if (axes.size() > max_dims) return refused(fmt::format("more than {} axes", max_dims));
    } while (cursor.take(','));
    if (!cursor.take(']')) return cursor.expected("`,` or `]`");
    return axes;
}

Result<std::vector<AxisPart>> parse_parts(Cursor& cursor, const std::vector<NamedAxis>& mesh) {
    std::vector<AxisPart> parts;
    if (!cursor.take('{')) return cursor.expected("`{`");
    do {
        const auto name = cursor.name();
        if (!name) return cursor.expected("the name of an axis, such as 'x'");
        const auto found =
            std::find_if(mesh.begin(), mesh.end(), [&](const NamedAxis& axis) { return axis.name == *name; });
        if (found == mesh.end()) return refused(fmt::format("the mesh has no axis '{}'", *name));
        AxisPart part{static_cast<std::size_t>(found - mesh.begin()), 1, found->size};
        if (cursor.take(':')) {
            if (!cursor.take('(')) return cursor.expected("`(`");
            const auto outside = cursor.number();
            if (!outside || !cursor.take(')')) return cursor.expected("the size outside of the part, such as (1)");
            const auto size = cursor.number();
            if (!size) return cursor.expected("the size of the part");
            if (*outside < 1 || *size < 1 || *outside > found->size || *size > found->size / *outside ||
                found->size % (*outside * *size) != 0) {
                return refused(
                    fmt::format("({}){} does not divide axis '{}' of {}", *outside, *size, *name, found->size));
            }
            part.outside = *outside;
            part.size = *size;
        }
        parts.push_back(part);
        if (parts.size() > max_dims) return refused(fmt::format("more than {} parts of axes", max_dims));
    } while (cursor.take(','));
    if (!cursor.take('}')) return cursor.expected("`,` or `}`");
    return parts;
}

// The mesh, with its axes cut where parts begin and end. The parts of the groups come last, in the order in which they
// are named.
Result<ReplicaGroups> parse_mesh_groups(Cursor& cursor) {
    ROOFLINE_TRY(auto mesh, parse_mesh(cursor));
    if (cursor.take(','))
        return refused("a mesh with an explicit order of devices is not supported", "list the groups");
    ROOFLINE_TRY(auto parts, parse_parts(cursor, mesh));
    ReplicaGroups groups;
    std::vector<std::vector<std::size_t>> of_part(parts.size());
    std::vector<std::size_t> others;
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
        std::vector<std::int64_t> ends = {(mesh)[axis].size};
        for (const AxisPart& part : parts) {
            if (part.axis == axis) ends.insert(ends.end(), {part.outside, part.outside * part.size});
        }
        std::sort(ends.begin(), ends.end());
        std::int64_t outside = 1;
        for (const std::int64_t end : ends) {
            if (end == outside) continue;
            if (end % outside != 0) return refused(fmt::format("parts of axis '{}' overlap", (mesh)[axis].name));
            std::size_t owner = parts.size();
            for (std::size_t p = 0; p < parts.size(); ++p) {
                const AxisPart& part = (parts)[p];
                if (part.axis != axis || outside < part.outside || end > part.outside * part.size) continue;
                if (owner != parts.size()) return refused(fmt::format("axis '{}' is named twice", (mesh)[axis].name));
                owner = p;
            }
            (owner == parts.size() ? others : of_part[owner]).push_back(groups.dims.size());
            groups.dims.push_back(end / outside);
            outside = end;
        }
    }
    groups.order = others;
    for (const auto& dims : of_part) {
        groups.order.insert(groups.order.end(), dims.begin(), dims.end());
        for (const std::size_t dim : dims) groups.size *= groups.dims[dim];
    }
    groups.groups = product_of_sizes(groups.dims) / groups.size;
    return groups;
}

Result<ReplicaGroups> parse_listed(Cursor& cursor, std::optional<std::int64_t> devices) {
    if (!cursor.take('{')) return cursor.expected("`{`, `[` or `mesh[`");
    if (cursor.take('}')) {
        if (!devices) return refused("{} is one group of all devices, but their number is not known");
        if (*devices < 1 || *devices > max_devices) return refused(fmt::format("there are {} devices", *devices));
        return ReplicaGroups{1, *devices, {*devices}, {0}, {}};
    }
    ReplicaGroups groups{0, 0, {}, {}, {}};
    do {
        if (!cursor.take('{')) return cursor.expected("`{`");
        std::int64_t size = 0;
        do {
            const auto device = cursor.number();
            if (!device) return cursor.expected("the number of a device");
            groups.listed.push_back(*device);
            ++size;
        } while (cursor.take(','));
        if (!cursor.take('}')) return cursor.expected("`,` or `}`");
        if (groups.groups > 0 && size != groups.size) {
            return refused(fmt::format("group {} has {} devices, but the groups before it have {}", groups.groups, size,
                                       groups.size),
                           "groups of unequal size have no cost model");
        }
        groups.size = size;
        ++groups.groups;
    } while (cursor.take(','));
    if (!cursor.take('}')) return cursor.expected("`,` or `}`");
    return groups;
}

Status all_there_once(const std::vector<std::int64_t>& listed) {
    std::vector<bool> seen(listed.size(), false);
    for (const std::int64_t device : listed) {
        const auto place = static_cast<std::size_t>(device);
        if (place >= seen.size()) continue;
        if (seen[place]) return refused(fmt::format("device {} occurs twice", device));
        seen[place] = true;
    }
    const auto missing = std::find(seen.begin(), seen.end(), false);
    if (missing == seen.end()) return {};
    return refused(fmt::format("device {} of {} is missing", missing - seen.begin(), listed.size()),
                   "each device from 0 on must be in one group");
}

}  // namespace

std::int64_t ReplicaGroups::member(std::int64_t group, std::int64_t i) const {
    std::int64_t number = group * size + i;
    if (!listed.empty()) return listed[static_cast<std::size_t>(number)];
    std::int64_t device = 0;
    for (std::size_t k = order.size(); k-- > 0;) {
        std::int64_t stride = 1;
        for (std::size_t j = order[k] + 1; j < dims.size(); ++j) stride *= dims[j];
        device += number % dims[order[k]] * stride;
        number /= dims[order[k]];
    }
    return device;
}

Result<ReplicaGroups> parse_replica_groups(std::string_view text, std::optional<std::int64_t> devices) {
    Cursor cursor(text);
    ROOFLINE_TRY(auto groups, cursor.take("mesh") ? parse_mesh_groups(cursor)
                              : cursor.at('[')    ? parse_iota(cursor)
                                                  : parse_listed(cursor, devices));
    if (!cursor.ended()) return cursor.expected("the end");
    ROOFLINE_CHECK(all_there_once(groups.listed));
    if (devices && groups.devices() != *devices) {
        return refused(fmt::format("they name {} devices, but there are {}", groups.devices(), *devices));
    }
    return groups;
}

}  // namespace roofline::core
