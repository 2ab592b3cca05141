// Where the rows of tokens go that are exchanged with experts on other chips.
#pragma once

#include <optional>
#include <vector>

#include "network/system.hpp"

namespace roofline::core {

/// Of `parts` (chips, nodes) that hold `experts` in equal shares, the mean number that a token reaches which chooses
/// `choices` experts at random, no expert twice: parts * (1 - C(E - E/parts, k) / C(E, k)). Where the token is limited
/// to K of G groups of experts, all alike likely, it is the sum over the parts of 1 - the mean of C(E' - s, k) / C(E',
/// k), E' = K E / G experts in the groups that were chosen and s of these on the part. As many as there are choices
/// where a part has less than one expert.
[[nodiscard]] double parts_reached(double experts, double choices, double parts, ExpertGroups limit = {});

/// Rows that go to experts, or come back, as a laid-out program has them.
struct ExpertRows {
    bool back = false;     ///< what combine takes back; else what dispatch sends
    double choices = 1;    ///< experts of a token
    Polynomial experts;    ///< of all chips that exchange
    Polynomial row_bytes;  ///< of one token, as it goes
};

/// Of a message of the program of one chip. Empty for what is no all-to-all of rows that an operation groups by
/// experts.
[[nodiscard]] std::optional<ExpertRows> expert_rows(const Program& local, const Message& message);

/// Tokens that every member of a group of chips sends to experts which lie on the members in equal parts.
struct RoutedTokens {
    double tokens = 0;  ///< of one member
    double choices = 1;
    double experts = 1;  ///< of all members
    double row_bytes = 0;
};

/// The wires between the members of such a group.
struct ExchangeWires {
    struct Tier {
        double byte_s = 0;   ///< of its busiest link, for each byte that all members hold together
        double inside = 1;   ///< members behind one member of the tier
        double through = 1;  ///< and behind all of its members
    };
    double members = 1;
    double link_rate = 0;   ///< of the innermost tier, bytes a second
    double chip_cores = 0;  ///< of a chip; 0 where not published
    std::vector<Tier> tiers;
};

/// `load` is that of an all-to-all over the axes. Empty for one member, and where a tier has no published rate.
[[nodiscard]] std::optional<ExchangeWires> exchange_wires(const CollectiveLoad& load,
                                                          const std::vector<const PlacedAxis*>& axes,
                                                          const Slice& slice);

/// The axes of a mesh that a message goes over.
[[nodiscard]] std::vector<const PlacedAxis*> axes_of(const Message& message, const System& system);

/// Of an exchange of `bytes`, the rows of all choices of all members' tokens.
[[nodiscard]] RoutedTokens routed_tokens(double bytes, double choices, double experts, double row_bytes,
                                         const ExchangeWires& wires);

/// How rows go.
struct RoutedRows {
    double rows = 0;    ///< that one member sends to others
    double wire_s = 0;  ///< over the busiest link of any tier, at its published rate
};

/// What the exchange asks of the wires when every choice goes by itself, or `once`: a token goes once to each chip that
/// has an expert of it, from one node to another once for all chips there, which pass it on inside.
[[nodiscard]] RoutedRows routed_rows(const RoutedTokens& tokens, const ExchangeWires& wires, bool once);

}  // namespace roofline::core
