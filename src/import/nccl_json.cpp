// Reads the JSON of nccl-tests -J, version 3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"
#include "import/nccl_run.hpp"
#include "text/json.hpp"
#include "text/source.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

class NcclJsonReader {
public:
    NcclJsonReader(std::string_view text, const std::string& source, const NcclHints& hints)
        : place_(text, source), hints_(hints) {}

    Result<CollectiveTable> read(const FileValue& root) {
        settings(root);
        const FileValue* results = root.find("results");
        if (results == nullptr || results->items.empty()) {
            return place_.fail_at({1, 1}, "no_rows", "this nccl-tests output has no results",
                                  "was the run interrupted before its first size?");
        }
        for (const FileValue& result : results->items) {
            for (const bool in_place : {false, true}) {
                const FileValue* body = result.find(in_place ? "in_place" : "out_of_place");
                if (body == nullptr || body->is(FileValue::Kind::null)) continue;
                ROOFLINE_CHECK(time(result, *body, in_place));
            }
        }
        return std::move(table_);
    }

private:
    void settings(const FileValue& root) {
        if (const FileValue* arguments = root.find("args"); arguments != nullptr && !arguments->items.empty()) {
            run_.operation = test_in(arguments->items.front().text);
        }
        if (const FileValue* version = root.find("nccl_version"); version != nullptr && std::isfinite(version->real)) {
            run_.software = nccl_version(version->real);
        }
        const FileValue* config = root.find("config");
        if (config == nullptr) return;
        if (const FileValue* graph = config->find("graph")) run_.graph = graph->real > 0;
        const FileValue* devices = config->find("devices");
        if (devices == nullptr) return;
        // The first device of each process is listed; all processes have equally many.
        std::int64_t each = 1;
        for (const std::string_view key : {"nthreads", "ngpus"}) {
            const FileValue* count = config->find(key);
            if (count != nullptr && count->real >= 1 && count->real <= 1e4)
                each *= static_cast<std::int64_t>(count->real);
        }
        for (const FileValue& device : devices->items) {
            run_.ranks += each;
            if (const FileValue* host = device.find("hostname")) run_.hosts.insert(host->text);
            if (const FileValue* group = device.find("group"); group != nullptr && group->is(FileValue::Kind::whole)) {
                run_.groups.insert(std::clamp<std::int64_t>(group->whole, 0, 1'000'000'000));
            }
            if (const FileValue* name = device.find("device_info")) run_.device = trimmed(name->text).substr(0, 100);
        }
    }

    // NaN and counts of roots are written as strings.
    Result<double> number(const FileValue& body, std::string_view key) const {
        const FileValue* node = body.find(key);
        if (node == nullptr || node->is(FileValue::Kind::null)) return 0.0;
        if (node->is_number()) return std::isnan(node->real) ? 0.0 : node->real;
        const auto value = number_in(trimmed(node->text));
        if (node->is(FileValue::Kind::text) && (value || node->text == "nan" || node->text == "N/A"))
            return value.value_or(0);
        return place_.fail_at(place_.span(node->offset), "bad_number",
                              fmt::format("`{}` is {}, not a number", key, kind_name(node->kind)));
    }

    Status time(const FileValue& result, const FileValue& body, bool in_place) {
        if (body.find("cpu_time") != nullptr) {
            return place_.fail_at(place_.span(body.offset), "cpu_time",
                                  "these are times of the launching processor, not of the collective",
                                  "measure again without -C");
        }
        NcclTime time;
        time.in_place = in_place;
        time.line = place_.span(body.offset).line;
        if (const FileValue* type = result.find("type")) time.dtype = type->text;
        for (const auto& [node, key, target] :
             {std::tuple{&result, "size", &time.size}, std::tuple{&body, "time", &time.time_us},
              std::tuple{&body, "alg_bw", &time.algbw}, std::tuple{&body, "bus_bw", &time.busbw},
              std::tuple{&body, "nwrong", &time.wrong}}) {
            ROOFLINE_TRY(*target, number(*node, key));
        }
        std::string skip;
        auto row = run_.row(time, hints_, skip);
        if (!row)
            return place_.fail_at(place_.span(body.offset), row.error().code, row.error().message, row.error().hint);
        if (skip.empty()) {
            table_.rows.push_back(std::move(*row));
        } else {
            table_.skipped.push_back({time.line, std::move(skip)});
        }
        return {};
    }

    Source place_;
    const NcclHints& hints_;
    NcclRun run_;
    CollectiveTable table_;
};

}  // namespace

Result<CollectiveTable> read_nccl_json(std::string_view text, const std::string& source, const NcclHints& hints) {
    ROOFLINE_TRY(auto root, parse_json(text, source));
    return NcclJsonReader(text, source, hints).read(root);
}

}  // namespace roofline::core
