// Fuzzer for the files of `roofline plan fleet`: what can be read has pools with chips, jobs with names, and a period.
#include <cstddef>
#include <cstdint>
#include <string>

#include "app/fleet_file.hpp"
#include "require.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const FleetLoaders loaders{[](const std::string& name) -> Result<NamedText> { return NamedText{name, ""}; },
                               [](const std::string& name) -> Result<MachineRef> { return MachineRef{name, {}}; }};
    const auto fleet = read_fleet({"fuzz.toml", text}, loaders);
    if (!fleet) {
        require(!fleet.error().message.empty());
        return 0;
    }
    require(fleet->period_s > 0 && !fleet->pools.empty() && !(fleet->trained.empty() && fleet->served.empty()));
    for (const FleetPoolRequest& pool : fleet->pools) require(pool.chips > 0 && !pool.machine.name.empty());
    for (const FleetTrainingRequest& job : fleet->trained) require(!job.name.empty() && !job.plan.train.tokens.empty());
    for (const FleetServingRequest& job : fleet->served) require(!job.name.empty() && !job.plan.serve.rate.empty());
    return 0;
}
