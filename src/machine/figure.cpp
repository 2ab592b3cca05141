// Reads a figure from its table: value, basis, source, confidence, note, alternatives.
#include <fmt/format.h>

#include <cmath>

#include "machine/reader.hpp"

namespace roofline::core {

std::optional<double> Reader::value_of(TomlNode node, std::string_view key, const ValueReader& reader) {
    double value = 0;
    if (node.is_number()) {
        value = node.number();
    } else {
        const auto text = string_of(node, key);
        if (!text) return std::nullopt;
        const Result<double> parsed = reader.parse(*text);
        if (!parsed) {
            problems_.add(node.place(), parsed.error().code, fmt::format("{}: {}", of(key), parsed.error().message),
                          parsed.error().hint.empty() ? fmt::format("write it like \"{}\"", reader.plausible.example)
                                                      : parsed.error().hint);
            return std::nullopt;
        }
        value = *parsed;
    }
    if (!std::isfinite(value) || value < reader.plausible.least || value > reader.plausible.most) {
        problems_.add(
            node.place(), "out_of_range",
            fmt::format("{} is not what one chip can have: {:g} to {:g} in base units", of(key), reader.plausible.least,
                        reader.plausible.most),
            fmt::format("write it like \"{}\"; leave `value` out when it is not known", reader.plausible.example));
        return std::nullopt;
    }
    return value;
}

std::vector<Alternative> Reader::alternatives(const ValueReader& reader) {
    std::vector<Alternative> result;
    for (Reader& entry : each("alternatives")) {
        entry.what_ = fmt::format("`alternatives` of {}", what_.empty() ? "this figure" : what_);
        Alternative alternative;
        if (const TomlNode value = entry.find("value")) {
            alternative.value = entry.value_of(value, "value", reader).value_or(0);
        } else {
            entry.fault(
                "value", "missing_key", fmt::format("{} is missing", entry.of("value")),
                fmt::format("alternatives = [{{ value = \"{}\", source = \"...\" }}]", reader.plausible.example));
        }
        alternative.source = citations_.resolve(entry.required_text("source"));
        alternative.note = entry.text("note");
        entry.finish();
        result.push_back(std::move(alternative));
    }
    return result;
}

Figure<Scalar> Reader::figure(const ValueReader& reader) {
    Figure<Scalar> result;
    if (const TomlNode value = find("value")) {
        if (const auto number = value_of(value, "value", reader)) result.value = Scalar{*number};
        if (!has("source")) {
            fault("value", "missing_source", fmt::format("{} has no source", of("value")),
                  "say where the figure comes from: source = \"Vendor data sheet, 2024\"; without a value, a note is "
                  "enough");
        }
    }
    const std::string basis = choice("basis", {"spec", "measured", "derived", "assumed"});
    result.basis = basis == "measured"  ? Basis::measured
                   : basis == "derived" ? Basis::derived
                   : basis == "assumed" ? Basis::assumed
                                        : Basis::spec;
    result.confidence = confidence();
    const std::string source = has("source") ? required_text("source") : text("source");
    result.source = citations_.resolve(source);
    result.note = text("note");
    result.alternatives = alternatives(reader);
    return result;
}

}  // namespace roofline::core
