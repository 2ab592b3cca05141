#include "predict/serve/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "model/machine_dtype.hpp"
#include "plan/expert_placement.hpp"
#include "predict/expect.hpp"
#include "predict/expected_basis.hpp"
#include "predict/serve/compute_bound_batch.hpp"
#include "predict/serve/expected_serving.hpp"
#include "predict/serve/serve_frontier.hpp"
#include "predict/serve/served_load.hpp"
#include "predict/serve/served_question.hpp"
#include "predict/serve/served_room.hpp"
#include "predict/serve/serving_slices.hpp"
#include "predict/serve/serving_step.hpp"
#include "predict/serve/whole_pass.hpp"
#include "text/enumerated.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

class Serve {
public:
    Serve(ServeQuestion question, std::shared_ptr<Calibrations> calibrations)
        : question_(std::move(question)), calibrations_(std::move(calibrations)) {}

    Result<ServeAnswer> run() {
        ROOFLINE_CHECK(planned());
        ROOFLINE_CHECK(room());
        if (question_.load_only) {
            ROOFLINE_CHECK(load());
        } else {
            ROOFLINE_CHECK(details());
        }
        return std::move(answer_);
    }

    Result<LoadableServing> loadable() {
        ROOFLINE_CHECK(planned());
        ROOFLINE_CHECK(room());
        const PromptSchedule schedule = question_.load ? question_.load->schedule : PromptSchedule::mixed;
        ROOFLINE_TRY(auto servers, with_slices([&](const ServedSlices& slices) {
                         return loadable_servers(answer_, slices, schedule);
                     }));
        return LoadableServing{std::move(answer_), std::move(servers)};
    }

private:
    // Calls a function with the slices that answer a load.
    template <class Use>
    std::invoke_result_t<Use, const ServedSlices&> with_slices(const Use& use) const {
        const ServingSetup here = setup();
        const auto& pool = answer_.prefill_pool;
        const ServingSetup prefilling = pool ? setup_on(pool->slice) : here;
        const Plan prefill_plan = pool ? pool->plan : answer_.plan;
        return use(ServedSlices{{prefilling, prefill_plan},
                                {here, answer_.plan},
                                mean_pass(answer_, here, answer_.plan, answer_.batch),
                                question_.software,
                                fastest_ ? &*fastest_ : nullptr});
    }

    // Reads the question and settles the plans.
    Status planned() {
        ROOFLINE_TRY(read_, read_question(question_, calibrations_->servers(), calibrations_->passes(), answer_));
        ROOFLINE_CHECK(choose_plan());
        ROOFLINE_CHECK(question_.disaggregated ? choose_pool() : draft_prefill(setup(), answer_.plan));
        return check_exchange();
    }

    Status room() {
        ROOFLINE_CHECK(find_max_batch());
        return find_served_room();
    }

    // Kernels that were asked for must be those of a pass, and its time an expected one.
    Status check_exchange() const {
        if (!read_.exchange) return {};
        const auto exchanges = [](const Plan& plan) { return plan.expert > 1; };
        if (!exchanges(answer_.plan) && !(answer_.prefill_pool && exchanges(answer_.prefill_pool->plan))) {
            return fail("bad_request",
                        fmt::format("no tokens are exchanged with experts: in the plan {} chips that share experts "
                                    "have the same tokens",
                                    plan_text(answer_.plan)),
                        "give experts an axis of the plan, such as `expert=8`, or leave --exchange out");
        }
        if (calibrated(answer_)) return {};
        return fail("not_calibrated",
                    fmt::format("--exchange changes expected times, and no calibration of {} covers all of this",
                                answer_.slice.machine.name),
                    "leave it out, or name a calibrated machine");
    }

    [[nodiscard]] ServingSetup setup() const { return setup_on(answer_.slice); }

    // The kernels that were asked for, or else those of the server whose model is used under load.
    [[nodiscard]] ExchangeChoice exchange_on(const Slice& slice) const {
        if (read_.exchange) return *read_.exchange;
        return built_in_exchanges().of_server(answer_.exchange_server, slice);
    }

