// Fuzzer for measurement tables: a text is read as each kind of table. A short table is also compared with its
// predictions and printed, in a format that depends on its length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "app/request.hpp"
#include "import/collective_table.hpp"
#include "import/kernel_table.hpp"
#include "import/serving_table.hpp"
#include "import/training_table.hpp"
#include "require.hpp"
#include "text/csv.hpp"

using namespace roofline::core;

namespace {

template <class Table>
void read(std::string_view text, Result<Table> (*reader_of)(CsvReader&)) {
    auto reader = CsvReader::open(text, "fuzz.csv");
    if (!reader) return;
    const auto table = reader_of(*reader);
    require(table || !table.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read(text, read_collective_table);
    read(text, read_kernel_table);
    read(text, read_serving_table);
    read(text, read_training_table);
    // Each row of a training table prices a whole step, which takes seconds in an unoptimized build with sanitizers.
    constexpr std::ptrdiff_t most_lines = 2;
    if (std::count(text.begin(), text.end(), '\n') > most_lines) return 0;
    constexpr Format formats[] = {Format::text, Format::json, Format::csv, Format::markdown};
    ValidateRequest validate;
    validate.table = text;
    validate.table_name = "fuzz.csv";
    validate.plot = size % 2 == 0 ? ValidationPlot::scatter : ValidationPlot::frontier;
    const Response response = handle(Request{validate, formats[size % std::size(formats)], false});
    const bool answered = !response.error && !response.out.empty() && !response.svg.empty();
    const bool refused = response.error && response.exit_code == 2 && !response.error->message.empty();
    require(answered || refused);
    return 0;
}
