// A collective that somebody timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// One row of a measurement table.
struct MeasuredCollective {
    int line = 0;              ///< of the table
    std::string source;        ///< who published it, as the table says
    std::string system;        ///< as the table names it: "H100-SXM x8 NVSwitch", "h100_sxm"
    std::string link;          ///< what the table says of its links: "NVLink3 pairwise"; "" where it says nothing
    std::int64_t members = 0;  ///< devices of one group
    std::int64_t nodes = 1;    ///< as the table counts them (trays, in an NVL72)
    CollectiveKind kind = CollectiveKind::all_gather;
    std::optional<Dtype> dtype;
    /// The whole array of the group, V of docs/method/networks.md: what is gathered, what each member holds before it
    /// is summed, what all hold together before it is exchanged (all-to-all) or handed on (permute).
    double bytes = 0;
    double size = 0;  ///< as nccl-tests count it: V, but one member's part for all-to-all and permute
    double time_s = 0;
    double rounding_s =
        0;  ///< the time may be off by so much because the table rounded it: half a step of its clock or rate
    std::string software;  ///< library and version in lower case, "nccl 2.27.3", "vllm 0.24.0"; "" where not said
    std::string
        algorithm;       ///< "custom", "one-shot", "two-shot", "nvls", "tree", "ring" ...; "" where the library chose
    std::string launch;  ///< "eager", "graph"; "" where not said
    bool in_place = false;
    std::int64_t groups = 1;  ///< groups that did the same at the same time

    /// "custom graph", "in-place"; "" for what a library does by itself.
    [[nodiscard]] std::string variant() const {
        std::string text = algorithm;
        if (!launch.empty()) text += (text.empty() ? "" : " ") + launch;
        if (in_place) text += text.empty() ? "in-place" : " in-place";
        return text;
    }
};

}  // namespace roofline::core
