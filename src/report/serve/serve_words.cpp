#include "report/serve/serve_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "predict/expected_basis.hpp"
#include "predict/model_notes.hpp"
#include "predict/serve/pass_exchange.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::string slice_name(const ServeAnswer& answer) {
    return fmt::format("{}:{}", answer.slice.machine.id, answer.slice.shape_text());
}

std::string split_text(const ServeAnswer& answer) {
    if (answer.slice.chips() == 1) return "one chip";
    std::string text = plan_text(answer.plan);
    for (const MeshAxis& axis : answer.mesh) {
        if (axis.name != "queries") continue;
        text += fmt::format(" ({} over heads of keys and values, {} over their queries)",
                            answer.plan.tensor / axis.size, axis.size);
    }
    if (answer.caches == CacheSplit::batch) text += ", KV cache split by heads and by batch";
    if (answer.caches == CacheSplit::context) text += ", KV cache split by heads and by context";
    return text;
}

namespace {

// Where the experts lie, and what the busiest chip has of them.
std::string routing_note(const ServedExperts& routed) {
    const ExpertRouting& routing = routed.routing;
    std::vector<std::string> options;
    if (!routing.uniform()) options.push_back(fmt::format("--routing {}", routing_text(routing)));
    if (routing.redundant) options.push_back(fmt::format("--redundant-experts {}", *routing.redundant));
    const char* lie = "in the order of ids";
    if (routing.redundant) {
        lie = "placed as EPLB does";
    } else if (routing.zipf > 0 && routing.measured.empty()) {
        lie = "in the order of ids, which are independent of popularity";
    }
    return fmt::format(
        "{}: {:.4g} experts of each layer lie on each chip, {}; those of the most popular chip are chosen {:.2f} times "
        "as often as the mean; a decode step reads {:.4g} experts of each layer",
        fmt::join(options, ", "), routed.held, lie, routed.imbalance, routed.read);
}

// Which measurements the forward-pass model was fitted to, and where it extrapolates.
std::vector<std::string> whole_pass_notes(const ServeAnswer& answer) {
    const MeasuredPasses& passes = *answer.whole_passes;
    std::vector<std::string> notes;
    notes.push_back(fmt::format(
        "expected times come from a model of whole forward passes of {}, fitted to {} measurements of {} on chips of "
        "the {} family; the stated errors are medians on held-out measurements; only single sequences were measured, "
        "so other batch sizes are extrapolated",
        passes.software, passes.rows, fmt::join(passes.models, ", "), passes.family));
    if (passes.transferred) {
        notes.push_back(fmt::format(
            "{} was not measured: parameters are transferred from the nearest calibrated machine, {}, and the errors "
            "are those of chips held out of the fit",
            answer.slice.machine.name, passes.machine));
    }
    if (answer.prefill.expected_s && *answer.prefill.expected_s < answer.least_prefill.lower_s) {
        notes.push_back(fmt::format(
            "{} accumulates matmuls in f16, which is faster on this chip than the f32 accumulation that the lower "
            "bound of prefill assumes",
            passes.software));
    }
    if (!passes.measured_load) {
        notes.emplace_back(
            "no measurements exist for this batch size or sequence length: errors are larger than stated");
    }
    return notes;
}

}  // namespace

