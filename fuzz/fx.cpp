// Fuzzer for graphs of PyTorch: what can be read is a sound module that has a cost and a program, or an error says what
// is wrong.
#include <cstddef>
#include <cstdint>
#include <string>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/fx/fx_text.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "sound_module.hpp"
#include "work/work.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto module = read_fx_text(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
    if (!module) {
        require(!module.error().message.empty());
        return 0;
    }
    require_sound(*module);
    XlaCostOptions options;
    options.multiply_loops = true;
    options.price_custom_calls = true;
    options.unknown = 0;
    const auto cost = xla_cost(*module, options);
    if (!cost) {
        require(!cost.error().message.empty());
        return 0;
    }
    const auto imported = lower_module(*module, *cost, "fuzz.json");
    if (!imported) {
        require(!imported.error().message.empty());
        return 0;
    }
    const auto work = derive_work(imported->program);
    require(work || !work.error().message.empty());
    return 0;
}
