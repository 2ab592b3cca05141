// Fuzzer for the outputs of the supported tools, and for the machine files made from them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "app/request.hpp"
#include "machine/machine.hpp"
#include "require.hpp"

using namespace roofline::core;

namespace {

void require_answered(const Response& response) {
    const bool answered = !response.error && !response.out.empty();
    const bool refused = response.error && response.exit_code == 2 && !response.error->message.empty();
    require(answered || refused);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const char* base : {"", "mi300x"}) {
        ImportRequest import;
        import.files = {{"fuzz", text}};
        import.output = "fuzz.toml";
        if (*base != '\0') import.base = MachineRef{base, {}, {}};
        for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
            const Response response = handle(Request{import, format, false});
            require_answered(response);
            for (const NamedText& file : response.files) require(parse_machine(file.text, file.name).has_value());
        }
    }
    for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
        TraceRequest trace;
        trace.profiles = {
            {"fuzz.csv", [&]() -> Result<std::unique_ptr<ByteSource>> { return std::make_unique<TextSource>(text); }}};
        trace.machines = {{"h100-sxm", {}, {}}};
        trace.plot = PlotKind::roofline;
        require_answered(handle(Request{trace, format, false}));
    }
    ValidateRequest validate;
    validate.table = text;
    validate.table_name = "fuzz.txt";
    validate.machines = {{"h100-sxm", {}, {}}};
    validate.collective = "all-reduce";
    const Response response = handle(Request{validate, Format::text, false});
    require(response.error ? response.exit_code == 2 : !response.out.empty());
    return 0;
}
