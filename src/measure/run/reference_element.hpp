// Computes one element of a statement's result in plain loops and double precision from the stored arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/run/bounded.hpp"
#include "measure/run/fill.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Memory of a value on the host, row by row in the order of its type's dimensions. Null if no array holds it.
struct HeldValue {
    const void* bytes = nullptr;
    Dtype dtype = Dtype::f32;
};

using HeldValues = std::function<HeldValue(ValueId)>;

/// The element at `index` of its memory.
[[nodiscard]] double element_at(const HeldValue& held, std::int64_t index);

/// Describes the shares of expert groups that chips fill with their own rows. For each operation, named by its result,
/// it lists the split dimensions of rows and the degree of each split; the share of the first is outermost.
using GroupShares = std::map<ValueId, std::vector<std::pair<std::string, std::int64_t>>>;

/// Computes elements of a statement's result, one at a time. Results of earlier operations are recomputed for each
/// element that needs them; only the last row of a function that works along a dimension is kept.
class ReferenceElement {
public:
    ReferenceElement(const Program& program, const Statement& statement, const HeldValues& held,
                     GroupShares shares = {});

    /// Number of elements of the result; `index` below enumerates them row by row.
    [[nodiscard]] std::int64_t count() const;
    void go_to(std::int64_t index);
    /// Returns whether the statement scatters. If so, it is checked where it writes: the position moves to the
    /// destination of a random update.
    [[nodiscard]] bool scatters() const;
    void go_to_update(RandomBits& random);

    [[nodiscard]] std::int64_t index() const;
    [[nodiscard]] std::vector<std::int64_t> indices() const;  ///< one per dimension of the result
    /// Returns whether the element is unused because a mask with a window covers it.
    [[nodiscard]] bool beyond_window(const Value& value) const;
    /// The element before it is stored.
    [[nodiscard]] Bounded value();

    /// Approximate number of steps that one element takes.
    [[nodiscard]] double cost() const;

private:
    /// Dimensions by number: indices into the lists of their positions and sizes.
    using Slots = std::vector<std::size_t>;

    /// An operand whose dimensions are positions of the element that is computed.
    struct Reader {
        int made_by = -1;  ///< operation of the statement that makes it, or memory
        HeldValue held;
        Slots slots;
        std::vector<std::int64_t> strides;
    };

    struct Operation {
        const Op* op = nullptr;
        std::vector<Reader> inputs;
        Slots output;
        Slots summed;  ///< dimensions that a contraction sums or that a function works along
        /// Dimensions of a convolution's taps; all summed dimensions of operations on rows.
        Slots taps;
        std::optional<Reader> choices{};  ///< the experts that were chosen
        /// Split dimensions of rows whose chips fill shares of groups, outermost first.
        Slots shares{};
        std::vector<std::int64_t> ways{};
        std::vector<std::int64_t> place_of{};   ///< place of each choice among the places of all groups, or -1
        std::vector<std::int64_t> choice_at{};  ///< choice at each place, or -1
        double fill = 0;
        Rounding rounding{Dtype::f32};
        // the row that was computed last, for functions that work along a dimension
        std::vector<std::int64_t> row_at;
        std::vector<Bounded> row;
    };

    [[nodiscard]] Operation operation(const Op& op, const std::map<ValueId, int>& made, const HeldValues& held);
    [[nodiscard]] Reader reader(const Operand& input, const std::map<ValueId, int>& made, const HeldValues& held);
    [[nodiscard]] std::size_t slot(const std::string& dim);
    [[nodiscard]] Slots slots_of(const std::vector<std::string>& dims);
    [[nodiscard]] double places(const Slots& slots) const;
    [[nodiscard]] double cost(int index, const Slots& slots) const;

    [[nodiscard]] Bounded read(const Reader& reader);
    [[nodiscard]] Bounded made(int index);
    [[nodiscard]] Bounded product(const Operation& op);
    [[nodiscard]] Bounded element_by_element(const Operation& op);
    [[nodiscard]] Bounded turned(const Operation& op);
    [[nodiscard]] Bounded masked(const Operation& op);
    [[nodiscard]] Bounded gathered(const Operation& op);
    [[nodiscard]] Bounded scattered(const Operation& op);
    [[nodiscard]] Bounded slid(const Operation& op);
    [[nodiscard]] Bounded along(Operation& op);
    [[nodiscard]] Bounded dispatched(Operation& op);
    [[nodiscard]] Bounded combined(Operation& op);
    [[nodiscard]] Bounded added_up(const Operation& op);
    [[nodiscard]] Bounded correlated(const Operation& op);
    void find_rows(Operation& op, const std::map<ValueId, int>& made, const HeldValues& held);
    void route(Operation& op);
    [[nodiscard]] std::int64_t choice_here(const Operation& op) const;
    /// Adds up the terms at every place of op.taps; `visit` returns the factors of a term.
    template <class Visit>
    [[nodiscard]] Bounded summed_up(const Operation& op, Visit visit);
    /// Visits every place of these dimensions and restores the position.
    template <class Visit>
    void over(const Slots& slots, Visit visit);

    const Program& program_;
    GroupShares shares_;
    std::map<std::string, std::size_t> slots_;
    std::vector<std::int64_t> sizes_;
    std::vector<std::int64_t> place_;
    std::vector<Operation> ops_;
};

template <class Visit>
void ReferenceElement::over(const Slots& slots, Visit visit) {
    std::vector<std::int64_t> before;
    for (const std::size_t slot : slots) {
        before.push_back(place_[slot]);
        place_[slot] = 0;
    }
    while (true) {
        visit();
        std::size_t i = slots.size();
        while (i > 0 && ++place_[slots[i - 1]] == sizes_[slots[i - 1]]) place_[slots[--i]] = 0;
        if (i == 0) break;
    }
    for (std::size_t i = 0; i < slots.size(); ++i) place_[slots[i]] = before[i];
}

}  // namespace roofline::core
