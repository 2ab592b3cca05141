#include "app/handle_fit_servers.hpp"

#include <algorithm>
#include <map>

#include "predict/compare/measured_serving.hpp"
#include "report/fit/server_fit.hpp"

namespace roofline::core {

namespace {

using Reasons = std::map<std::string, std::int64_t>;

Status collect(const NamedText& file, bool strict, MeasuredServings& servings, std::vector<ServerSample>& samples,
               Reasons& skipped) {
    ROOFLINE_TRY(auto reader, CsvReader::open(file.text, file.name));
    if (!strict) reader.leave_out_bad_rows();
    ROOFLINE_TRY(auto table, read_serving_table(reader));
    for (const SkippedRow& row : table.skipped) ++skipped[row.reason];
    for (const MeasuredServing& row : table.rows) {
        auto sample = servings.sample(row);
        if (sample) {
            samples.push_back(std::move(*sample));
        } else {
            ++skipped[sample.error().message];
        }
    }
    return {};
}

}  // namespace

bool are_serving_tables(const FitRequest& request) {
    return !request.tables.empty() &&
           std::all_of(request.tables.begin(), request.tables.end(), [](const NamedText& file) {
               const auto reader = CsvReader::open(file.text, file.name);
               return reader && is_serving_table(reader->header());
           });
}

Result<Response> handle_fit_servers(const FitRequest& request, Format format) {
    if (!request.output.empty() && !request.output.ends_with(".toml")) {
        return fail("bad_request", "laws of servers go into one file", "name it: -o servers.toml");
    }
    ROOFLINE_TRY(auto systems, measured_systems(request.machines, request.sets));
    ROOFLINE_TRY(auto servings, MeasuredServings::make(std::move(systems), Calibrations::built_in()));
    std::vector<ServerSample> samples;
    Reasons skipped;
    for (const NamedText& file : request.tables) {
        ROOFLINE_CHECK(collect(file, request.strict, servings, samples, skipped));
    }
    ServerFitReport report;
    report.laws = fit_servers(std::move(samples));
    report.laws.fitted = request.date;
    report.skipped.assign(skipped.begin(), skipped.end());
    std::sort(report.skipped.begin(), report.skipped.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    Response response;
    if (report.laws.servers.empty()) {
        response.exit_code = 1;
    } else if (!request.output.empty()) {
        report.file = request.output;
        response.files.push_back({request.output, server_laws_text(report.laws)});
    }
    response.out = server_fit_report(report, format);
    return response;
}

}  // namespace roofline::core
