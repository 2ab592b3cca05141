#include "import/xla/cost/xla_backend_config.hpp"

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

// The spellings of an escaped quotation mark, without the backslashes.
constexpr std::string_view quotation_marks[] = {"\"", "22", "x22", "u0022", "U00000022"};

std::string_view without_quotes(std::string_view text) {
    text = trimmed(text);
    while (!text.empty() && text.front() == '"') text.remove_prefix(1);
    while (!text.empty() && text.back() == '"') text.remove_suffix(1);
    return trimmed(text);
}

}  // namespace

std::string plain_config(const XlaInstruction& instruction) {
    const std::string_view config = instruction.attribute("backend_config").value_or("");
    std::string plain;
    plain.reserve(config.size());
    for (std::size_t at = 0; at < config.size();) {
        if (config[at] != '\\') {
            plain.push_back(config[at++]);
            continue;
        }
        while (at < config.size() && config[at] == '\\') ++at;
        const std::string_view rest = config.substr(at);
        const auto* const mark = std::find_if(std::begin(quotation_marks), std::end(quotation_marks),
                                              [&](std::string_view spelling) { return rest.starts_with(spelling); });
        if (mark != std::end(quotation_marks)) {
            plain.push_back('"');
            at += mark->size();
        } else if (!rest.empty()) {
            // An escaped line end or tab separates words; anything else stands for itself.
            plain.push_back(rest.front() == 'n' || rest.front() == 't' ? ' ' : rest.front());
            ++at;
        }
    }
    return plain;
}

std::optional<double> config_number(std::string_view config, std::string_view key) {
    const auto value = value_of_key(config, key);
    if (!value) return std::nullopt;
    std::string_view text = without_quotes(*value);
    text = text.substr(0, text.find(" :"));  // of an attribute of MLIR, `32 : i64`
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<std::vector<std::int64_t>> config_numbers(std::string_view config, std::string_view key) {
    const auto value = value_of_key(config, key);
    if (!value) return std::nullopt;
    std::string list(*value);
    std::erase(list, '"');
    return number_list(list);
}

}  // namespace roofline::core
