#include "plan/interruptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

double number(Reader& table, std::string_view key) {
    const std::vector<double> values = table.numbers(key);
    if (values.size() == 1) return values.front();
    table.fault(key, "bad_value", fmt::format("{} must be one number above 0", table.of(key)));
    return 1;
}

PublishedInterruptions read_system(Reader& table) {
    PublishedInterruptions read;
    read.system = table.required_text("name");
    read.machines = table.texts("machines");
    if (read.machines.empty()) table.fault("machines", "missing_key", "[[system]] has no machines");
    const double interruptions = number(table, "interruptions");
    const double chips = number(table, "chips");
    const double days = number(table, "days");
    read.rate = interruptions / (chips * days * 86400);
    read.source = table.required_text("source");
    table.text("note");
    table.finish();
    return read;
}

}  // namespace

const PublishedInterruptions* InterruptionRecords::find(std::string_view machine) const {
    const auto found = std::find_if(systems.begin(), systems.end(), [&](const PublishedInterruptions& each) {
        return std::find(each.machines.begin(), each.machines.end(), machine) != each.machines.end();
    });
    return found == systems.end() ? nullptr : &*found;
}

Result<InterruptionRecords> parse_interruptions(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    InterruptionRecords records;
    if (auto restart = file.inner("restart")) {
        records.restart_s = number(*restart, "minutes") * 60;
        records.restart_source = restart->required_text("source");
        restart->finish();
    } else {
        file.fault("restart", "missing_key", "the table [restart] is missing");
    }
    for (Reader& table : file.each("system")) records.systems.push_back(read_system(table));
    file.finish();
    ROOFLINE_CHECK(text.status());
    return records;
}

const InterruptionRecords& published_interruptions() {
    // a test reads this file; if it were invalid, no rate would be known
    static const InterruptionRecords records = [] {
        auto read = parse_interruptions(embedded_interruptions(), "interruptions.toml");
        return read ? std::move(*read) : InterruptionRecords{};
    }();
    return records;
}

}  // namespace roofline::core