    // The set-up of the question on a slice.
    [[nodiscard]] ServingSetup setup_on(const Slice& slice) const {
        CollectiveOptions collectives;
        collectives.textbook = question_.textbook;
        const bool server = calibrations_->servers().find(question_.software, platform_of(slice.machine)) != nullptr;
        const std::string kernels = !read_.whole.empty() ? std::string()
                                    : server ? server_kernel_software(*calibrations_, slice.machine, question_.software)
                                             : question_.software;
        return {read_.prefill,
                read_.decode,
                slice,
                calibrations_,
                kernels,
                collectives,
                question_.balancedness,
                question_.two_batches,
                read_.speculation ? &*read_.speculation : nullptr,
                false,
                exchange_on(slice),
                read_.whole};
    }

    // Selects the requested plan, or else the best of those that hold the batch, or of all if none does.
    Status choose_plan() {
        std::vector<Plan> plans;
        if (question_.plan) {
            plans.push_back(*question_.plan);
        } else if (!read_.whole.empty()) {
            // chips have the layers in turn
            plans.push_back({.pipeline = answer_.slice.chips()});
        } else {
            plans = serving_plans(read_.decode, answer_.slice, answer_.batch);
            answer_.plan_chosen = answer_.slice.chips() > 1;
        }
        std::optional<Error> error;
        bool best_fits = false;
        double best_s = 0;
        bool any = false;
        for (const Plan& plan : plans) {
            const ServingSetup setup = this->setup();
            auto splits = priced_splits(setup, plan, mean_pass(answer_, setup, plan, answer_.batch));
            if (!splits) {
                if (!error) error = splits.error();
                continue;
            }
            const bool slower = std::all_of(splits->begin(), splits->end(), [&](const SplitPass& each) {
                return step_seconds(setup, each.pass, std::nullopt) >= best_s;
            });
            if (best_fits && slower) continue;
            auto prefill = prefill_on_slice(plan);
            if (!prefill) {
                if (!error) error = prefill.error();
                continue;
            }
            const double activations = prefill->activations;
            // of a plan that was given it is the one that servers are expected to have
            if (question_.plan) fastest_ = splits->front();
            for (SplitPass& found : *splits) {
                auto draft = draft_pass(setup, plan, found.caches, mean_pass(answer_, setup, plan, answer_.batch));
                if (!draft) {
                    if (!error) error = draft.error();
                    continue;
                }
                ROOFLINE_TRY(auto memory,
                             memory_of(setup, plan, found.caches, last_pass(answer_, answer_.batch, question_.block),
                                       activations, found.pass));
                const bool fits = !answer_.capacity || memory.total() <= *answer_.capacity;
                const double seconds = step_seconds(setup, found.pass, *draft);
                if (any && (fits ? best_fits && seconds >= best_s : best_fits || seconds >= best_s)) continue;
                any = true;
                best_fits = fits;
                best_s = seconds;
                prefill_activations_ = activations;
                take(plan, std::move(found), prefill->pass, memory);
                if (answer_.speculation) answer_.speculation->draft = std::move(*draft);
            }
        }
        if (!any) return fail(error.value_or(Error{"unsupported", "no plan fits this slice", "name one", {}}));
        return {};
    }

    /// The prefill on the slice that decodes.
    struct Prefill {
        Prediction pass;
        double activations = 0;  ///< bytes
    };
    // There is none with disaggregated serving.
    [[nodiscard]] Result<Prefill> prefill_on_slice(const Plan& plan) const {
        if (question_.disaggregated) return Prefill{};
        ROOFLINE_TRY(auto pass, priced_pass(setup(), plan, CacheSplit::heads, prefill_pass(plan, answer_.prompt)));
        ROOFLINE_TRY(const auto activations, prefill_activations(setup(), plan, answer_.prompt, answer_.chunk, pass));
        return Prefill{std::move(pass), activations};
    }

