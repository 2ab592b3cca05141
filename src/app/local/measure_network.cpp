#include "app/local/measure_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/local/network_report.hpp"
#include "app/local/on_ranks.hpp"
#include "app/local/this_machine.hpp"
#include "machine/machine_text.hpp"
#include "measure/network/all_ranks.hpp"
#include "measure/run/cpu_device.hpp"

namespace roofline::core {

namespace {

ExchangeTimingOptions timing_options(Effort effort) {
    ExchangeTimingOptions options;
    options.sampling = {9, 0.002, 0.004, 0.3, 1, 0.985};
    if (effort == Effort::quick) {
        options.step = 4;
        options.max_bytes = std::size_t{16} << 20;
        options.sampling = {5, 0.001, 0.002, 0.1, 1, 0.985};
    } else if (effort == Effort::thorough) {
        options.sampling = {25, 0.004, 0.02, 1.5, 1, 0.985};
    }
    return options;
}

// The two arrays of each rank may take a quarter of the free memory.
std::size_t max_bytes(RankGroup& ranks, std::size_t wanted) {
    const auto free = static_cast<double>(free_memory());
    const auto share = static_cast<std::size_t>(std::max(free / 8 / ranks.size(), 4096.0));
    std::size_t most = wanted;
    while (most > share) most /= 2;
    return most;
}

// Returns the machine of the existing file, or, if there is none, one of which nothing is known yet.
Result<Machine> machine_before(const MeasureRequest& request) {
    if (request.before) return parse_machine(request.before->text, request.before->name);
    Machine machine;
    machine.id = "this";
    machine.name = "this machine";
    machine.kind = "cpu";
    return machine;
}

// Returns the name of the table: "this-network.csv" for "this.toml".
std::string table_name(const std::string& machine_file) {
    const bool toml = machine_file.ends_with(".toml");
    return machine_file.substr(0, machine_file.size() - (toml ? 5 : 0)) + "-network.csv";
}

Result<Response> answer(const MeasureRequest& request, Format format, NetworkTiming timing) {
    ROOFLINE_TRY(auto path, request.output.empty() ? this_machine_path() : Result<std::string>(request.output));
    if (request.output.empty()) {
        ROOFLINE_CHECK(make_folder_of(path));
    }
    ROOFLINE_TRY(auto machine, machine_before(request));
    ROOFLINE_TRY(auto network, with_network(machine, timing));
    NetworkReport report{std::move(timing), std::move(network), "this", {}, {}};
    Response response;
    if (request.before) {
        ROOFLINE_TRY(auto file,
                     machine_file(report.network, request.before->text, request.before->name, report.timing));
        response.files.push_back({path, std::move(file)});
    } else {
        report.notes.push_back(
            fmt::format("{} does not exist, so only a table is written: run `roofline measure cpu` and then "
                        "this command again to use `--on this:{}`",
                        path, report.timing.ranks));
    }
    if (report.timing.hosts > 1) {
        report.notes.emplace_back(
            "the ranks are on several hosts: shared memory and the links between hosts are measured as one tier");
    }
    response.files.push_back(
        {table_name(path), exchange_table(report.timing.timed, report.system, software_name(report.timing.library))});
    for (const NamedText& file : response.files) report.files.push_back(file.name);
    response.out = network_report(report, format);
    return response;
}

}  // namespace

Result<Response> measure_network(const MeasureRequest& request, Format format, Progress& progress) {
    return on_ranks("mpirun -n 2 roofline measure network", request.rank_timeout_s,
                    [&](RankGroup& ranks) { return measure_network(request, format, progress, ranks); });
}

Result<Response> measure_network(const MeasureRequest& request, Format format, Progress& progress, RankGroup& ranks) {
    if (ranks.size() < 2) {
        return fail("one_rank", "there is only one rank, so there is nothing to measure",
                    "mpirun -n 2 roofline measure network");
    }
    ExchangeTimingOptions options = timing_options(request.effort);
    ROOFLINE_TRY(auto hosts, ranks.hosts());
    ROOFLINE_TRY(auto room, greatest(ranks.world(), -static_cast<double>(max_bytes(ranks, options.max_bytes))));
    options.max_bytes = static_cast<std::size_t>(-room);
    Progress silent;
    ROOFLINE_TRY(auto timed, time_exchanges(ranks.world(), options, ranks.root() ? progress : silent));
    if (!ranks.root()) return Response{};
    return answer(request, format, {std::move(timed), ranks.library(), ranks.size(), hosts, request.date});
}

}  // namespace roofline::core
