#include "app/serving_plan_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/load_options.hpp"
#include "app/model_option.hpp"
#include "app/number_option.hpp"
#include "app/plan_aims.hpp"
#include "app/plan_command.hpp"
#include "app/serve_question.hpp"
#include "app/system_option.hpp"
#include "base/ascii.hpp"
#include "model/file_types.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_planned_chips = 4096;
constexpr std::int64_t most_set_ups = 64;

std::vector<std::string> listed(const std::string& word) {
    std::vector<std::string> words;
    std::string_view rest = word;
    while (true) {
        const std::size_t comma = rest.find(',');
        words.emplace_back(trimmed(rest.substr(0, comma)));
        if (comma == std::string_view::npos) return words;
        rest.remove_prefix(comma + 1);
    }
}

// A search simulates loads by models of kernels, and a file type is no dtype of every parameter.
Status check_searched(const std::string& weights) {
    if (!is_file_type(weights)) return {};
    return fail("bad_dtype",
                fmt::format("--weights: `{}` is a file type of llama.cpp, for which only whole forward passes of one "
                            "sequence were measured, so servers cannot be searched",
                            weights),
                fmt::format("use `roofline serve --weights {}` for one sequence, or a dtype such as bf16, fp8 or int4 "
                            "for other servers",
                            weights));
}

// Each combination of the dtypes and chunks that are listed; the first of each alone if there is no list.
Result<std::vector<ServedForm>> forms_of(const ServeRequest& serve) {
    std::vector<ServedForm> forms;
    for (const std::string& weights : listed(serve.weights)) {
        ROOFLINE_CHECK(check_searched(weights));
        for (const std::string& caches : listed(serve.kv_dtype)) {
            for (const std::string& chunk : listed(serve.chunk)) {
                ServedForm form;
                ROOFLINE_TRY(form.weights, dtype_option(weights, "--weights"));
                ROOFLINE_TRY(form.kv_dtype, dtype_option(caches, "--kv-dtype"));
                if (!chunk.empty()) {
                    ROOFLINE_TRY(form.chunk, whole_option("--chunk", chunk, max_serving_size));
                }
                if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
            }
        }
    }
    constexpr std::size_t most = 16;
    if (forms.size() <= most) return forms;
    return fail("bad_request", fmt::format("--weights, --kv-dtype and --chunk have {} combinations", forms.size()),
                fmt::format("list fewer: at most {} are searched", most));
}

Result<ServingObjective> objective_of(const ServePlanRequest& request) {
    const std::string& word = request.objective;
    const bool rate = !request.serve.rate.empty();
    if (word.empty()) return rate ? ServingObjective::chips : ServingObjective::throughput;
    if (word == "throughput") return ServingObjective::throughput;
    if (word == "cost") return ServingObjective::cost;
    if (word == "chips") return ServingObjective::chips;
    return wrong_option("--for", word, "there is no such objective",
                        did_you_mean(word, {"throughput", "cost", "chips"}, "use throughput, cost or chips"));
}

Result<TimeStatistic> statistic_of(const std::string& word) {
    if (word.empty() || word == "99") return TimeStatistic::p99;
    if (word == "90") return TimeStatistic::p90;
    if (word == "50") return TimeStatistic::p50;
    if (word == "mean") return TimeStatistic::mean;
    return wrong_option("--percentile", word, "this percentile is not determined", "use 99, 90, 50 or mean");
}

Status check_chips(const std::string& option, std::int64_t chips) {
    if (chips <= most_planned_chips) return {};
    return fail("bad_request", fmt::format("{} has {} chips", option, grouped(chips)),
                fmt::format("a search has at most {}; servers do not wait for each other, so that more chips hold the "
                            "same ones more often",
                            grouped(most_planned_chips)));
}

MachineRef slice_ref(const MachineRef& machine, const Slice& slice) {
    MachineRef ref = machine;
    if (machine.toml) {
        ref.slice = slice.shape_text();
    } else {
        ref.name = fmt::format("{}:{}", machine.name.substr(0, machine.name.find(':')), slice.shape_text());
    }
    return ref;
}

Status pools_of(const ServePlanRequest& request, const ServeRequest& base, ServingSearch& search) {
    const ServeRequest& serve = request.serve;
    const bool apart = serve.disaggregated || serve.prefill;
    if (apart && request.aggregated) {
        return fail("bad_request", "--aggregated is given, and so are pools for prefill", "leave one of the two out");
    }
    search.together = !apart;
    search.apart = !request.aggregated;
    ROOFLINE_TRY(search.prefill_fixed, parse_fixed_axes(serve.prefill_mesh));
    if (!serve.prefill_mesh.empty() && !apart) {
        return fail("bad_request", "--prefill-mesh is an option of disaggregated serving",
                    "add --prefill SLICE, or --disaggregated");
    }
    if (serve.overlap_transfer) {
        if (!search.apart) return fail("bad_request", "--overlap-transfer is an option of disaggregated serving");
        search.job.disaggregated.emplace().by_layer = true;
    }
    if (!serve.prefill) return {};
    std::vector<std::string> sets;
    const std::string name = serve.prefill->name.substr(0, serve.prefill->name.find(':'));
    if (name == search.job.machine) sets = base.sets;
    if (!base.price.empty()) sets.push_back("price=" + base.price);
    PrefillChips chips;
    ROOFLINE_TRY(chips.slice, resolve_slice(*serve.prefill, sets));
    ROOFLINE_CHECK(check_chips("--prefill", chips.slice.chips()));
    chips.machine = name;
    search.prefill = std::move(chips);
    return {};
}

