#include "import/benchmark_load.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_requests = 1'000'000;

// Whether a text contains a date like 2026-04-17.
bool has_date(std::string_view text) {
    constexpr std::string_view form = "dddd-dd-dd";
    for (std::size_t at = 0; at + form.size() <= text.size(); ++at) {
        const bool matches = std::equal(form.begin(), form.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                                        [](char wanted, char c) { return wanted == 'd' ? is_digit(c) : c == wanted; });
        if (matches) return true;
    }
    return false;
}

std::int64_t whole(double tokens) {
    return std::max<std::int64_t>(1, std::llround(std::min(tokens, static_cast<double>(max_request_tokens))));
}

// numpy's randint(int(stated * shortest), stated + 1), as benchmarks of vLLM draw lengths.
LengthDistribution lengths_of(double stated, double shortest) {
    LengthDistribution lengths;
    lengths.mean = stated;
    if (shortest >= 1) return lengths;
    lengths.kind = LengthDistribution::Kind::uniform;
    lengths.least = whole(std::floor(stated * shortest));
    lengths.most = whole(stated);
    return lengths;
}

BenchmarkLoad::Run read_run(Reader& table) {
    BenchmarkLoad::Run run;
    run.prompt = table.whole("prompt", 1, max_request_tokens, 1);
    run.output = table.whole("output", 1, max_request_tokens, 1);
    run.requests = table.whole("requests", 1, most_requests, 1);
    table.finish();
    return run;
}

// A fraction above 0 and up to 1.
double read_fraction(Reader& table, std::string_view key, double otherwise) {
    const double fraction = table.number(key, otherwise);
    if (fraction > 1) table.fault(key, "out_of_range", table.of(key) + " must be at most 1");
    return fraction;
}

BenchmarkLoad::Server read_server(Reader& table) {
    BenchmarkLoad::Server server{table.required_text("software"), read_fraction(table, "memory_fraction", 1)};
    table.finish();
    return server;
}

BenchmarkLoad read_benchmark(Reader& table, const Citations& citations) {
    BenchmarkLoad load;
    load.publisher = table.required_text("publisher");
    load.source = citations.resolve(table.required_text("source"));
    load.dated = table.flag("dated");
    load.noted = table.text("noted");
    load.in_flight = table.whole("in_flight", 1, most_requests, 0);
    load.at_once = table.flag("at_once");
    load.shortest = read_fraction(table, "shortest", 0);
    load.rate = table.number("rate", 0);
    load.per_concurrency = table.whole("per_concurrency", 1, most_requests, 0);
    load.requests = table.whole("requests", 1, most_requests, 0);
    load.chunk = table.whole("chunk", 1, max_request_tokens, 0);
    load.prompts_first = table.flag("prompts_first");
    load.first_tokens_alone = table.flag("first_tokens_alone");
    if (table.has("memory_fraction")) load.memory_fraction = read_fraction(table, "memory_fraction", 1);
    for (Reader& server : table.each("server")) load.servers.push_back(read_server(server));
    for (Reader& run : table.each("run")) load.runs.push_back(read_run(run));
    table.finish();
    return load;
}

}  // namespace

BenchmarkDrive BenchmarkLoad::of(double prompt, double output, double concurrency, std::string_view software) const {
    BenchmarkDrive drive;
    if (shortest > 0) {
        drive.lengths.emplace();
        drive.lengths->prompt = lengths_of(prompt, shortest);
        drive.lengths->output = lengths_of(output, shortest);
    }
    drive.rate = rate;
    drive.chunk = chunk;
    drive.prompts_first = prompts_first;
    drive.first_tokens_alone = first_tokens_alone;
    drive.memory_fraction = memory_fraction;
    for (const Server& each : servers) {
        if (same_library(each.software, software)) drive.memory_fraction = each.memory_fraction;
    }
    drive.requests = requests > 0 ? requests : std::llround(concurrency * static_cast<double>(per_concurrency));
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& each) {
        return static_cast<double>(each.prompt) == prompt && static_cast<double>(each.output) == output;
    });
    if (run != runs.end()) drive.requests = run->requests;
    drive.at_once = at_once && drive.requests > 0;
    return drive;
}

const BenchmarkLoad* BenchmarkLoads::find(std::string_view source, std::string_view notes, double in_flight) const {
    const auto found = std::find_if(publishers.begin(), publishers.end(), [&](const BenchmarkLoad& each) {
        return source.starts_with(each.publisher) && (!each.dated || has_date(notes)) &&
               notes.find(each.noted) != std::string_view::npos &&
               (each.in_flight == 0 || static_cast<double>(each.in_flight) == in_flight);
    });
    return found == publishers.end() ? nullptr : &*found;
}

Result<BenchmarkLoads> parse_benchmark_loads(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    BenchmarkLoads loads;
    for (Reader& table : file.each("benchmark")) loads.publishers.push_back(read_benchmark(table, text.citations()));
    file.finish();
    ROOFLINE_CHECK(text.status());
    return loads;
}

const BenchmarkLoads& built_in_benchmark_loads() {
    // a test reads this file; if it were invalid, all rows would be taken as typical
    static const BenchmarkLoads loads = [] {
        auto read = parse_benchmark_loads(embedded_benchmark_loads(), "benchmark_loads.toml");
        return read ? std::move(*read) : BenchmarkLoads{};
    }();
    return loads;
}

}  // namespace roofline::core
