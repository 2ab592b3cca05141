// The slices that measurements were made on, each built and priced once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bound/pricing.hpp"
#include "import/system_names.hpp"
#include "network/measured_collective.hpp"
#include "network/system.hpp"

namespace roofline::core {

/// A slice whose chips all belong to one group.
struct MeasuredSystem {
    std::string id;  ///< "h100-aws-p5": a name of data/systems.toml, or else of the machine
    System system;
    /// Operations whose measurements are not comparable, with the reason.
    std::vector<std::pair<std::string, std::string>> left_out;
    std::int64_t groups_on_links = 1;         ///< as in NamedSystem
    std::string library{};                    ///< as in NamedSystem
    std::vector<CollectiveKind> of_member{};  ///< as in NamedSystem

    [[nodiscard]] std::string slice() const;  ///< "h100-sxm5:8x2"
};

/// What all rows of a table were measured on, which overrides what the table says.
struct SystemOverride {
    Machine machine;
    std::string shape;  ///< "4x4"; "" if the row implies it
};

/// A collective on a slice.
struct MeasuredGroup {
    const MeasuredSystem* on = nullptr;
    CollectiveLoad load;
};

/// The slices that the rows of a table name. Each is built once.
class MeasuredSystems {
public:
    /// Makes the slices of rows that were all measured on `on` or, if it is empty, on the systems that they name.
    /// Errors: the machine does not come in this shape.
    [[nodiscard]] static Result<MeasuredSystems> make(std::optional<SystemOverride> on = {});

    /// Returns a single chip of the system that a table names: of data/systems.toml, or else of the catalogue; if
    /// make() was given a machine, a chip of that. It lives as long as this object. The message of the error is the
    /// reason why rows cannot be compared.
    [[nodiscard]] const Result<System>& chip(const std::string& name);

    /// Returns `chips` chips on as few nodes as possible, in the most even shape of a torus, or in `slices` such slices
    /// on a slower network. It lives as long as this. The error's message says why rows cannot be compared.
    [[nodiscard]] const Result<MeasuredSystem>& slice_of(const std::string& name, std::int64_t chips,
                                                         std::int64_t slices = 1);

    /// Returns where a row was measured and the load that its collective puts on the links. It lives as long as this
    /// object. The message of the error is the reason why the row cannot be compared.
    [[nodiscard]] const Result<MeasuredGroup>& group(const MeasuredCollective& row);

    /// Returns the number of chips per node, as the table counts nodes, of the named system, or of the machine given to
    /// make(); 0 if it is unknown.
    [[nodiscard]] std::int64_t chips_of_node(const std::string& name) const;

    /// Returns the rates of the links used so far, each with its machine.
    [[nodiscard]] std::vector<std::pair<std::string, Rate>> rates() const;

private:
    struct Place {
        std::string system;
        std::string link;
        std::int64_t members = 1;
        std::int64_t nodes = 1;
        auto operator<=>(const Place&) const = default;
    };

    [[nodiscard]] Result<System> one_chip(const std::string& name);
    [[nodiscard]] const Result<MeasuredSystem>& system(const Place& place);
    [[nodiscard]] Result<MeasuredSystem> wire(const Place& place);
    [[nodiscard]] Result<MeasuredSystem> wire_named(const Place& place);
    [[nodiscard]] const Result<Machine>& machine(const std::string& name, const std::vector<std::string>& sets);
    [[nodiscard]] Result<MeasuredSystem> even_slice(const std::string& name, std::int64_t chips, std::int64_t slices);
    [[nodiscard]] Result<std::string> shape_on(const Machine& machine, const Place& place) const;
    [[nodiscard]] Result<MeasuredGroup> price(const MeasuredCollective& row, const Place& place);

    SystemNames names_;
    std::optional<SystemOverride> on_;
    std::map<std::pair<std::string, std::vector<std::string>>, Result<Machine>> machines_;  // each is read once
    std::map<std::string, Result<System>> chips_;
    std::map<Place, Result<MeasuredSystem>> systems_;
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Result<MeasuredSystem>> slices_;
    std::map<std::pair<Place, CollectiveKind>, Result<MeasuredGroup>> groups_;
};

}  // namespace roofline::core