    Status choose_pool() {
        const DisaggregatedQuestion& asked = *question_.disaggregated;
        const Slice slice = asked.prefill.value_or(answer_.slice);
        const ServingSetup there = setup_on(slice);
        const auto plan = asked.plan || asked.prefill ? asked.plan : std::optional(answer_.plan);
        ROOFLINE_TRY(auto chosen, choose_prefill_pool(there, plan, answer_.prompt, answer_.chunk));
        answer_.prefill = std::move(chosen.prefill);
        if (const std::string note = sixteen_bits_note(slice.machine); !note.empty()) {
            answer_.prefill.notes.push_back(note);
        }
        ROOFLINE_CHECK(draft_prefill(there, chosen.pool.plan));
        PrefillPool& pool = answer_.prefill_pool.emplace(std::move(chosen.pool));
        pool.machine_id = !asked.prefill          ? answer_.machine_id
                          : asked.machine.empty() ? slice.machine.id
                                                  : asked.machine;
        pool.decode_slices = asked.decode_slices;
        const double wanted = std::ceil(static_cast<double>(asked.decode_slices) * prefill_ratio(answer_));
        pool.slices = asked.prefill_slices > 0
                          ? asked.prefill_slices
                          : std::llround(std::clamp(wanted, 1.0, static_cast<double>(max_servers)));
        auto transfer = cache_transfer({there, pool.plan}, {setup(), answer_.plan}, answer_.caches, answer_.prompt);
        if (transfer) {
            transfer->by_layer = asked.by_layer;
            pool.transfer = *transfer;
        } else if (transfer.error().code == "no_network") {
            answer_.notes.push_back("the transfer of caches is not counted: " + transfer.error().message);
        } else {
            return fail(transfer.error());
        }
        return {};
    }

    // The time per token of sequences that have so many tokens of context.
    [[nodiscard]] Result<double> token_seconds_at(std::int64_t context) const {
        const std::int64_t together = sequences_at_once(answer_.plan, answer_.batch);
        const ServingSetup setup = this->setup();
        const ServingPass pass = decode_pass(together, context, step_queries(setup));
        ROOFLINE_TRY(auto decode, priced_pass(setup, answer_.plan, answer_.caches, pass));
        ROOFLINE_TRY(auto draft, draft_pass(setup, answer_.plan, answer_.caches, pass));
        return step_seconds(setup, decode, draft) / tokens_per_step(answer_);
    }

    // Adds the prefill by the drafter, on the slice that prefills.
    Status draft_prefill(const ServingSetup& setup, const Plan& prefill_plan) {
        if (!read_.speculation || !read_.speculation->drafter) return {};
        const Plan plan = drafting_plan(setup, prefill_plan);
        ROOFLINE_TRY(auto prefill,
                     priced_pass(drafting(setup), plan, CacheSplit::heads, prefill_pass(plan, answer_.prompt)));
        answer_.speculation->prefill_s = pass_seconds(prefill);
        return {};
    }

    // Adds what the drafter holds and takes, and what speculation gains.
    Status speculation() {
        if (!answer_.speculation) return {};
        SpeculatedServing& told = *answer_.speculation;
        const ServingSetup setup = this->setup();
        if (told.draft) {
            const ServingSetup own = drafting(setup);
            const Plan plan = drafting_plan(setup, answer_.plan);
            ROOFLINE_TRY(told.memory, kept_memory(own, plan, answer_.caches,
                                                  last_pass(answer_, answer_.batch, question_.block), true));
            const ServingPass drafted = decode_pass(sequences_at_once(answer_.plan, answer_.batch), answer_.context);
            ROOFLINE_TRY(told.least_draft, least_of(own, plan, answer_.caches, drafted, *told.draft));
        }
        for (const ServePoint& point : answer_.frontier) {
            const bool gains = point.tpot_s < *point.tpot_without_s;
            if (gains) told.no_gain_from.reset();
            if (!gains && !told.no_gain_from) told.no_gain_from = point.batch;
            if (point.batch == answer_.batch) told.tpot_without_s = *point.tpot_without_s;
        }
        return {};
    }

    void take(const Plan& plan, SplitPass found, Prediction prefill, const ServingMemory& memory) {
        answer_.plan = plan;
        answer_.mesh = found.pass.program.mesh;
        answer_.caches = found.caches;
        answer_.decode = std::move(found.pass);
        answer_.prefill = std::move(prefill);
        answer_.chip_memory = memory;
        answer_.fits = !answer_.capacity || memory.total() <= *answer_.capacity;
    }

