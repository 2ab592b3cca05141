#include "import/profile/communication_names.hpp"

#include <algorithm>
#include <string>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::string_view libraries[] = {
    "nccl",  "rccl", "cross_device_reduce", "one_shot_all_reduce", "two_shot_all_reduce", "multimem_all_reduce",
    "oneccl"};

struct CollectiveSpelling {
    std::string_view letters;  ///< without anything between them
    CollectiveKind kind;
};
// The first that fits counts: an all-reduce is no reduce.
constexpr CollectiveSpelling spellings[] = {
    {"allreduce", CollectiveKind::all_reduce},         {"crossdevicereduce", CollectiveKind::all_reduce},
    {"reducescatter", CollectiveKind::reduce_scatter}, {"allgather", CollectiveKind::all_gather},
    {"alltoall", CollectiveKind::all_to_all},          {"collectivepermute", CollectiveKind::permute},
    {"broadcast", CollectiveKind::broadcast},
};

}  // namespace

bool is_communication_kernel(std::string_view kernel) {
    const std::string name = lowered(kernel);
    return std::any_of(std::begin(libraries), std::end(libraries),
                       [&](std::string_view library) { return name.find(library) != std::string::npos; });
}

bool is_message_between_two(std::string_view name) {
    constexpr std::string_view names[] = {"send", "recv", "nccl:send", "nccl:recv"};
    return std::any_of(std::begin(names), std::end(names), [&](std::string_view each) {
        // "nccl:send 0->1"
        return name.starts_with(each) && (name.size() == each.size() || name[each.size()] == ' ');
    });
}

std::optional<CollectiveKind> collective_in_name(std::string_view name) {
    std::string letters;
    for (const char c : lowered(name)) {
        if (c >= 'a' && c <= 'z') letters.push_back(c);
    }
    if (is_message_between_two(name)) return CollectiveKind::permute;
    for (const CollectiveSpelling& spelling : spellings) {
        if (letters.find(spelling.letters) != std::string::npos) return spelling.kind;
    }
    return std::nullopt;
}

}  // namespace roofline::core
