#include "import/profile/chrome_event.hpp"

#include <simdjson.h>

namespace roofline::core {

namespace {

namespace ondemand = simdjson::ondemand;
using JsonValue = ondemand::value;

std::string_view text_of(JsonValue& value) {
    std::string_view text;
    return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Numbers may stand in quotes: "size": "2560".
std::optional<double> number_of(JsonValue& value) {
    double number = 0;
    if (value.get_double().get(number) == simdjson::SUCCESS) return number;
    if (value.get_double_in_string().get(number) == simdjson::SUCCESS) return number;
    return std::nullopt;
}

std::optional<std::int64_t> whole_of(JsonValue& value) {
    std::int64_t whole = 0;
    if (value.get_int64().get(whole) == simdjson::SUCCESS) return whole;
    if (value.get_int64_in_string().get(whole) == simdjson::SUCCESS) return whole;
    return std::nullopt;
}

// A list as it is written, or the text of a string.
std::string_view raw_of(JsonValue& value) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return {};
    if (type == ondemand::json_type::string) return text_of(value);
    std::string_view text;
    return simdjson::to_json_string(value).get(text) == simdjson::SUCCESS ? text : std::string_view();
}

enum class ArgumentKind : std::uint8_t { whole, number, text, raw };

struct Field {
    std::string_view key;
    ArgumentKind kind;
    std::optional<std::int64_t> ChromeArguments::* whole = nullptr;
    std::optional<double> ChromeArguments::* number = nullptr;
    std::string_view ChromeArguments::* text = nullptr;
};

constexpr Field whole_field(std::string_view key, std::optional<std::int64_t> ChromeArguments::* member) {
    return {key, ArgumentKind::whole, member};
}
constexpr Field number_field(std::string_view key, std::optional<double> ChromeArguments::* member) {
    return {key, ArgumentKind::number, nullptr, member};
}
constexpr Field text_field(std::string_view key, std::string_view ChromeArguments::* member) {
    return {key, ArgumentKind::text, nullptr, nullptr, member};
}
constexpr Field raw_field(std::string_view key, std::string_view ChromeArguments::* member) {
    return {key, ArgumentKind::raw, nullptr, nullptr, member};
}

using Arguments = ChromeArguments;
constexpr Field fields[] = {
    whole_field("External id", &Arguments::external_id),
    whole_field("external id", &Arguments::external_id),
    whole_field("correlation", &Arguments::correlation),
    whole_field("correlation_id", &Arguments::correlation),  // of XLA
    whole_field("device", &Arguments::device),
    whole_field("stream", &Arguments::stream),
    whole_field("bytes", &Arguments::bytes),
    whole_field("step_num", &Arguments::step),
    raw_field("Input Dims", &Arguments::shapes),
    raw_field("Input dims", &Arguments::shapes),
    raw_field("Input type", &Arguments::types),
    raw_field("Concrete Inputs", &Arguments::values),
    text_field("Collective name", &Arguments::collective),
    text_field("dtype", &Arguments::dtype),
    raw_field("Process Group Ranks", &Arguments::ranks),
    whole_field("In msg nelems", &Arguments::elements_in),
    whole_field("Out msg nelems", &Arguments::elements_out),
    whole_field("Group size", &Arguments::group),
    whole_field("Src Rank", &Arguments::from),
    whole_field("Dst Rank", &Arguments::to),
    text_field("hlo_module", &Arguments::module),
    text_field("hlo_op", &Arguments::instruction),
    text_field("hlo_category", &Arguments::category),
    text_field("source", &Arguments::source),
    text_field("tf_op", &Arguments::scope),
    text_field("long_name", &Arguments::long_name),
    number_field("model_flops", &Arguments::model_flops),
    number_field("flops", &Arguments::flops),
    number_field("bytes_accessed", &Arguments::accessed),
    number_field("raw_bytes_accessed", &Arguments::raw_accessed),
    text_field("memcpy_details", &Arguments::copy),
    text_field("memset_details", &Arguments::copy),
    text_field("name", &Arguments::name),
};

// Reads the arguments that somebody wants. Returns false for what is no object.
bool read_arguments(JsonValue& value, ChromeArguments& into) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto member : object) {
        std::string_view key;
        JsonValue argument;
        if (member.unescaped_key().get(key) != simdjson::SUCCESS) return false;
        if (member.value().get(argument) != simdjson::SUCCESS) return false;
        for (const Field& field : fields) {
            if (field.key != key) continue;
            if (field.kind == ArgumentKind::whole) into.*field.whole = whole_of(argument);
            if (field.kind == ArgumentKind::number) into.*field.number = number_of(argument);
            if (field.kind == ArgumentKind::text) into.*field.text = text_of(argument);
            if (field.kind == ArgumentKind::raw) into.*field.text = raw_of(argument);
            break;
        }
    }
    return true;
}

bool read_member(std::string_view key, JsonValue& value, ChromeEvent& into) {
    if (key == "ph") {
        const std::string_view phase = text_of(value);
        into.phase = phase.size() == 1 ? phase.front() : '\0';
    } else if (key == "cat") {
        into.category = text_of(value);
    } else if (key == "name") {
        into.name = text_of(value);
    } else if (key == "pid") {
        into.process = raw_of(value);
    } else if (key == "tid") {
        into.thread = raw_of(value);
    } else if (key == "ts") {
        into.start_us = number_of(value);
    } else if (key == "dur") {
        into.duration_us = number_of(value);
    } else if (key == "args") {
        return read_arguments(value, into.arguments);
    }
    return true;
}

}  // namespace

struct ChromeEventParser::Parser {
    ondemand::parser parser;
};

ChromeEventParser::ChromeEventParser() : parser_(std::make_unique<Parser>()) {}
ChromeEventParser::~ChromeEventParser() = default;

std::optional<ChromeEvent> ChromeEventParser::parse(std::string_view text, std::size_t readable) {
    static_assert(simdjson::SIMDJSON_PADDING <= 64);
    ondemand::document document;
    if (parser_->parser.iterate(text.data(), text.size(), readable).get(document) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    ondemand::object object;
    if (document.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
    ChromeEvent event;
    for (auto member : object) {
        std::string_view key;
        JsonValue value;
        if (member.unescaped_key().get(key) != simdjson::SUCCESS) return std::nullopt;
        if (member.value().get(value) != simdjson::SUCCESS) return std::nullopt;
        if (!read_member(key, value, event)) return std::nullopt;
    }
    return event;
}

}  // namespace roofline::core
