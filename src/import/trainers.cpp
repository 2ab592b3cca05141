#include "import/trainers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"
#include "machine/toml_file.hpp"
#include "program/adjoint.hpp"
#include "program/program.hpp"

namespace roofline::core {

namespace {

constexpr double gib_bytes = 1073741824;

constexpr std::pair<std::string_view, bool TrainerHabits::*> habit_flags[] = {
    {"unfused", &TrainerHabits::unfused},
    {"late_layers", &TrainerHabits::late_layers},
    {"pipeline_buffers", &TrainerHabits::pipeline_buffers},
    {"fsdp_units", &TrainerHabits::fsdp_units},
    {"flat_optimizer", &TrainerHabits::flat_optimizer},
    {"fused_gradients", &TrainerHabits::fused_gradients},
    {"f32_gradients", &TrainerHabits::f32_gradients},
    {"copied_norm", &TrainerHabits::copied_norm},
    {"whole_tokens", &TrainerHabits::whole_tokens},
    {"stored_attention", &TrainerHabits::stored_attention},
    {"attention_dropout", &TrainerHabits::attention_dropout},
    {"pytorch_kernels", &TrainerHabits::pytorch_kernels},
    {"compiled", &TrainerHabits::compiled},
    {"gradients_in_turn", &TrainerHabits::gradients_in_turn},
    {"whole_recompute", &TrainerHabits::whole_recompute},
    {"caching_allocator", &TrainerHabits::caching_allocator},
    {"gib", &TrainerHabits::gib},
    {"chip_batch", &TrainerHabits::chip_batch},
};

/// Reads the value of --remat that the table's key has; a value that is none is an error of the file.
void check_remat(Reader& table, std::string_view key, const std::string& words) {
    if (const auto options = remat_options(words); !options) table.fault(key, "bad_value", options.error().message);
}

std::vector<std::pair<std::string, std::string>> read_policies(Reader& table) {
    std::vector<std::pair<std::string, std::string>> policies;
    for (const std::string& text : table.texts("policies")) {
        const std::size_t equals = std::min(text.find('='), text.size());
        if (equals == 0 || equals + 1 >= text.size()) {
            table.fault("policies", "bad_value", "`policies` must contain texts like \"minimal=selective\"");
            continue;
        }
        policies.emplace_back(text.substr(0, equals), text.substr(equals + 1));
        check_remat(table, "policies", policies.back().second);
    }
    return policies;
}

/// Whether one of the parts occurs in the text, or there are none.
bool speaks_for(const std::vector<std::string>& parts, std::string_view text) {
    return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
               return text.find(part) != std::string_view::npos;
           });
}

/// Reads the capacity factor of experts; 0 if none is given.
double read_capacity(Reader& table) {
    constexpr double most = 1e3;
    const double capacity = table.number("capacity", 0);
    if (capacity > most) table.fault("capacity", "bad_value", "`capacity` must be at most 1000");
    return capacity;
}

TrainerHabits read_habits(Reader& table) {
    TrainerHabits habits;
    habits.capacity = read_capacity(table);
    habits.overlapped = table.texts("overlapped");
    for (const std::string& axis : habits.overlapped) {
        if (axis == "tensor" || axis == "expert") continue;
        table.fault("overlapped", "bad_value", "`overlapped` may contain only `tensor` and `expert`");
    }
    for (const std::string& word : table.texts("schedules")) {
        const auto schedule = parse_schedule(word);
        if (schedule) {
            habits.schedules.push_back(schedule->schedule);
        } else {
            table.fault("schedules", "bad_value", schedule.error().message);
        }
    }
    if (const std::string dtype = table.text("kept_products"); !dtype.empty()) {
        habits.kept_products = find_dtype(dtype);
        if (!habits.kept_products) table.fault("kept_products", "bad_value", "`kept_products` must be a dtype");
    }
    habits.selective = table.choice("selective", {"selective", "alternate"});
    habits.policies = read_policies(table);
    if (table.has("flops")) habits.flops = table.choice("flops", {"full", "causal"});
    if (table.has("memory")) habits.memory = table.choice("memory", {"allocated", "reserved", "used"});
    for (const auto& [key, flag] : habit_flags) habits.*flag = table.flag(key);
    habits.loss = table.choice("loss", {"stored", "eager", "compiled"});
    habits.loss_parts = static_cast<double>(table.whole("loss_parts", 1, 1000, 1));
    habits.unsaid = table.texts("unsaid");
    const std::vector<double> context = table.numbers("context_gib");
    if (context.size() > 1 || (context.size() == 1 && !(context.front() >= 0 && context.front() < 100))) {
        table.fault("context_gib", "bad_value", "context_gib must be one number from 0 to 100");
    } else if (!context.empty()) {
        habits.context_bytes = context.front() * gib_bytes;
    }
    return habits;
}

/// The numbers of a version, "25.09" or "r0.8.0"; empty if it is none.
std::vector<std::int64_t> numbers_of(std::string_view version) {
    if (version.starts_with('r') || version.starts_with('v')) version.remove_prefix(1);
    std::vector<std::int64_t> numbers;
    while (true) {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
        if (error != std::errc{} || number < 0) return {};
        numbers.push_back(number);
        version.remove_prefix(static_cast<std::size_t>(end - version.data()));
        if (version.empty()) return numbers;
        if (version.front() != '.') return {};
        version.remove_prefix(1);
    }
}

