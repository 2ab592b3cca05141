// Destinations of the token rows that are exchanged with experts on other chips.
#pragma once

#include <optional>
#include <vector>

#include "network/system.hpp"

namespace roofline::core {

/// Returns the expected number of `parts` (chips or nodes), with equal numbers of the `experts`, that a token reaches
/// which chooses `choices` distinct experts at random: parts * (1 - C(E - E/parts, k) / C(E, k)). If the token is
/// limited to K of G groups of experts, all equally likely, it is the sum over the parts of 1 - the mean of C(E' - s,
/// k) / C(E', k), where E' = K E / G experts are in the chosen groups and s of these on the part. If a part has less
/// than one expert, the result is `choices`.
[[nodiscard]] double parts_reached(double experts, double choices, double parts, ExpertGroups limit = {});

/// Rows that a laid-out program sends to experts or receives from them.
struct ExpertRows {
    bool back = false;     ///< true for combine, false for dispatch
    double choices = 1;    ///< experts per token
    Polynomial experts;    ///< of all chips that exchange data
    Polynomial row_bytes;  ///< bytes that are sent per token
};

/// Returns the rows of a message in the program of one chip. Empty if it is not an all-to-all of an operation that
/// groups rows by experts.
[[nodiscard]] std::optional<ExpertRows> expert_rows(const Program& local, const Message& message);

/// Tokens that every member of a group of chips sends to experts, which are distributed evenly over the members.
struct RoutedTokens {
    double tokens = 0;  ///< of one member
    double choices = 1;
    double experts = 1;  ///< of all members
    double row_bytes = 0;
};

/// The links between the members of such a group.
struct ExchangeLinks {
    struct Tier {
        double s_per_byte = 0;  ///< time of its busiest link per byte of all members together
        double inside = 1;      ///< members behind one member of the tier
        double through = 1;     ///< members behind all members of the tier
    };
    double members = 1;
    double link_rate = 0;   ///< rate of the innermost tier in bytes/s
    double chip_cores = 0;  ///< cores of a chip; 0 if not published
    std::vector<Tier> tiers;
};

/// Returns the links of a group. `load` is that of an all-to-all over the axes. Empty for one member, and if a tier has
/// no published rate.
[[nodiscard]] std::optional<ExchangeLinks> exchange_links(const CollectiveLoad& load,
                                                          const std::vector<const PlacedAxis*>& axes,
                                                          const Slice& slice);

/// Returns the mesh axes of a message.
[[nodiscard]] std::vector<const PlacedAxis*> axes_of(const Message& message, const System& system);

/// Returns the tokens of an exchange in which the rows for all choices of all members' tokens have `bytes` bytes.
[[nodiscard]] RoutedTokens routed_tokens(double bytes, double choices, double experts, double row_bytes,
                                         const ExchangeLinks& wires);

/// The traffic of an exchange.
struct RoutedRows {
    double rows = 0;    ///< rows that one member sends to others
    double wire_s = 0;  ///< time on the busiest link of any tier at its published rate
};

/// Returns the traffic if every choice is sent separately, or, if `once`, a token is sent once to each chip that has
/// one of its experts, and between two nodes once for all chips there, which forward it inside the node.
[[nodiscard]] RoutedRows routed_rows(const RoutedTokens& tokens, const ExchangeLinks& wires, bool once);

}  // namespace roofline::core
