// The JSON of nccl-tests -J, version 3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"
#include "import/json_value.hpp"
#include "import/nccl_run.hpp"
#include "import/text_reader.hpp"
#include "notation/source.hpp"

namespace roofline {

namespace {

class NcclJsonReader {
public:
    NcclJsonReader(std::string_view text, const std::string& source, const NcclHints& hints)
        : place_(text, source), hints_(hints) {}

    Result<CollectiveTable> read(const ConfigValue& root) {
        settings(root);
        const ConfigValue* results = root.find("results");
        if (results == nullptr || results->items.empty()) {
            return place_.fail_at({1, 1}, "no_rows", "this nccl-tests output has no results",
                                  "was the run stopped before its first size?");
        }
        for (const ConfigValue& result : results->items) {
            for (const bool in_place : {false, true}) {
                const ConfigValue* body = result.find(in_place ? "in_place" : "out_of_place");
                if (body == nullptr || body->is(ConfigValue::Kind::null)) continue;
                if (auto status = time(result, *body, in_place); !status) return fail(status.error());
            }
        }
        return std::move(table_);
    }

private:
    void settings(const ConfigValue& root) {
        if (const ConfigValue* arguments = root.find("args"); arguments != nullptr && !arguments->items.empty()) {
            run_.operation = test_in(arguments->items.front().text);
        }
        if (const ConfigValue* version = root.find("nccl_version");
            version != nullptr && std::isfinite(version->real)) {
            run_.software = nccl_version(version->real);
        }
        const ConfigValue* config = root.find("config");
        if (config == nullptr) return;
        if (const ConfigValue* graph = config->find("graph")) run_.graph = graph->real > 0;
        const ConfigValue* devices = config->find("devices");
        if (devices == nullptr) return;
        // The first device of each process is listed; all processes have as many.
        std::int64_t each = 1;
        for (const std::string_view key : {"nthreads", "ngpus"}) {
            const ConfigValue* count = config->find(key);
            if (count != nullptr && count->real >= 1 && count->real <= 1e4)
                each *= static_cast<std::int64_t>(count->real);
        }
        for (const ConfigValue& device : devices->items) {
            run_.ranks += each;
            if (const ConfigValue* host = device.find("hostname")) run_.hosts.insert(host->text);
            if (const ConfigValue* group = device.find("group");
                group != nullptr && group->is(ConfigValue::Kind::whole)) {
                run_.groups.insert(std::clamp<std::int64_t>(group->whole, 0, 1'000'000'000));
            }
            if (const ConfigValue* name = device.find("device_info")) run_.device = trimmed(name->text).substr(0, 100);
        }
    }

    // NaN and counts of roots are written as texts.
    Result<double> number(const ConfigValue& body, std::string_view key) const {
        const ConfigValue* node = body.find(key);
        if (node == nullptr || node->is(ConfigValue::Kind::null)) return 0.0;
        if (node->is_number()) return std::isnan(node->real) ? 0.0 : node->real;
        const auto value = number_in(trimmed(node->text));
        if (node->is(ConfigValue::Kind::text) && (value || node->text == "nan" || node->text == "N/A"))
            return value.value_or(0);
        return place_.fail_at(place_.span(node->offset), "bad_number",
                              fmt::format("`{}` is {}, not a number", key, kind_name(node->kind)));
    }

    Status time(const ConfigValue& result, const ConfigValue& body, bool in_place) {
        if (body.find("cpu_time") != nullptr) {
            return place_.fail_at(place_.span(body.offset), "cpu_time",
                                  "these are times of the processor that launches, not of the collective",
                                  "measure again without -C");
        }
        NcclTime time;
        time.in_place = in_place;
        time.line = place_.span(body.offset).line;
        if (const ConfigValue* type = result.find("type")) time.dtype = type->text;
        for (const auto& [node, key, target] :
             {std::tuple{&result, "size", &time.size}, std::tuple{&body, "time", &time.time_us},
              std::tuple{&body, "alg_bw", &time.algbw}, std::tuple{&body, "bus_bw", &time.busbw},
              std::tuple{&body, "nwrong", &time.wrong}}) {
            auto value = number(*node, key);
            if (!value) return fail(value.error());
            *target = *value;
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
    auto root = parse_json(text, source);
    if (!root) return fail(root.error());
    return NcclJsonReader(text, source, hints).read(*root);
}

}  // namespace roofline