    Status details() {
        const bool prefills = !answer_.prefill_pool;
        ROOFLINE_TRY(answer_.slice_memory, whole_memory(setup(), last_pass(answer_, answer_.batch, question_.block),
                                                        prefills ? chunk_pass(Plan{}, answer_.prompt, answer_.chunk)
                                                                 : last_pass(answer_, 1, question_.block)));
        add_experts();
        add_whole_passes();
        ROOFLINE_CHECK(load());
        ROOFLINE_TRY(answer_.first_step_s, token_seconds_at(answer_.prompt + 1));
        ROOFLINE_TRY(answer_.last_step_s, token_seconds_at(answer_.prompt + answer_.output));
        const ServingSetup here = setup();
        if (question_.frontier || question_.draft) {
            ROOFLINE_CHECK(add_frontier(answer_, {here, prefill_activations_, question_.block}));
        }
        ROOFLINE_CHECK(speculation());
        ROOFLINE_TRY(answer_.least_decode,
                     least_of(here, answer_.plan, answer_.caches, mean_pass(answer_, here, answer_.plan, answer_.batch),
                              answer_.decode));
        const Plan& prefilling = prefills ? answer_.plan : answer_.prefill_pool->plan;
        ROOFLINE_TRY(answer_.least_prefill,
                     least_of(prefills ? here : setup_on(answer_.prefill_pool->slice), prefilling, CacheSplit::heads,
                              prefill_pass(prefilling, answer_.prompt), answer_.prefill));
        note_whole_passes(here);
        answer_.compute_bound_known = !has_experts(answer_.model.program);
        if (!answer_.compute_bound_known) {
            const char* const chosen =
                question_.routing.uniform() ? "each equally likely" : "as likely as --routing says";
            answer_.notes.push_back(fmt::format(
                "`lower` is the least that any routing does: tokens all choose the same experts, which reads the "
                "fewest, or each those on its own chip, which sends nothing; `uniform` is the bound where they choose "
                "independently of each other, {}, and a token is sent once to each chip, between nodes once to each "
                "node, that has one of them; all other times rest on that choice too, `no overlap` and `expected` "
                "with the copies that software sends",
                chosen));
        }
        answer_.compute_bound = compute_bound_batch(answer_.model, answer_.weights, answer_.decode);
        // the size was solved for the sequences of one stage
        const auto groups = static_cast<double>(answer_.plan.pipeline);
        for (auto* batch :
             {&answer_.compute_bound.step, &answer_.compute_bound.weights, &answer_.compute_bound.textbook}) {
            if (*batch) **batch *= groups;
        }
        // the textbook value holds for one copy of the weights, and each member of `data` has its own
        if (auto& textbook = answer_.compute_bound.textbook) *textbook *= static_cast<double>(answer_.plan.data);
        if (answer_.capacity) {
            auto smallest = smallest_slice(setup(), answer_.machine_id, prefills ? answer_.prompt : 0, answer_.chunk,
                                           last_pass(answer_, answer_.batch, question_.block));
            if (!smallest) return fail(smallest.error());
            answer_.smallest = std::move(*smallest);
        }
        return {};
    }

    void add_experts() {
        const auto shared = shared_experts(answer_.model.program, answer_.plan);
        if (shared.empty()) return;
        const SharedExperts& first = shared.front();
        const PlacedExperts placed(question_.routing, first);
        const std::int64_t tokens = sequences_at_once(answer_.plan, answer_.batch) * step_queries(setup());
        answer_.routed = ServedExperts{question_.routing, (first.experts + question_.routing.replicas()) / first.chips,
                                       placed.read(static_cast<double>(tokens)), placed.imbalance()};
    }

