#include "model/key_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "machine/embedded.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

/// Reads the parts of the file and keeps the first error.
class TableReader {
public:
    TableReader(TomlNode file, const Source& source) : file_(file), source_(source) {}

    Result<KeyTable> run() {
        KeyTable table;
        for (const TomlNode node : file_) part(node, table);
        if (problem_) return fail(std::move(*problem_));
        return table;
    }

private:
    void wrong(TomlNode node, std::string message) {
        if (problem_) return;
        problem_ = source_.fail_at(span_of(node.place(), source_.text()), "key_table", std::move(message)).value();
    }

    std::string text(TomlNode node) {
        if (node.is(TomlKind::text)) return std::string(node.text());
        wrong(node, "a text was expected: expressions stand in quotes");
        return "";
    }

    Expressions expressions(TomlNode node) {
        Expressions all;
        if (!node.is(TomlKind::table)) {
            wrong(node, "a table was expected");
            return all;
        }
        // What one expression uses stands before it in the file.
        std::vector<TomlNode> order;
        for (const TomlNode value : node) order.push_back(value);
        std::sort(order.begin(), order.end(),
                  [](const TomlNode& a, const TomlNode& b) { return a.place() < b.place(); });
        for (const TomlNode value : order) all.emplace_back(std::string(value.key()), text(value));
        return all;
    }

    // [[refuse]] when = "...", because = "..."
    Expressions cases(TomlNode node) {
        Expressions all;
        if (!node.is(TomlKind::list)) {
            wrong(node, "a list of tables was expected");
            return all;
        }
        for (const TomlNode item : node) {
            const TomlNode when = item.find("when");
            const TomlNode because = item.find("because");
            if (!when || !because || item.size() != 2) {
                wrong(item, "`when` and `because` were expected");
                continue;
            }
            all.emplace_back(text(when), text(because));
        }
        return all;
    }

    void part(TomlNode node, KeyTable& table) {
        const std::string_view key = node.key();
        if (key == "model_type") {
            table.model_type = text(node);
        } else if (key == "architecture") {
            table.architecture = text(node);
        } else if (key == "unsupported") {
            table.unsupported = text(node);
        } else if (key == "context") {
            table.context = text(node);
        } else if (key == "active") {
            table.active = text(node);
            if (table.active != "embedding" && table.active != "no embedding") {
                wrong(node, "`active` must be \"embedding\" or \"no embedding\"");
            }
        } else if (key == "defaults") {
            table.defaults = file_value(node);
        } else if (key == "refuse") {
            table.refuse = cases(node);
        } else if (key == "notes") {
            table.notes = cases(node);
        } else if (key == "layers") {
            layers(node, table);
        } else if (key == "let" || key == "dims" || key == "options" || key == "modules" || key == "expert_groups") {
            Expressions all = expressions(node);
            (key == "let"       ? table.let
             : key == "dims"    ? table.dims
             : key == "options" ? table.options
             : key == "modules" ? table.modules
                                : table.expert_groups) = std::move(all);
        } else if (key != "base" && key != "aliases") {
            wrong(node, fmt::format("a key table has no `{}`", key));
        }
    }

    void layers(TomlNode node, KeyTable& table) {
        if (!node.is(TomlKind::table)) return wrong(node, "a table was expected");
        for (const TomlNode value : node) {
            const std::string_view key = value.key();
            if (key == "count") {
                table.layers = text(value);
            } else if (key == "further") {
                table.further = text(value);
            } else if (key == "dims") {
                table.layer_dims = expressions(value);
            } else if (key == "options") {
                table.layer_options = expressions(value);
            } else if (key == "refuse") {
                table.layer_refuse = cases(value);
            } else {
                wrong(value, fmt::format("[layers] has no `{}`", key));
            }
        }
    }

    TomlNode file_;
    const Source& source_;
    std::optional<Error> problem_;
};