std::string dtype_word(const std::optional<Dtype>& dtype) { return dtype ? std::string(name(*dtype)) : ""; }

}  // namespace

Result<std::vector<ServePlanRequest>> serving_plan_jobs(const ServePlanRequest& request) {
    if (request.serve.machines.empty()) {
        return fail("no_machine", "no slice is given", "give one, for example --on h200:8");
    }
    std::vector<ServePlanRequest> jobs;
    for (const MachineRef& machine : request.serve.machines) {
        ServePlanRequest job = request;
        job.chips.clear();
        job.serve.machines = {machine};
        if (!names_slice(machine)) {
            if (request.chips.empty()) {
                return fail("no_slice", fmt::format("{} has no number of chips", machine.name),
                            fmt::format("give it as --on {}:8, or --chips 8", machine.name));
            }
            ROOFLINE_TRY(const auto chips, whole_option("--chips", request.chips, most_planned_chips));
            ROOFLINE_TRY(job.serve.machines, slices_of(machine, {chips}));
        } else if (!request.chips.empty() && request.serve.machines.size() == 1) {
            return fail("bad_request", "--chips is given, and so is the slice of --on", "leave one of the two out");
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

Result<ServingSearch> serving_plan_question(const ServePlanRequest& request) {
    const ServeRequest& serve = request.serve;
    for (const auto& [word, option] :
         {std::pair(&serve.batch, "--batch"), std::pair(&serve.concurrency, "--concurrency")}) {
        if (word->empty()) continue;
        return fail("bad_request", fmt::format("{} is given, and the requests in flight are searched", option),
                    "leave it out; `roofline serve` answers for a number of them");
    }
    ServingSearch search;
    ROOFLINE_TRY(search.forms, forms_of(serve));
    ROOFLINE_TRY(search.objective, objective_of(request));
    ROOFLINE_TRY(search.statistic, statistic_of(request.percentile));
    if (search.objective == ServingObjective::chips) {
        if (serve.rate.empty()) {
            return fail("bad_request", "--for chips needs the rate that the chips are to carry",
                        "add --rate, requests per second of all servers together");
        }
        ROOFLINE_TRY(search.rate, rate_option(serve.rate));
    } else if (!serve.rate.empty()) {
        return fail("bad_request", "--rate is the load that --for chips finds the fewest chips for",
                    "leave --rate out, or ask --for chips");
    }
    // the job, on all chips, without what is searched
    ServeRequest base = serve;
    base.mesh.clear();
    base.prefill_mesh.clear();
    base.prefill.reset();
    base.disaggregated = base.overlap_transfer = false;
    base.rate.clear();
    base.weights.clear();
    base.kv_dtype.clear();
    base.chunk.clear();
    base.batch = base.concurrency = "1";
    ROOFLINE_TRY(search.job, serve_question(base));
    ROOFLINE_CHECK(check_chips("--on", search.job.slice.chips()));
    search.targets = search.job.load->targets;
    search.job.load->targets = {};
    ROOFLINE_TRY(search.fixed, parse_fixed_axes(serve.mesh));
    ROOFLINE_TRY(search.without, parse_axes(request.without));
    ROOFLINE_CHECK(pools_of(request, base, search));
    if (!request.shown.empty()) {
        ROOFLINE_TRY(const auto shown, whole_option("--plans", request.shown, most_set_ups));
        search.shown = static_cast<std::size_t>(shown);
    }
    search.threads = request.search.threads;
    search.job.stop = request.search.stop;
    search.watch = request.search.watch;
    return search;
}

ServeRequest with_best(const ServePlanRequest& request, const ServingSearch& search,
                       const ServingSearchAnswer& answer) {
    const ServingSetUp& set_up = answer.best.set_up;
    ServeRequest serve = request.serve;
    const MachineRef& machine = request.serve.machines.front();
    serve.machines = {slice_ref(machine, set_up.slice)};
    serve.mesh = {mesh_word(set_up.plan)};
    serve.rate.clear();
    serve.weights = dtype_word(set_up.form.weights);
    serve.kv_dtype = dtype_word(set_up.form.kv_dtype);
    if (!serve.chunk.empty()) serve.chunk = fmt::format("{}", set_up.form.chunk);
    serve.concurrency = fmt::format("{}", set_up.concurrency());
    serve.batch.clear();
    serve.disaggregated = false;
    serve.prefill_mesh.clear();
    if (set_up.prefill) {
        const PrefillServers& prefill = *set_up.prefill;
        serve.batch = fmt::format("{}", set_up.batch);
        serve.prefill = slice_ref(request.serve.prefill.value_or(machine), prefill.slice);
        serve.prefill_mesh = {mesh_word(prefill.plan)};
        serve.prefill_workers = fmt::format("{}", prefill.workers);
        serve.decode_workers = fmt::format("{}", set_up.workers);
    } else {
        serve.prefill.reset();
        serve.overlap_transfer = false;
    }
    if (answer.rate_of_each > 0) {
        serve.batch = fmt::format("{}", set_up.batch);
        serve.concurrency.clear();
        serve.rate = fmt::format("{:.6g}", answer.rate_of_each);
    } else if (!answer.expected) {
        serve.batch = serve.concurrency;
        serve.concurrency.clear();
    }
    if (search.statistic != TimeStatistic::p99 || !answer.expected) {
        serve.ttft.clear();
        serve.tpot.clear();
    }
    return serve;
}

}  // namespace roofline::core
