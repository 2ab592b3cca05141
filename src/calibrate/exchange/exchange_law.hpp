// The law of an exchange of tokens with experts on other chips: dispatch and combine as kernels of a library do them.
#pragma once

#include <string_view>

#include "calibrate/exchange/routed_rows.hpp"
#include "calibrate/fit/least_squares.hpp"

namespace roofline::core {

enum class ExchangeStep {
    dispatch,  ///< rows go to the experts
    combine,   ///< what they made of them comes back
};

/// "dispatch"
[[nodiscard]] std::string_view exchange_name(ExchangeStep step);

/// An exchange as the law sees it, of one member of the group. Bytes are given as the time they take at the innermost
/// link's published rate, so that constants are fractions of that rate.
struct ExchangePoint {
    double members = 1;
    double experts = 1;     ///< of all members
    double tokens = 0;      ///< of one member
    double row_s = 0;       ///< of one token's row
    RoutedRows by_choice;   ///< as they go when every choice goes by itself
    RoutedRows by_chip;     ///< when a token goes once to each chip, from node to node once for all chips there
    double cores = 0;       ///< that the exchange may take; 0 where nobody says
    double chip_cores = 0;  ///< that the chip has
};

[[nodiscard]] ExchangePoint exchange_point(const RoutedTokens& tokens, const ExchangeWires& wires);

/// base + expert * E + row_s / row + wire_s / link + (wire_s / core + copies * copy + tokens * row_s / read) / cores.
/// `row`, `link`, `core` and `read` are fractions of the link's rate; 0 leaves the term out.
struct ExchangeLaw {
    double base_s = 0;
    double expert_s = 0;  ///< for each expert: members tell it how many rows come
    double row = 0;       ///< at which one row goes through, however few there are
    double link = 0;
    double core = 0;    ///< that one core reaches
    double copy_s = 0;  ///< of a core for each row that it sends
    double read = 0;    ///< at which one core reads the tokens
    bool once = false;  ///< a token goes once to each chip; else once for every choice
    /// Cores that it takes where nobody says; 0: one for each expert, or for each two, three ... of them until the chip
    /// has so many.
    double cores = 0;

    bool operator==(const ExchangeLaw&) const = default;
};

[[nodiscard]] double seconds_of(const ExchangeLaw& law, const ExchangePoint& point);

/// Cores that the exchange takes; at least one.
[[nodiscard]] double cores_of(const ExchangeLaw& law, const ExchangePoint& point);

inline constexpr std::size_t exchange_constant_count = 7;
using ExchangeConstants = ConstantsOf<exchange_constant_count>;
/// What multiplies base, expert, 1/row, 1/link, 1/core, copy and 1/read at a point, for a law with this `once` and
/// `cores`.
[[nodiscard]] ExchangeConstants exchange_features(const ExchangeLaw& law, const ExchangePoint& point);
[[nodiscard]] ExchangeConstants constants_of(const ExchangeLaw& law);
void set_constants(ExchangeLaw& law, const ExchangeConstants& constants);

}  // namespace roofline::core
