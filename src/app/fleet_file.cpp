#include "app/fleet_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/job_keys.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_chips = std::int64_t{1} << 24;
constexpr double default_days = 30;
constexpr double day = 86400;

class FleetReader {
public:
    FleetReader(const NamedText& file, const FleetLoaders& loaders)
        : name_(file.name), loaders_(loaders), text_(file.text, file.name, "a fleet is a file of TOML") {}

    Result<FleetRequest> run() {
        Reader file = text_.root();
        fleet_.period_s = file.number("days", default_days) * day;
        if (auto pools = file.inner("pools")) {
            for (auto& [name, table] : pools->members()) read_pool(name, table);
        }
        for (Reader& table : file.each("train")) read_training(table);
        for (Reader& table : file.each("serve")) read_serving(table);
        file.finish();
        ROOFLINE_CHECK(text_.status());
        if (fleet_.pools.empty()) {
            return fail("bad_fleet", fmt::format("{} has no pool of chips", name_),
                        "add a table [pools.NAME] with on = \"h100-sxm\" and chips = 512");
        }
        if (fleet_.trained.empty() && fleet_.served.empty()) {
            return fail("bad_fleet", fmt::format("{} has no job", name_),
                        "add a table [[train]] or [[serve]] with a name, a model and its options");
        }
        return std::move(fleet_);
    }

private:
    // Reports an error of a loader at a key.
    template <class Loaded>
    Loaded loaded(Reader& table, std::string_view key, Result<Loaded> result) {
        if (result) return std::move(*result);
        table.fault(key, result.error().code, result.error().message, result.error().hint);
        return {};
    }

    std::int64_t chips_of(Reader& table) {
        if (!table.has("chips")) table.fault("chips", "missing_key", table.of("chips") + " is missing", "chips = 512");
        return table.whole("chips", 1, most_chips, 1);
    }

    void read_pool(const std::string& name, Reader& table) {
        FleetPoolRequest pool;
        pool.name = name;
        if (const std::string on = table.required_text("on"); !on.empty()) {
            pool.machine = loaded(table, "on", loaders_.machine(on));
            if (pool.machine.name.find(':') != std::string::npos || !pool.machine.slice.empty()) {
                table.fault("on", "bad_value", "a pool has chips and no slice", "leave out the colon and what follows");
            }
        }
        pool.chips = chips_of(table);
        if (table.has("price")) pool.sets.push_back(fmt::format("price={}", table.number("price", 1)));
        table.finish();
        fleet_.pools.push_back(std::move(pool));
    }

    std::string name_of(Reader& table) {
        std::string name = table.required_text("name");
        if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
            table.fault("name", "bad_value", fmt::format("two jobs are called {}", name),
                        "give each a name of its own");
        }
        names_.push_back(name);
        return name;
    }

    NamedText model_of(Reader& table) {
        const std::string model = table.required_text("model");
        return model.empty() ? NamedText{} : loaded(table, "model", loaders_.model(model));
    }

    void read_training(Reader& table) {
        FleetTrainingRequest job;
        job.name = name_of(table);
        job.plan.train.config = model_of(table);
        read_training_keys(table, job.plan.train);
        read_run_keys(table, job.plan.train);
        if (job.plan.train.tokens.empty()) {
            table.fault("tokens", "missing_key", "the tokens of the run are missing, and with them its cost",
                        "tokens = \"15T\"");
        }
        job.plan.chips = table.word("chips");
        job.plan.days = table.word("days");
        if (const std::string without = table.word("without"); !without.empty()) job.plan.without = {without};
        table.finish();
        fleet_.trained.push_back(std::move(job));
    }

    void read_serving(Reader& table) {
        FleetServingRequest job;
        job.name = name_of(table);
        ServeRequest& serve = job.plan.serve;
        serve.config = model_of(table);
        read_serving_keys(table, serve);
        read_load_keys(table, serve);
        if (const std::string without = table.word("without"); !without.empty()) job.plan.without = {without};
        job.plan.aggregated = table.flag("aggregated");
        serve.disaggregated = table.flag("disaggregated");
        for (const char* key : {"prompt", "output", "rate"}) {
            if (!table.has(key)) table.fault(key, "missing_key", table.of(key) + " is missing");
        }
        if (serve.ttft.empty() && serve.tpot.empty()) {
            table.fault("ttft", "missing_key", "a served model has a target of its times",
                        "ttft = \"1s\" or tpot = \"40ms\", which the 99th percentile meets");
        }
        table.finish();
        fleet_.served.push_back(std::move(job));
    }

    std::string name_;
    const FleetLoaders& loaders_;
    TomlFile text_;
    FleetRequest fleet_;
    std::vector<std::string> names_;
};

}  // namespace

Result<FleetRequest> read_fleet(const NamedText& file, const FleetLoaders& loaders) {
    return FleetReader(file, loaders).run();
}

}  // namespace roofline::core
