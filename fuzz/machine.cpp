// Fuzzer for machine files. Lines after one with three dashes are what-ifs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/machine.hpp"
#include "require.hpp"

using namespace roofline::core;

namespace {

void require_sane(const Machine& machine) {
    require(!machine.id.empty() && !machine.name.empty());
    for (const Peak& peak : machine.peaks) require(!peak.rate.value || peak.rate.value->value > 0);
    for (const MemoryLevel& level : machine.memory) {
        require(!level.bandwidth.value || level.bandwidth.value->value > 0);
        require(!level.capacity.value || level.capacity.value->value > 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::string_view sets;
    constexpr std::string_view dashes = "\n---\n";
    if (const std::size_t at = text.find(dashes); at != std::string_view::npos) {
        sets = text.substr(at + dashes.size());
        text = text.substr(0, at);
    }
    auto machine = parse_machine(text, "fuzz.toml");
    if (!machine) {
        require(!machine.error().message.empty());
        return 0;
    }
    require_sane(*machine);
    while (!sets.empty()) {
        const std::size_t end = sets.find('\n');
        const std::size_t changes = machine->changes.size();
        const auto status = set_figure(*machine, sets.substr(0, end));
        // A changed clock also changes the rates that depend on it, so one what-if may add several changes.
        require(status ? machine->changes.size() > changes : machine->changes.size() == changes);
        require_sane(*machine);
        if (end == std::string_view::npos) break;
        sets.remove_prefix(end + 1);
    }
    return 0;
}
