// Maps the names of systems in measurement tables to slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/collective_info.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// A slice that a table measured.
struct NamedSystem {
    std::string id;                     ///< short name for groups of a report: "h100-aws-p5"
    std::string machine;                ///< in the catalogue
    std::string shape;                  ///< the part of a slice's name after the colon: "8x2"
    std::vector<std::string> sets;      ///< what-ifs that turn the machine into this system: "ib.bandwidth=6.25GB/s"
    std::vector<std::string> left_out;  ///< operations whose measurements are not comparable: "permute"
    std::string left_out_reason;
    std::string note;
    std::int64_t chips_of_node = 0;  ///< chips of what tables count as a node: a server, a tray; 0 if `shape` is given
    /// Groups that do the same at the same time over the same links: 2 if each core of a chip is in a group of its own.
    std::int64_t groups_on_links = 1;
    std::int64_t devices_of_chip = 1;  ///< of what tables count as devices of a group: 2 if both cores are in one group
    std::vector<CollectiveKind> of_member{};  ///< whose rows have the bytes of one member
    std::string library{};  ///< that all collectives there go through, whatever framework calls it: "xla"

    [[nodiscard]] std::string slice() const { return machine + ":" + shape; }  ///< "h100-sxm5:8x2"
};

/// Shape of `members` devices spread evenly over `nodes` nodes, each with `node` members of its tiers, innermost first;
/// inner tiers are filled first. "" if they cannot be spread or do not fit.
[[nodiscard]] std::string node_shape(const std::vector<std::int64_t>& node, std::int64_t members, std::int64_t nodes);

class SystemNames {
public:
    /// data/systems.toml, or a text like it. Errors carry line and column.
    [[nodiscard]] static Result<SystemNames> parse(const TomlInput& toml, std::string_view origin);
    [[nodiscard]] static Result<SystemNames> built_in();

    /// The slice of a group of `members` devices on `nodes` nodes of the system with this name (the id of a machine
    /// works too); `link` is the table's description of its links. Names are compared ignoring case. Errors:
    /// unknown_system (with the nearest name); bad_system (the devices cannot be spread evenly over the nodes, or
    /// exceed those of a node).
    [[nodiscard]] Result<NamedSystem> find(std::string_view name, std::string_view link, std::int64_t members,
                                           std::int64_t nodes) const;

    /// The system with this name, without a shape. Empty: there is none.
    [[nodiscard]] std::optional<NamedSystem> named(std::string_view name) const;

private:
    struct Entry {
        NamedSystem system;  ///< `shape` is "" if it follows from the counts
        std::vector<std::string> names;
        std::vector<std::string> words;  ///< a name that contains all of them matches too if no name matches exactly
        std::string link;                ///< "": any
        std::int64_t members = 0;        ///< 0: any
        std::vector<std::int64_t> node;  ///< members of each tier inside a node, innermost first
        bool trays = false;              ///< all nodes are inside the innermost tier
    };
    [[nodiscard]] const Entry* entry(std::string_view name, std::string_view link, std::int64_t members) const;

    std::vector<Entry> entries_;
};

}  // namespace roofline::core
