#include "app/plan_request_json.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace roofline::core {

namespace {

// Calls `field` for each member that is part of the question. A member that is added to a request does not compile
// here until it is said whether it is one. A part has no sweeps, and others no output.
template <class Request, class Field>
void each_field(Request& request, const Field& field) {
    auto& [train, chips, objective, front, days, usd, power, draws, reports, without, shown, part, leading, limit,
           output] = request;
    auto& [config, machines, sets, sweeps, batch_tokens, sequence, mesh, zero, microbatches, schedule, remat, optimizer,
           lora, lora_on, frozen_dtype, products, dispatch, overlap, framework, tokens, mfu, failures, storage, restart,
           async_checkpoints, price, software, calibration, textbook, explain, program, plot, page, plan_from,
           tensor_tokens, emit, search] = train;
    auto& [no_calibration, calibration_files, beside] = calibration;
    field("model", config);
    field("on", machines);
    field("set", sets);
    field("batch_tokens", batch_tokens);
    field("seq", sequence);
    field("mesh", mesh);
    field("chips", chips);
    field("for", objective);
    field("front", front);
    field("days", days);
    field("usd", usd);
    field("power", power);
    field("plot_front", draws);
    field("without", without);
    field("zero", zero);
    field("microbatches", microbatches);
    field("schedule", schedule);
    field("remat", remat);
    field("optimizer", optimizer);
    field("lora", lora);
    field("lora_on", lora_on);
    field("frozen_dtype", frozen_dtype);
    field("products", products);
    field("dispatch", dispatch);
    field("overlap", overlap);
    field("framework", framework);
    field("tokens", tokens);
    field("mfu", mfu);
    field("failures", failures);
    field("storage", storage);
    field("restart", restart);
    field("async_checkpoints", async_checkpoints);
    field("price", price);
    field("software", software);
    field("no_calibration", no_calibration);
    field("calibration", calibration_files);
    field("beside", beside);
    field("textbook", textbook);
    field("explain", explain);
    field("program", program);
    field("plot", plot);
    field("plans", shown);
    field("limit", limit);
}

// The members of requests as JSON.
struct RequestWriter {
    static FigureValue of(const std::string& text) { return text; }
    static FigureValue of(bool flag) { return flag; }
    static FigureValue of(const std::optional<double>& number) { return figure_value(number); }
    static FigureValue of(const NamedText& file) { return {{"name", file.name}, {"text", file.text}}; }
    static FigureValue of(const MachineRef& machine) {
        const auto& [name, toml, slice, unreadable] = machine;
        return {{"name", name}, {"toml", figure_value(toml)}, {"slice", slice}};
    }
    template <class Item>
    static FigureValue of(const std::vector<Item>& items) {
        FigureValue list = FigureValue::array();
        for (const Item& item : items) list.push_back(of(item));
        return list;
    }
};

// The way back. Each function returns whether the value is of the right kind.
struct RequestReader {
    static bool read(const FileValue& value, std::string& text) {
        text = value.text;
        return value.is(FileValue::Kind::text);
    }
    static bool read(const FileValue& value, bool& flag) {
        flag = value.boolean;
        return value.is(FileValue::Kind::boolean);
    }
    static bool read(const FileValue& value, std::optional<double>& number) {
        if (value.is_number()) number = value.real;
        return value.is_number() || value.is_null();
    }
    static bool read(const FileValue& value, std::optional<std::string>& text) {
        if (!value.is_null()) text = value.text;
        return value.is(FileValue::Kind::text) || value.is_null();
    }
    static bool read(const FileValue& value, NamedText& file) {
        return member(value, "name", file.name) && member(value, "text", file.text);
    }
    static bool read(const FileValue& value, MachineRef& machine) {
        return member(value, "name", machine.name) && member(value, "toml", machine.toml) &&
               member(value, "slice", machine.slice);
    }
    template <class Item>
    static bool read(const FileValue& value, std::vector<Item>& items) {
        for (const FileValue& item : value.items) {
            if (!read(item, items.emplace_back())) return false;
        }
        return value.is(FileValue::Kind::list);
    }
    template <class Item>
    static bool member(const FileValue& table, std::string_view key, Item& item) {
        const FileValue* const value = table.find(key);
        return value != nullptr && read(*value, item);
    }
};

}  // namespace

FigureValue plan_request_json(const PlanRequest& request) {
    FigureValue json = FigureValue::object();
    each_field(request, [&](const char* key, const auto& value) { json[key] = RequestWriter::of(value); });
    return json;
}

Result<PlanRequest> read_plan_request(const FileValue& value) {
    PlanRequest request;
    std::string wrong;
    each_field(request, [&](const char* key, auto& field) {
        if (!RequestReader::member(value, key, field) && wrong.empty()) wrong = key;
    });
    if (!wrong.empty()) {
        return fail("bad_part", fmt::format("`question.{}` is missing or has another kind of value", wrong), "");
    }
    return request;
}

std::optional<std::string> difference(const PlanRequest& a, const PlanRequest& b) {
    const FigureValue of_a = plan_request_json(a);
    const FigureValue of_b = plan_request_json(b);
    for (const auto& [key, value] : of_a.items()) {
        if (of_b.at(key) != value) return key;
    }
    return std::nullopt;
}

}  // namespace roofline::core
