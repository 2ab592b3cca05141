// The slices that the rows of a measurement table ran on, each wired and priced once.
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

/// A slice whose chips are all one group.
struct MeasuredSystem {
    std::string id;  ///< "h100-aws-p5": of data/systems.toml, else the machine's
    System system;
    std::vector<std::pair<std::string, std::string>> left_out;  ///< operations whose rows are not comparable, and why

    [[nodiscard]] std::string slice() const;  ///< "h100-sxm5:8x2"
};

/// What every row of a table is taken to be measured on, whatever the table says.
struct MeasuredOn {
    Machine machine;
    std::string shape;  ///< "4x4"; "" when it follows from the row
};

/// An operation there.
struct MeasuredGroup {
    const MeasuredSystem* on = nullptr;
    CollectiveLoad load;
};

class MeasuredSystems {
public:
    /// Rows are taken to be measured on `on`; without it on what they name. Errors: a shape that cannot be wired.
    [[nodiscard]] static Result<MeasuredSystems> make(std::optional<MeasuredOn> on = {});

    /// A single chip of what a table names: of data/systems.toml, else of the catalogue; the one machine of make(),
    /// where there is one. The error's message is the reason for which its rows cannot be compared. Lives as long as
    /// this object.
    [[nodiscard]] const Result<System>& chip(const std::string& name);

    /// So many chips of it, on as few nodes as hold them; of a torus the most even shape. The error's message is the
    /// reason for which its rows cannot be compared. Lives as long as this object.
    [[nodiscard]] const Result<MeasuredSystem>& slice_of(const std::string& name, std::int64_t chips);

    /// Where a row was measured, and what its operation puts on the wires there. The error's message is the reason for
    /// which the row cannot be compared. Lives as long as this object.
    [[nodiscard]] const Result<MeasuredGroup>& group(const MeasuredCollective& row);

    /// Chips of what a table counts as a node of what it names, or of the one machine of make(); 0 where nobody knows.
    [[nodiscard]] std::int64_t chips_of_node(const std::string& name) const;

    /// The rates of the links used so far, with the machine that each belongs to.
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
    [[nodiscard]] Result<MeasuredSystem> even_slice(const std::string& name, std::int64_t chips);
    [[nodiscard]] Result<std::string> shape_on(const Machine& machine, const Place& place) const;
    [[nodiscard]] Result<MeasuredGroup> price(const MeasuredCollective& row, const Place& place);

    SystemNames names_;
    std::optional<MeasuredOn> on_;
    std::map<std::pair<std::string, std::vector<std::string>>, Result<Machine>> machines_;  // read once each
    std::map<std::string, Result<System>> chips_;
    std::map<Place, Result<MeasuredSystem>> systems_;
    std::map<std::pair<std::string, std::int64_t>, Result<MeasuredSystem>> slices_;
    std::map<std::pair<Place, CollectiveKind>, Result<MeasuredGroup>> groups_;
};

}  // namespace roofline::core
