// Any text as a measurement table, compared with its predictions and printed, in a format that its length chooses.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "app/request.hpp"

using namespace roofline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A row of training is a whole step to price: seconds of an unoptimised build with sanitizers. Few rows show as much as many.
    constexpr std::ptrdiff_t most_lines = 4;
    if (std::count(data, data + size, std::uint8_t{'\n'}) > most_lines) return 0;
    constexpr Format formats[] = {Format::text, Format::json, Format::csv, Format::markdown};
    ValidateRequest validate;
    validate.table.assign(reinterpret_cast<const char*>(data), size);
    validate.table_name = "fuzz.csv";
    validate.plot = true;
    const Response response = handle(Request{validate, formats[size % std::size(formats)], false});
    const bool answered = !response.error && !response.out.empty() && !response.svg.empty();
    const bool refused = response.error && response.exit_code == 2 && !response.error->message.empty();
    if (!answered && !refused) std::abort();
    return 0;
}