/// The version in "nemo-25.09" after the name "nemo"; "" without one; nothing if the words are not about this name.
std::optional<std::string> version_in(const std::string& words, const std::string& name) {
    if (words == name) return "";
    if (!words.starts_with(name) || words.size() < name.size() + 2) return std::nullopt;
    const char between = words[name.size()];
    std::string version = words.substr(name.size() + 1);
    const bool apart = between == '-' || between == ' ' || between == '@';
    return apart && !numbers_of(version).empty() ? std::optional(std::move(version)) : std::nullopt;
}

}  // namespace

Trainers::Trainer Trainers::read_trainer(Reader& table) {
    Trainer trainer;
    trainer.names = table.texts("names");
    trainer.tables = table.texts("tables");
    trainer.notes = table.texts("notes");
    trainer.frameworks = table.texts("framework");
    trainer.since = table.text("since");
    trainer.note = table.text("note");
    trainer.habits = read_habits(table);
    if (trainer.names.empty() && trainer.frameworks.empty()) {
        table.fault("names", "missing", "[[trainer]] needs `names` or `framework`");
    }
    for (const std::string& name : trainer.frameworks) {
        if (!name.empty() && name == lowered(name)) continue;
        table.fault("framework", "bad_value", "`framework` must contain names in lower case");
    }
    if (!trainer.since.empty() && (numbers_of(trainer.since).empty() || trainer.frameworks.empty())) {
        table.fault("since", "bad_value", "`since` must be a version like \"25.09\" of a `framework`");
    }
    table.finish();
    return trainer;
}

Trainers::Published Trainers::read_recipe(Reader& table) {
    Published published;
    published.names = table.texts("names");
    published.tables = table.texts("tables");
    published.models = table.texts("models");
    published.dtypes = table.texts("dtypes");
    published.recipe.remat = table.text("remat");
    published.recipe.sharding = table.text("sharding");
    published.recipe.capacity = read_capacity(table);
    static_cast<void>(table.text("note"));
    check_remat(table, "remat", published.recipe.remat);
    if (published.names.empty()) table.fault("names", "missing", "[[recipe]] needs `names`");
    table.finish();
    return published;
}

Trainers Trainers::read(Reader& file) {
    Trainers all;
    for (Reader& table : file.each("recipe")) all.recipes_.push_back(read_recipe(table));
    for (Reader& table : file.each("trainer")) all.trainers_.push_back(read_trainer(table));
    const std::vector<std::string> known = all.frameworks();
    for (Reader& table : file.each("default_framework")) {
        Default each{table.texts("vendors"), table.required_text("framework"), table.text("note")};
        if (!has(known, each.framework)) {
            table.fault("framework", "bad_value", fmt::format("no [[trainer]] is the framework `{}`", each.framework));
        }
        table.finish();
        all.defaults_.push_back(std::move(each));
    }
    return all;
}

TrainerHabits Trainers::habits(std::string_view source, std::string_view table, std::string_view notes) const {
    const std::string wanted = lowered(source);
    for (const Trainer& each : trainers_) {
        if (speaks_for(each.tables, table) && speaks_for(each.notes, notes) && has(each.names, wanted)) {
            return each.habits;
        }
    }
    return {};
}

Recipe Trainers::recipe(const PublishedRun& run) const {
    const std::string source = lowered(run.source);
    const std::string model = lowered(run.model);
    const std::string dtype = lowered(run.dtype);
    for (const Published& each : recipes_) {
        if (has(each.names, source) && speaks_for(each.tables, run.table) && speaks_for(each.models, model) &&
            (each.dtypes.empty() || has(each.dtypes, dtype))) {
            return each.recipe;
        }
    }
    return {};
}

Result<Framework> Trainers::framework(std::string_view words) const {
    const std::string wanted = lowered(words);
    const Trainer* best = nullptr;
    std::string first;  // of the known versions
    Framework found;
    for (const Trainer& each : trainers_) {
        for (const std::string& name : each.frameworks) {
            const auto version = version_in(wanted, name);
            if (!version) continue;
            found.name = name;
            found.version = *version;
            if (first.empty() || numbers_of(each.since) < numbers_of(first)) first = each.since;
            if (!version->empty() && numbers_of(*version) < numbers_of(each.since)) continue;
            if (best == nullptr || numbers_of(best->since) < numbers_of(each.since)) best = &each;
        }
    }
    if (found.name.empty()) {
        const std::vector<std::string> known = frameworks();
        return fail(
            "unknown_framework",
            fmt::format("the framework `{}` is not known; known are {}", words.substr(0, 40), fmt::join(known, ", ")),
            did_you_mean(wanted, known, "describe another one in a file: --framework mine.toml"));
    }
    if (best == nullptr) {
        return fail("unknown_version",
                    fmt::format("nothing is known of {} {}, only of {} and later", found.name,
                                found.version.substr(0, 20), first),
                    fmt::format("--framework {}-{}, or without a version for the newest", found.name, first));
    }
    found.since = best->since;
    found.note = best->note;
    found.habits = best->habits;
    return found;
}

std::optional<Framework> Trainers::default_framework(std::string_view vendor) const {
    for (const Default& each : defaults_) {
        if (!has(each.vendors, vendor)) continue;
        Framework framework;
        framework.name = each.framework;
        framework.note = each.note;
        framework.by_default = true;
        if (const auto whole = this->framework(each.framework)) framework.habits.compiled = whole->habits.compiled;
        return framework;
    }
    return std::nullopt;
}

std::vector<std::string> Trainers::frameworks() const {
    std::vector<std::string> names;
    for (const Trainer& each : trainers_) {
        for (const std::string& name : each.frameworks) {
            if (!has(names, name)) names.push_back(name);
        }
    }
    return names;
}

}  // namespace roofline::core
