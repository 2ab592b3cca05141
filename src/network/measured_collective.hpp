// A published measurement of a collective.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// One row of a table of measurements.
struct MeasuredCollective {
    int line = 0;              ///< in the table
    std::string source;        ///< publisher, as the table gives it
    std::string system;        ///< as the table calls it: "H100-SXM x8 NVSwitch", "h100_sxm"
    std::string link;          ///< what the table says about its links: "NVLink3 pairwise"; "" if it says nothing
    std::int64_t members = 0;  ///< devices of one group
    std::int64_t nodes = 1;    ///< as the table counts them (trays, in an NVL72)
    CollectiveKind kind = CollectiveKind::all_gather;
    std::optional<Dtype> dtype;
    /// The whole array of the group, V of docs/method/networks.md: the gathered array, the array that each member holds
    /// before it is summed, or the array that all hold together before an all-to-all or a permute.
    double bytes = 0;
    double size = 0;  ///< as nccl-tests count it: V, but the part of one member for all-to-all and permute
    double time_s = 0;
    double rounding_s = 0;  ///< rounding error of the time in the table: half a unit of its last digit
    std::string software;   ///< library and version in lower case, "nccl 2.27.3", "vllm 0.24.0"; "" if not given
    std::string algorithm;  ///< "custom", "one-shot", "two-shot", "nvls", "tree", "ring" ...; "" if the library chose
    std::string launch;     ///< "eager", "graph", "one process", "numa balancing"; "" if not given
    bool in_place = false;
    std::int64_t groups = 1;  ///< groups that ran the same collective at the same time

    /// Returns "custom graph", "in-place"; "" for the default of a library.
    [[nodiscard]] std::string variant() const {
        std::string text = algorithm;
        if (!launch.empty()) text += (text.empty() ? "" : " ") + launch;
        if (in_place) text += text.empty() ? "in-place" : " in-place";
        return text;
    }
};

}  // namespace roofline::core