/// Merges the base's entries with the table's own, which replace those of the same name.
Expressions over(Expressions base, const Expressions& own) {
    for (const auto& [name, text] : own) {
        const auto known =
            std::find_if(base.begin(), base.end(), [&](const auto& entry) { return entry.first == name; });
        if (known == base.end()) {
            base.emplace_back(name, text);
        } else {
            known->second = text;
        }
    }
    return base;
}

KeyTable over(KeyTable base, KeyTable own) {
    base.model_type = std::move(own.model_type);
    if (!own.architecture.empty()) base.architecture = std::move(own.architecture);
    if (!own.context.empty()) base.context = std::move(own.context);
    if (!own.layers.empty()) base.layers = std::move(own.layers);
    if (!own.further.empty()) base.further = std::move(own.further);
    if (own.active != "embedding") base.active = std::move(own.active);
    if (!own.defaults.members.empty()) base.defaults = std::move(own.defaults);
    base.let = over(std::move(base.let), own.let);
    base.dims = over(std::move(base.dims), own.dims);
    base.options = over(std::move(base.options), own.options);
    base.layer_dims = over(std::move(base.layer_dims), own.layer_dims);
    base.layer_options = over(std::move(base.layer_options), own.layer_options);
    base.layer_refuse = over(std::move(base.layer_refuse), own.layer_refuse);
    base.refuse = over(std::move(base.refuse), own.refuse);
    base.notes = over(std::move(base.notes), own.notes);
    base.modules = over(std::move(base.modules), own.modules);
    base.expert_groups = over(std::move(base.expert_groups), own.expert_groups);
    return base;
}

/// Whether one of the lines is this name.
bool among(std::string_view lines, std::string_view name) {
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        if (lines.substr(0, end) == name) return true;
        lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    }
    return false;
}

Result<KeyTable> with_base(const EmbeddedKeys& file, int depth) {
    auto own = parse_key_table(file.file(), fmt::format("{}.toml", file.model_type));
    if (!own || file.base.empty()) return own;
    constexpr int deepest = 8;
    const auto all = embedded_keys();
    const auto base =
        std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.model_type == file.base; });
    if (base == all.end() || depth == deepest) {
        return fail("key_table", fmt::format("the key table of {} has no base `{}`", file.model_type, file.base));
    }
    ROOFLINE_TRY(auto whole, with_base(*base, depth + 1));
    return over(std::move(whole), std::move(*own));
}

}  // namespace

Result<KeyTable> parse_key_table(const TomlInput& toml, std::string_view origin) {
    const Source source(toml.text(), std::string(origin));
    if (const TomlNode parsed = toml.parsed()) return TableReader(parsed, source).run();
    ROOFLINE_TRY(const auto document, TomlDocument::parse(source));
    return TableReader(document.root(), source).run();
}

Result<KeyTable> key_table(std::string_view model_type) {
    for (const EmbeddedKeys& file : embedded_keys()) {
        if (file.model_type == model_type || among(file.aliases, model_type)) return with_base(file, 0);
    }
    std::string hint = did_you_mean(model_type, known_model_types());
    if (hint.empty()) hint = "`roofline model --list` lists the supported model types";
    return fail("unknown_model_type",
                fmt::format("no architecture is known for model_type `{}`", model_type.substr(0, 60)), std::move(hint));
}

std::vector<std::string> known_model_types() {
    std::vector<std::string> names;
    for (const EmbeddedKeys& file : embedded_keys()) {
        if (file.unsupported) continue;
        names.emplace_back(file.model_type);
        for (std::string_view rest = file.aliases; !rest.empty();) {
            const std::size_t end = rest.find('\n');
            names.emplace_back(rest.substr(0, end));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        }
    }
    return names;
}

std::string_view architecture_text(std::string_view name) {
    for (const EmbeddedArchitecture& each : embedded_architectures()) {
        if (each.name == name) return each.text;
    }
    return "";
}

}  // namespace roofline::core
