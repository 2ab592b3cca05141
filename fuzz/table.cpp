// Any text as a measurement table, compared with its predictions and printed in every format.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "app/request.hpp"

using namespace roofline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ValidateRequest validate;
    validate.table.assign(reinterpret_cast<const char*>(data), size);
    validate.table_name = "fuzz.csv";
    validate.plot = true;
    for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
        const Response response = handle(Request{validate, format, false});
        const bool answered = !response.error && !response.out.empty() && !response.svg.empty();
        const bool refused = response.error && response.exit_code == 2 && !response.error->message.empty();
        if (!answered && !refused) std::abort();
    }
    return 0;
}