std::vector<std::string> serve_notes(const ServeAnswer& answer) {
    std::vector<std::string> notes = answer.notes;
    notes.insert(notes.end(), answer.model.notes.begin(), answer.model.notes.end());
    if (!calibrated(answer)) {
        notes.push_back(fmt::format(
            "no calibration of {} covers all of this{}: TPOT and TTFT are sequential times, each kernel at its own "
            "datasheet bound; no real system is that fast",
            answer.slice.machine.name,
            answer.decode.why_not_expected.empty() ? "" : fmt::format(" ({})", answer.decode.why_not_expected)));
    }
    if (answer.whole_passes) {
        const std::vector<std::string> whole = whole_pass_notes(answer);
        notes.insert(notes.end(), whole.begin(), whole.end());
    }
    if (answer.decode.system.collectives.textbook && !answer.decode.analysis.total.work.messages.empty()) {
        notes.emplace_back(
            "--textbook: collectives are approximated, so the lower bound and the no-overlap time are estimates, not "
            "bounds");
    }
    if (const auto& drafts = answer.speculation) {
        if (drafts->source == DraftSource::lookup) {
            notes.emplace_back(
                "no layer that predicts further tokens is known from the configuration, and --draft-model is not "
                "given: "
                "tokens are drafted by a lookup in the text (n-grams), which is taken to cost nothing");
        }
        notes.emplace_back(
            "TPOT and its lower bound rest on --acceptance: a step's times, divided by the tokens that it yields on "
            "average");
    }
    if (answer.plan.pipeline > 1) {
        notes.push_back(
            fmt::format("each of {} groups of sequences is in another stage: an iteration of {} sequences goes through "
                        "all stages one after another",
                        answer.plan.pipeline, sequences_at_once(answer.plan, answer.batch)));
    }
    if (answer.prefill_pool && answer.prefill_pool->plan_chosen) {
        notes.emplace_back("--prefill-mesh is not given: of all plans this one processes the most prompts per second");
    }
    if (const auto& searched = answer.searched) {
        const std::string side =
            searched->replicas > 1 ? fmt::format(", {} of them side by side", searched->replicas) : "";
        notes.push_back(fmt::format(
            "without --mesh and --batch this is the {} of all set-ups on {} that `roofline plan serve` searches{}: {}; "
            "it alone is `{}`",
            searched->meets ? "best" : "nearest to the targets", searched->on, side, searched->set_up,
            fmt::join(searched->command, " ")));
    } else if (answer.plan_chosen) {
        notes.emplace_back(
            "--mesh is not given: of all plans that hold this batch on these chips, this one has the fastest tokens");
    }
    const std::vector<std::string> exchanges = exchange_notes(answer.prefill, answer.decode, answer.exchange_server);
    notes.insert(notes.end(), exchanges.begin(), exchanges.end());
    if (answer.under_load && answer.under_load->two_batches) {
        notes.emplace_back(
            "--two-batch-overlap: as served, the collectives of half a batch run beside the kernels of the "
            "other half where that is faster; TPOT and the frontier are without overlap");
    }
    if (answer.routed && (!answer.routed->routing.uniform() || answer.routed->routing.redundant)) {
        notes.push_back(routing_note(*answer.routed));
    }
    if (answer.under_load && answer.under_load->balancedness) {
        notes.push_back(
            fmt::format("as served: the chip whose experts get the most tokens has {:.2f} times the mean "
                        "(--balancedness {:.2f}); TPOT and the frontier assume that chips get equally many",
                        1 / *answer.under_load->balancedness, *answer.under_load->balancedness));
    }
    if (!answer.under_load) {
        notes.emplace_back("TTFT is that of one prompt on an otherwise idle slice, without queueing");
    }
    // Times of whole passes rest on no kernel models. A machine that models of both phases come from is named once.
    const bool by_kernels = !answer.whole_passes;
    const bool one_machine = answer.prefill.machine.id == answer.decode.machine.id;
    if (one_machine && by_kernels) {
        for (std::string& note : notes_on_transfer({&fastest(answer.prefill), &fastest(answer.decode)}))
            notes.push_back(std::move(note));
    }
    for (const Prediction* pass : {&answer.prefill, &answer.decode}) {
        const auto is_needless = [&](const std::string& note) {
            if (std::find(notes.begin(), notes.end(), note) != notes.end() || is_layout_note(note)) return true;
            if (is_on_transfer(note, pass->machine)) return one_machine || !by_kernels;
            return !by_kernels && note.starts_with(extrapolation_mark);
        };
        const Prediction& shown = fastest(*pass);
        for (const auto* more : {&shown.notes, &pass->analysis.total.pricing.notes}) {
            for (const std::string& note : *more) {
                if (!is_needless(note)) notes.push_back(note);
            }
        }
    }
    return notes;
}

std::string rate_text(double value) {
    return value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace roofline::core
