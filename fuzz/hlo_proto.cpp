// Fuzzer for HLO protos: a module that can be read is sound.
#include <cstddef>
#include <cstdint>
#include <string>

#include "import/xla/proto/hlo_proto.hpp"
#include "sound_module.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto module = read_hlo_proto(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    if (!module) {
        require(!module.error().message.empty());
        return 0;
    }
    require_sound(*module);
    return 0;
}
