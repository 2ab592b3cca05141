#include "import/launch/launch_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr std::pair<std::string_view, LaunchKind> launch_kinds[] = {
    {"number", LaunchKind::number}, {"count", LaunchKind::count},   {"real", LaunchKind::real},
    {"switch", LaunchKind::on},     {"choice", LaunchKind::choice}, {"words", LaunchKind::words},
    {"text", LaunchKind::anything}};

constexpr std::pair<std::string_view, LaunchForm> launch_forms[] = {
    {"flags", LaunchForm::flags}, {"toml", LaunchForm::toml}, {"json", LaunchForm::json}, {"yaml", LaunchForm::yaml}};

LaunchSetting read_setting(Reader& table) {
    LaunchSetting setting;
    setting.key = table.required_text("key");
    setting.name = table.required_text("name");
    setting.also = table.texts("also");
    const std::string kind = table.choice("kind", {"number", "count", "real", "switch", "choice", "words", "text"});
    for (const auto& [word, value] : launch_kinds) {
        if (word == kind) setting.kind = value;
    }
    setting.otherwise = table.text("otherwise");
    setting.times = table.text("times");
    setting.between = table.flag("between");
    for (const std::string& pair : table.texts("choices")) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos) {
            table.fault("choices", "bad_value", "`choices` must contain pairs like \"full=full\"");
            continue;
        }
        setting.choices.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
    if ((setting.kind == LaunchKind::choice) == setting.choices.empty()) {
        table.fault("kind", "bad_value", "`choices` belong to the kind \"choice\"");
    }
    table.finish();
    return setting;
}

}  // namespace

const LaunchSetting* LaunchTable::of_key(std::string_view key) const {
    const auto found =
        std::find_if(settings.begin(), settings.end(), [&](const LaunchSetting& each) { return each.key == key; });
    return found == settings.end() ? nullptr : &*found;
}

const LaunchSetting* LaunchTable::of_name(std::string_view wanted) const {
    const auto found = std::find_if(settings.begin(), settings.end(), [&](const LaunchSetting& each) {
        return each.name == wanted || std::find(each.also.begin(), each.also.end(), wanted) != each.also.end();
    });
    return found == settings.end() ? nullptr : &*found;
}

std::string LaunchTable::why_unsaid(std::string_view wanted) const {
    for (const UnsaidSetting& each : unsaid) {
        if (std::find(each.names.begin(), each.names.end(), wanted) != each.names.end()) return each.why;
    }
    return "";
}

bool LaunchTable::is_launcher(std::string_view wanted) {
    std::string name(wanted);
    std::replace(name.begin(), name.end(), '-', '_');
    constexpr std::string_view flags[] = {
        "nproc_per_node", "nnodes",  "node_rank",  "master_addr",      "master_port", "rdzv_backend",
        "rdzv_endpoint",  "rdzv_id", "rdzv_conf",  "max_restarts",     "local_addr",  "log_dir",
        "redirects",      "tee",     "standalone", "monitor_interval", "role",        "start_method"};
    return std::find(std::begin(flags), std::end(flags), name) != std::end(flags);
}

bool LaunchTable::is_ignored(std::string_view wanted) const {
    if (is_launcher(wanted)) return true;
    return std::any_of(ignored.begin(), ignored.end(), [&](std::string_view each) {
        if (!each.ends_with('*')) return each == wanted;
        each.remove_suffix(1);
        return wanted.starts_with(each);
    });
}

bool LaunchTable::knows(std::string_view wanted) const {
    return of_name(wanted) != nullptr || !why_unsaid(wanted).empty() || is_ignored(wanted);
}

std::string LaunchTable::written(std::string_view wanted) const {
    const bool dashes = form == LaunchForm::flags && !wanted.starts_with('-');
    return dashes ? fmt::format("--{}", wanted) : std::string(wanted);
}

Result<LaunchTable> read_launch_table(const TomlInput& toml, std::string_view origin) {
    TomlFile file(toml, origin);
    ROOFLINE_CHECK(file.status());
    Reader root = file.root();
    LaunchTable table;
    table.name = root.required_text("name");
    table.title = root.required_text("title");
    table.version = root.required_text("version");
    table.source = root.required_text("source");
    table.trains = root.choice("purpose", {"train", "serve"}) == "train";
    const std::string form = root.choice("form", {"flags", "toml", "json", "yaml"});
    for (const auto& [word, value] : launch_forms) {
        if (word == form) table.form = value;
    }
    table.assigns = root.flag("assigns");
    table.command = root.text("command");
    table.program = root.texts("program");
    table.marks = root.texts("marks");
    table.framework = root.text("framework");
    table.shards_over = root.texts("shards_over");
    table.attention_within_tensor = root.flag("attention_within_tensor");
    table.master = root.flag("master");
    table.f32_gradients = root.flag("f32_gradients");
    table.schedule = root.text("schedule");
    table.tensor_tokens = root.text("tensor_tokens");
    table.limits_each = root.flag("limits_each");
    table.expert_axis = root.flag("expert_axis");
    table.context_first = root.flag("context_first");
    table.fixed_replicas = root.flag("fixed_replicas");
    table.lone_experts = root.flag("lone_experts");
    table.note = root.text("note");
    table.pools = root.text("pools");
    for (Reader& each : root.each("pool")) {
        table.pool_settings.push_back({each.required_text("name"), each.text("prefill"), each.text("decode")});
        each.finish();
    }
    for (Reader& each : root.each("ignored")) {
        for (std::string& name : each.texts("names")) table.ignored.push_back(std::move(name));
        each.finish();
    }
    for (Reader& each : root.each("setting")) table.settings.push_back(read_setting(each));
    for (Reader& each : root.each("unsaid")) {
        UnsaidSetting unsaid{each.texts("names"), each.required_text("why")};
        each.finish();
        table.unsaid.push_back(std::move(unsaid));
    }
    root.finish();
    ROOFLINE_CHECK(file.status());
    if (table.of_key("tensor") == nullptr) {
        return fail("bad_file", fmt::format("{}: no setting has the key `tensor`", origin), "every framework has one");
    }
    return table;
}

Result<std::vector<LaunchTable>> launch_tables() {
    std::vector<LaunchTable> tables;
    for (const EmbeddedFramework& each : embedded_frameworks()) {
        ROOFLINE_TRY(auto table, read_launch_table(each.file(), fmt::format("frameworks/{}.toml", each.name)));
        tables.push_back(std::move(table));
    }
    return tables;
}

Result<LaunchTable> launch_table(std::string_view name, bool trains) {
    ROOFLINE_TRY(auto tables, launch_tables());
    std::vector<std::string> fitting;
    for (LaunchTable& table : tables) {
        if (table.trains == trains) fitting.push_back(table.name);
    }
    const std::string known = fmt::format("there are {}", fmt::join(fitting, ", "));
    for (LaunchTable& table : tables) {
        if (table.name != name) continue;
        if (table.trains == trains) return std::move(table);
        return fail("wrong_framework",
                    fmt::format("{} {}, and this is about {}", table.title,
                                table.trains ? "trains models" : "serves models", trains ? "training" : "serving"),
                    fmt::format("for {} {}", trains ? "training" : "serving", known));
    }
    return fail("unknown_framework", fmt::format("no framework `{}` is known", name.substr(0, 40)),
                did_you_mean(name, fitting, known));
}

}  // namespace roofline::core
