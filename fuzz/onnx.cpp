// Fuzzer for ONNX models: a module that can be read is sound, and is lowered or refused.
#include <cstddef>
#include <cstdint>
#include <string>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "import/xla/onnx/read_onnx.hpp"
#include "sound_module.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    auto module = read_onnx(bytes, "fuzz", {});
    if (!module && module.error().code == "unbound_dimension") module = read_onnx(bytes, "fuzz", {{"batch", 4}});
    if (!module) {
        require(!module.error().message.empty());
        return 0;
    }
    require_sound(*module);
    XlaCostOptions options;
    options.multiply_loops = true;
    options.unknown = 0;
    const auto cost = xla_cost(*module, options);
    if (!cost) return 0;
    const auto imported = lower_module(*module, *cost, "fuzz");
    require(imported || !imported.error().message.empty());
    return 0;
}
