// Fuzzer for calibration files: any bytes are read or refused, and a calibration that was read is the same after it is
// written and read again.
#include <cstdlib>
#include <string_view>

#include "calibrate/calibration.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace roofline::core;
    const auto read = parse_calibration(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.toml");
    if (!read) return 0;
    const std::string text = calibration_text(*read);
    const auto again = parse_calibration(text, "again.toml");
    if (!again || calibration_text(*again) != text) std::abort();
    return 0;
}
