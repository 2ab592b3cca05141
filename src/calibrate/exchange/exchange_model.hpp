// The exchange model: the time of expert dispatch and combine by the kernels of a library.
#pragma once

#include <string_view>

#include "calibrate/exchange/routed_rows.hpp"
#include "calibrate/fit/least_squares.hpp"

namespace roofline::core {

/// The two exchanges of an expert layer.
enum class ExchangeStep {
    dispatch,  ///< tokens are sent to the experts
    combine,   ///< results are sent back
};

/// Returns the name of a step: "dispatch".
[[nodiscard]] std::string_view exchange_name(ExchangeStep step);

/// The input of the model for an exchange, per member of the group. Bytes are given as their time at the published rate
/// of the innermost link, so that the model's parameters are fractions of this rate.
struct ExchangePoint {
    double members = 1;
    double experts = 1;     ///< of all members
    double tokens = 0;      ///< of one member
    double row_s = 0;       ///< of one token's row
    RoutedRows by_choice;   ///< if each choice of a token is sent separately
    RoutedRows by_chip;     ///< if a token is sent once to each chip, and between two nodes once for all chips there
    double cores = 0;       ///< cores that the exchange may use; 0 if not specified
    double chip_cores = 0;  ///< cores of the chip
};

/// Returns the input of the model for tokens that are exchanged over these links.
[[nodiscard]] ExchangePoint exchange_point(const RoutedTokens& tokens, const ExchangeLinks& wires);

/// The parameters of an exchange of E experts. The time in seconds is base + expert * E + row_s / row + wire_s / link +
/// (wire_s / core + copies * copy + tokens * row_s / read) / cores. `row`, `link`, `core` and `read` are fractions of
/// the link's rate; 0 omits the term.
struct ExchangeModel {
    double base_s = 0;
    double expert_s = 0;  ///< per expert: members announce the number of rows to it
    double row = 0;       ///< rate of a single row, however few rows there are
    double link = 0;
    double core = 0;    ///< rate that one core reaches
    double copy_s = 0;  ///< time of a core per row that it sends
    double read = 0;    ///< rate at which one core reads the tokens
    bool once = false;  ///< a token is sent once to each chip, otherwise once for each choice
    /// Cores that are used if the request does not specify them. 0: one per expert, or one per two, three ... experts
    /// so that they do not exceed the chip's cores.
    double cores = 0;

    bool operator==(const ExchangeModel&) const = default;
};

/// Returns the seconds of an exchange.
[[nodiscard]] double seconds_of(const ExchangeModel& model, const ExchangePoint& point);

/// Returns the number of cores that the exchange uses; at least one.
[[nodiscard]] double cores_of(const ExchangeModel& model, const ExchangePoint& point);

/// The parameters in the order in which least squares determine them; fractions of rates enter as their reciprocals.
inline constexpr std::size_t exchange_constant_count = 7;
using ExchangeConstants = ConstantsOf<exchange_constant_count>;
/// Returns the factors of base, expert, 1/row, 1/link, 1/core, copy and 1/read at a point, for a model with these
/// `once` and `cores`.
[[nodiscard]] ExchangeConstants exchange_features(const ExchangeModel& model, const ExchangePoint& point);
/// Returns the parameters of a model in this order.
[[nodiscard]] ExchangeConstants constants_of(const ExchangeModel& model);
/// Sets the parameters of a model from this order.
void set_constants(ExchangeModel& model, const ExchangeConstants& constants);

}  // namespace roofline::core
