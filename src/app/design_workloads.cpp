#include "app/design_workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/job_keys.hpp"
#include "machine/toml_file.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// One workload's table.
class WorkloadReader {
public:
    WorkloadReader(Reader& table, const DesignRequest& request) : table_(table), request_(request) {}

    NamedWorkload run() {
        NamedWorkload workload;
        workload.name = table_.required_text("name");
        workload.weight = table_.number("weight", 1);
        if (const std::string target = table_.text("target"); !target.empty()) {
            const auto seconds = parse_quantity<Seconds>(target);
            if (!seconds) {
                table_.fault("target", seconds.error().code, seconds.error().message, seconds.error().hint);
            } else if (!(seconds->value > 0)) {
                table_.fault("target", "bad_value", "a target is above 0", "for example target = \"20ms\"");
            } else {
                workload.target_s = seconds->value;
            }
        }
        static_cast<void>(table_.text("note"));
        const std::string kind = table_.choice("kind", {"op", "train", "serve"});
        if (!table_.has("kind")) table_.fault("kind", "missing", "the workload has no `kind`", "op, train or serve");
        if (kind == "op") workload.request = op();
        if (kind == "train") workload.request = train();
        if (kind == "serve") workload.request = serve();
        table_.finish();
        return workload;
    }

private:
    template <class Asked>
    Asked on_base() {
        Asked asked;
        MachineRef machine = request_.base;
        const std::string shape = table_.text("on");
        if (!shape.empty() && machine.toml) machine.slice = shape;
        if (!shape.empty() && !machine.toml) machine.name += ":" + shape;
        asked.machines = {std::move(machine)};
        asked.sets = request_.sets;
        asked.software = table_.text("software");
        if (asked.software.empty()) asked.software = request_.software;
        asked.calibration = request_.calibration;
        return asked;
    }

    // A list of one text, or none.
    std::vector<std::string> list(std::string_view key) {
        std::string text = table_.text(key);
        return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(text)};
    }

    void require(std::string_view key) {
        if (!table_.has(key)) {
            table_.fault(key, "missing_key", table_.of(key) + " is missing", fmt::format("add {} = ...", key));
        }
    }

    NamedText model() { return {table_.required_text("model"), ""}; }

    OpRequest op() {
        auto asked = on_base<OpRequest>();
        asked.program = table_.required_text("program");
        asked.dims = list("dims");
        asked.mesh = list("mesh");
        return asked;
    }

    TrainRequest train() {
        auto asked = on_base<TrainRequest>();
        asked.config = model();
        read_training_keys(table_, asked);
        require("batch-tokens");
        asked.search = request_.search;
        return asked;
    }

    ServeRequest serve() {
        auto asked = on_base<ServeRequest>();
        asked.config = model();
        read_serving_keys(table_, asked);
        for (const char* key : {"batch", "prompt", "output"}) require(key);
        return asked;
    }

    Reader& table_;
    const DesignRequest& request_;
};

}  // namespace

Result<std::vector<NamedWorkload>> read_workloads(const DesignRequest& request) {
    TomlFile text(request.workloads.text, request.workloads.name);
    Reader file = text.root();
    std::vector<NamedWorkload> all;
    for (Reader& table : file.each("workload")) {
        NamedWorkload workload = WorkloadReader(table, request).run();
        if (std::ranges::any_of(all, [&](const NamedWorkload& other) { return other.name == workload.name; })) {
            table.fault("name", "bad_value", fmt::format("two workloads are called {}", workload.name), "");
        }
        all.push_back(std::move(workload));
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    if (all.empty()) {
        return fail("no_workload", fmt::format("{} has no workload", request.workloads.name),
                    "add a table [[workload]] with a name, a kind (op, train or serve) and its options");
    }
    return all;
}

}  // namespace roofline::core
