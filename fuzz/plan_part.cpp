// Fuzzer for the files of parts of a search: what can be read is a part whose plans are those of its question, and is
// the same once it was written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/plan_part.hpp"
#include "require.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto part = read_part({"fuzz.json", text});
    if (!part) {
        require(!part.error().message.empty());
        return 0;
    }
    require(part->part.number >= 1 && part->part.number <= part->part.of);
    for (const FoundPlan& plan : part->found.best) {
        require(plan.setup.plan.chips() > 0 && plan.seconds >= 0 && plan.memory > 0);
    }
    const std::string written = part_json(*part);
    const auto again = read_part({"again.json", written});
    require(again.has_value() && part_json(*again) == written);
    const auto merged = merge_files({{"fuzz.json", text}});
    const bool lost = !merged && merged.error().message.find("`best`") != std::string::npos;
    require((merged || lost) == (part->part.of == 1));
    return 0;
}