    // Says which libraries' forward-pass models give expected times where kernel models give none.
    void note_whole_passes(const ServingSetup& here) {
        if (!here.whole.empty() || calibrated(answer_)) return;
        std::vector<std::string> options;
        for (const PassFamily& family : calibrations_->passes().families) {
            const std::string option = fmt::format("`--software {}`", family.software);
            if (std::find(options.begin(), options.end(), option) != options.end()) continue;
            const PassModels& models = calibrations_->passes();
            if (whole_pass_family(models, family.software, answer_.decode.machine, answer_.plan)) {
                options.push_back(option);
            }
        }
        if (options.empty()) return;
        answer_.notes.push_back(
            fmt::format("{} gives expected times, by a model of whole forward passes", enumerated(options)));
    }

    // Names the measurements that the expected times of whole passes rest on.
    void add_whole_passes() {
        if (read_.whole.empty() || !calibrated(answer_)) return;
        const PassModels& models = calibrations_->passes();
        PassParts generated;
        generated.generates = true;
        const auto generation = models.expected(answer_.slice.machine, read_.whole, generated);
        const auto prompts = models.expected(answer_.slice.machine, read_.whole, PassParts{});
        if (!generation || !prompts) return;
        const PassFamily& family = *generation->family;
        answer_.whole_passes = MeasuredPasses{family.software,
                                              family.name,
                                              generation->chip->machine,
                                              generation->transferred,
                                              family.rows,
                                              family.models,
                                              generation->error,
                                              prompts->error,
                                              answer_.batch == 1 && answer_.prompt + answer_.output <= family.longest};
    }

    Status load() {
        return with_slices([&](const ServedSlices& slices) { return add_load(answer_, question_.load, slices); });
    }

    [[nodiscard]] SequencesOnSlice sequences(const ServingSetup& setup) const {
        return {{setup, answer_.plan}, answer_.caches, answer_.prompt + answer_.output,
                prefill_activations_,  answer_.decode, *answer_.capacity};
    }

    Status find_max_batch() {
        if (!answer_.capacity) return {};
        const ServingSetup here = setup();
        const MemoryRule whole = MemoryChoice{nullptr, {}, question_.block}.on({});
        ROOFLINE_TRY(answer_.max_batch, sequences_with_room(sequences(here), whole, max_serving_size));
        return {};
    }

    // The server whose defaults hold: that of the question, or else the one whose times are expected, if any are.
    [[nodiscard]] MemoryChoice memory_choice() const {
        MemoryChoice choice{built_in_server_memories().find(question_.software), question_.memory_fraction,
                            question_.block};
        const CalibratedServer* const usual = calibrations_->servers().find("", platform_of(answer_.slice.machine));
        if (choice.server == nullptr && calibrated(answer_) && read_.whole.empty() && usual != nullptr) {
            choice.server = built_in_server_memories().find(usual->software);
        }
        return choice;
    }

    // What a server has room for cannot be more than what the memory has.
    Status find_served_room() {
        const MemoryChoice choice = memory_choice();
        if (!choice.any()) return {};
        if (answer_.capacity) {
            const ServingSetup here = setup();
            const SequencesOnSlice on = sequences(here);
            ROOFLINE_TRY(answer_.served,
                         served_room(on, choice.on(server_chips(on.slice, on.capacity)), answer_.max_batch));
        }
        if (!answer_.prefill_pool) return {};
        const ServingSetup there = setup_on(answer_.prefill_pool->slice);
        return find_prefill_room(*answer_.prefill_pool, there, choice, answer_.prompt);
    }

    ServeQuestion question_;
    double prefill_activations_ = 0;      ///< bytes, with the plan of the answer
    std::optional<SplitPass> fastest_{};  ///< of a plan that was given
    ServedQuestion read_;
    ServeAnswer answer_;
    std::shared_ptr<Calibrations> calibrations_;
};

}  // namespace

Result<ServeAnswer> predict_serving(ServeQuestion question, std::shared_ptr<Calibrations> calibrations) {
    return Serve(std::move(question), std::move(calibrations)).run();
}

Result<LoadableServing> loadable_serving(ServeQuestion question, std::shared_ptr<Calibrations> calibrations) {
    return Serve(std::move(question), std::move(calibrations)).loadable();
}

}  // namespace roofline::core
