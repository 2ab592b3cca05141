// One element of a statement's result, computed in plain loops and double precision from memory as it stands.
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

/// Memory of a value as it stands: row by row in the order of its type's dimensions, on the host. Null where no array holds it.
struct HeldValue {
    const void* bytes = nullptr;
    Dtype dtype = Dtype::f32;
};

using HeldValues = std::function<HeldValue(ValueId)>;

/// The element at this place of its memory.
[[nodiscard]] double element_at(const HeldValue& held, std::int64_t index);

/// Where the shares of groups begin that chips fill with rows of their own: by operation, named by its result, the dimensions of
/// rows that are split, and how many ways; the share of the first is outermost.
using GroupShares = std::map<ValueId, std::vector<std::pair<std::string, std::int64_t>>>;

/// Computes elements of a statement's result, one place after the other. What operations before the last one make is computed
/// again for each element that needs it; only the last row of what works along one stays.
class ReferenceElement {
public:
    ReferenceElement(const Program& program, const Statement& statement, const HeldValues& held,
                     GroupShares shares = {});

    /// Elements of the result; `index` below counts them row by row.
    [[nodiscard]] std::int64_t count() const;
    void go_to(std::int64_t index);
    /// A statement that scatters is looked at where it writes: goes, along what is written, to where a random update does.
    [[nodiscard]] bool scatters() const;
    void go_to_update(RandomBits& random);

    [[nodiscard]] std::int64_t index() const;
    [[nodiscard]] std::vector<std::int64_t> indices() const;  ///< of each dimension of the result
    /// Whether nobody needs the element: a mask with a window lies over it.
    [[nodiscard]] bool beyond_window(const Value& value) const;
    /// Before it is stored.
    [[nodiscard]] Bounded value();

    /// Steps that one element takes, about.
    [[nodiscard]] double cost() const;

private:
    /// Dimensions by number: their places and sizes stand under it.
    using Slots = std::vector<std::size_t>;

    /// An operand with its dimensions as places of the element that is computed.
    struct Reader {
        int made_by = -1;  ///< operation of the statement, or memory
        HeldValue held;
        Slots slots;
        std::vector<std::int64_t> strides;
    };

    struct Operation {
        const Op* op = nullptr;
        std::vector<Reader> inputs;
        Slots output;
        Slots summed;                     ///< what a product sums, or a function works along
        Slots taps;                       ///< of a convolution; of rows that are put together, all that is summed
        std::optional<Reader> choices{};  ///< of experts
        Slots shares{};                   ///< of rows that chips fill groups with, outermost first
        std::vector<std::int64_t> ways{};
        std::vector<std::int64_t> place_of{};   ///< by choice: among the places of all groups, or -1
        std::vector<std::int64_t> choice_at{};  ///< and the other way round
        double fill = 0;
        Rounding rounding{Dtype::f32};
        // the row that was computed last, for functions that work along one
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
    /// Adds what `visit` gives, the factors of a term, at every place of op.taps.
    template <class Visit>
    [[nodiscard]] Bounded summed_up(const Operation& op, Visit visit);
    /// Visits every place of these dimensions and comes back to where it was.
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
