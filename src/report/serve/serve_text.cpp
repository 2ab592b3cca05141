#include "report/serve/serve_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/page/page_writer.hpp"
#include "report/screen_notes.hpp"
#include "report/serve/frontier_figures.hpp"
#include "report/serve/load_text.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/table.hpp"
#include "text/enumerated.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string bytes(double value) { return to_text(Bytes{value}); }
std::string usd(double value) { return fmt::format("${:.{}f}", value, value < 0.1 ? 3 : 2); }

/// Returns "bf16", or the formats of a quantized checkpoint in short form.
std::string weights_dtype(const ServeAnswer& answer) {
    std::vector<std::string> formats;
    for (const auto& entry : answer.weights.by_format) formats.push_back(entry.first);
    return enumerated(formats);
}

/// Returns "1 chip", "8 chips" or "4x4 = 16 chips".
std::string chips_text(const ServeAnswer& answer) {
    const std::int64_t chips = answer.slice.chips();
    const std::string shape = answer.slice.shape_text();
    if (chips == 1) return "1 chip";
    return shape == fmt::format("{}", chips) ? shape + " chips" : fmt::format("{} = {} chips", shape, chips);
}

class ServeText {
public:
    explicit ServeText(const ServeAnswer& answer) : answer_(answer) {}

    std::string run() {
        head();
        verdict();
        memory();
        passes();
        frontier();
        bounds();
        for (const std::string& note : notes_for_screen(serve_notes(answer_))) {
            out_ += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
            page_.note(note);
        }
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    void line(std::string_view label, std::string_view value, const std::string& remark, std::string exact = {}) {
        page_.fact({std::string(label), std::string(value), remark, std::move(exact)});
        out_ += fmt::format("  {:<15} {:>11}   {}\n", label, value, wrapped(remark, 31, 31, page_width));
    }

    // Prints a quantity with its label.
    void figure(std::string_view key, const std::string& remark) {
        line(find_figure(serve_figures(), key).label, text_of(serve_figures(), key, answer_), remark,
             fact_of(serve_figures(), key, answer_).exact);
    }

    void head() {
        out_ = fmt::format("{} on {}, {}: {} sequence{}, {} prompt and {} output tokens\n", answer_.model.name,
                           answer_.slice.machine.name, chips_text(answer_), answer_.batch,
                           answer_.batch == 1 ? "" : "s", answer_.prompt, answer_.output);
        out_ += "  " + wrapped(split_text(answer_), 2, 2, page_width) + "\n\n";
        page_.title(
            fmt::format("Serving {} on {}, {}", answer_.model.name, answer_.slice.machine.name, chips_text(answer_)));
        page_.question(
            fmt::format("How fast does this slice answer {} sequence{} at a time, with {} prompt and {} "
                        "output tokens, what limits it, and what does a token cost?",
                        answer_.batch, answer_.batch == 1 ? "" : "s", answer_.prompt, answer_.output));
        for (const std::string_view key : {"tpot_s", "ttft_s", "tokens_per_s"}) {
            page_.headline(fact_of(serve_figures(), key, answer_));
        }
        if (answer_.under_load) {
            page_.headline(
                fact_of(serve_figures(), "under_load.tpot_s", answer_, "TPOT; " + error_words(*answer_.under_load)));
        }
        if (const auto dollars = usd_per_million(answer_, 1, 0, decode_tokens_per_s(answer_))) {
            page_.headline(
                {"USD per million tokens", usd(*dollars), "while it decodes", exact_number(*dollars, "USD")});
        }
        page_.section(PagePlace::answer, "Answer");
        page_.say(bounds_text());
        page_.fact("split", "", split_text(answer_));
    }

    void verdict() {
        const auto chips = static_cast<double>(answer_.slice.chips());
        const std::string room = answer_.max_batch > 0 ? fmt::format("room for {} sequences", answer_.max_batch)
                                                       : "not enough for one sequence";
        if (answer_.capacity) {
            figure("fits", fmt::format("{} of {} on each chip; {}", bytes(answer_.chip_memory.total()),
                                       bytes(*answer_.capacity), room));
            if (answer_.smallest) {
                line("smallest slice",
                     fmt::format("{} chip{}", answer_.smallest->chips, answer_.smallest->chips == 1 ? "" : "s"),
                     answer_.smallest->chips == 1 ? answer_.smallest->name + " holds it"
                                                  : fmt::format("{} holds it with {}", answer_.smallest->name,
                                                                plan_text(answer_.smallest->plan)));
            } else {
                line("smallest slice", "none", "none of the slices of this machine that were tried is large enough");
            }
        } else {
            figure("fits", "the machine's file does not say how much memory a chip has");
        }
        if (answer_.served) server_room(*answer_.served);
        figure("tpot_s", fmt::format("time per output token of each sequence; {} for its first, {} for its last",
                                     to_text(Seconds{answer_.first_step_s}), to_text(Seconds{answer_.last_step_s})));
        figure("ttft_s", answer_.prefill_pool ? "time to first token of one prompt on otherwise idle slices"
                                              : "time to first token of one prompt on an otherwise idle slice");
        const double tokens = decode_tokens_per_s(answer_);
        figure("tokens_per_s", fmt::format("during decode, {} per chip{}", rate_text(tokens / chips),
                                           price(usd_per_million(answer_, 1, 0, tokens))));
        if (answer_.whole_passes) whole_passes(*answer_.whole_passes);
        served();
        if (answer_.speculation) speculation(*answer_.speculation);
        if (answer_.under_load) under_load(*answer_.under_load);
        if (answer_.load) {
            out_ += load_text(answer_);
            page_.add(load_sections(answer_));
        }
        out_ += "\n";
    }

    void whole_passes(const MeasuredPasses& passes) {
        figure("whole_passes.generation_tokens_per_s",
               fmt::format("tokens/s of one sequence by {}, {} tokens after a prompt of {}: median error {} %",
                           passes.software, answer_.output, answer_.prompt, percent_text(passes.generation_error)));
        figure("whole_passes.prompt_tokens_per_s", fmt::format("tokens/s of a prompt of {} tokens: median error {} %",
                                                               answer_.prompt, percent_text(passes.prompt_error)));
    }

    void server_room(const ServedRoom& room) {
        const MemoryRule& rule = room.rule;
        const char* const whose = rule.of == MemoryShare::all        ? "a chip's memory"
                                  : rule.of == MemoryShare::unmoving ? "a chip's memory beside activations"
                                                                     : "what weights and activations leave";
        figure("server_memory.max_batch",
               fmt::format("sequence{}, {} tokens{}: {} uses {} % of {}, {} per chip for KV cache",
                           room.max_batch == 1 ? "" : "s", grouped(room.tokens),
                           rule.block > 1 ? fmt::format(" in blocks of {}", rule.block) : "",
                           rule.software.empty() ? "the server" : rule.software, percent_text(rule.fraction), whose,
                           bytes(room.cache_bytes)));
    }

    void speculation(const SpeculatedServing& drafts) {
        const std::string drafter =
            drafts.source == DraftSource::layer
                ? fmt::format("drafts by its own layer {}", to_text(Seconds{drafts.draft_s()}))
            : drafts.source == DraftSource::model
                ? fmt::format("drafts by {} {}", drafts.name, to_text(Seconds{drafts.draft_s()}))
                : std::string("drafts by lookup no time");
        const std::string limit =
            drafts.no_gain_from ? fmt::format("; no gain from batch {} on", *drafts.no_gain_from) : "";
        figure("speculation.gain",
               fmt::format("times as fast as {} without it; {} drafted, {} % accepted: {:.3g} tokens a step; "
                           "verification {}, {}{}",
                           to_text(Seconds{drafts.tpot_without_s}), drafts.tokens, percent_text(drafts.acceptance),
                           drafts.tokens_per_step, to_text(Seconds{pass_seconds(answer_.decode)}), drafter, limit));
    }

    void under_load(const ServedLoad& load) {
        figure("under_load.tpot_s",
               fmt::format("TPOT by {}, {}; TTFT {}; {} tokens/s{}; {}", load.software, load_words(answer_),
                           to_text(Seconds{load.ttft_s}), rate_text(load.tokens_per_s),
                           price(load_usd_per_million(answer_, load.tokens_per_s)), error_words(load)));
    }

    [[nodiscard]] std::string error_words(const ServedLoad& load) const {
        return fmt::format("mean error {} % on {} to which {} was not fitted", percent_text(load.error),
                           answer_.prefill_pool ? "pools" : "models", load.software);
    }

    [[nodiscard]] std::string price(std::optional<double> dollars) const {
        if (!dollars) return "";
        const auto& pool = answer_.prefill_pool;
        std::string prices = to_text(*answer_.slice.machine.price);
        if (pool && pool->slice.machine.price &&
            pool->slice.machine.price->value != answer_.slice.machine.price->value) {
            prices += fmt::format(" ({} for prefill)", to_text(*pool->slice.machine.price));
        }
        return fmt::format("; {} per million tokens at {}", usd(*dollars), prices);
    }

    void served() {
        const double tokens = served_tokens_per_s(answer_);
        const double ratio = prefill_ratio(answer_);
        const std::string dollars = price(usd_per_million(answer_, 1, answer_.prefill_pool ? ratio : 0, tokens));
        if (!answer_.prefill_pool) {
            line("with prefill", rate_text(tokens),
                 fmt::format("tokens/s if the same chips also prefill, in {:.0f} % of their time{}",
                             100 * ratio / (1 + ratio), dollars));
            return;
        }
        line("prefill:decode", fmt::format("{:.2f} : 1", ratio),
             fmt::format("prefill slices per decode slice to balance both pools: {} per chip{}",
                         rate_text(tokens / serving_chips(answer_)), dollars));
        pool(*answer_.prefill_pool);
    }

    void pool(const PrefillPool& pool) {
        std::string held = bytes(pool.chip_memory.total());
        if (pool.capacity) held += fmt::format(" of {}{}", bytes(*pool.capacity), pool.fits() ? "" : ", too much,");
        line("prefill slice", fmt::format("{} chip{}", pool.slice.chips(), pool.slice.chips() == 1 ? "" : "s"),
             fmt::format("{}:{} with {}; {} on each chip; {} prompts/s", pool.machine_id, pool.slice.shape_text(),
                         pool.slice.chips() == 1 ? "one chip" : plan_text(pool.plan), held,
                         rate_text(1 / prompt_seconds(answer_))));
        if (pool.transfer) {
            const double prompt = static_cast<double>(answer_.prompt);
            const double exposed = pool.transfer->exposed_s(prompt, prefill_seconds(answer_));
            figure("disaggregated.transfer_s",
                   fmt::format("for the {} of a prompt over {}, {} of it before the first token",
                               bytes(pool.transfer->bytes.at(prompt)), pool.transfer->network,
                               pool.transfer->by_layer ? to_text(Seconds{exposed}) : "all"));
        }
        if (!pool.rates) return;
        const double ratio = pool.rates->decode / static_cast<double>(pool.decode_slices) /
                             (pool.rates->prompts / static_cast<double>(pool.slices));
        line(
            "pools", fmt::format("{} : {}", pool.slices, pool.decode_slices),
            fmt::format("workers that prefill and decode: they take at most {} and {} requests/s, so {} limits; {:.2g} "
                        "that prefill per one that decodes would balance them when caches are full",
                        rate_text(pool.rates->prompts), rate_text(pool.rates->decode),
                        pool.rates->prompts < pool.rates->decode ? "prefill" : "decode", ratio));
    }

    void memory() {
        page_.section(PagePlace::detail, "Memory of a chip");
        out_ += fmt::format("  {:<15} {:>11} {:>11}\n", "memory", "the slice", "per chip");
        const auto row = [&](std::string_view label, std::string_view part, const std::string& remark) {
            const auto held = [&](std::string_view by) {
                return text_of(serve_figures(), fmt::format("{}.{}", by, part), answer_);
            };
            out_ += fmt::format("  {:<15} {:>11} {:>11}{}{}\n", label, held("memory_bytes"),
                                held("memory_bytes_per_chip"), remark.empty() ? "" : "   ", remark);
            const std::string whole = fmt::format("{} on the whole slice", held("memory_bytes"));
            const std::string key = fmt::format("memory_bytes_per_chip.{}", part);
            page_.fact({std::string(label), held("memory_bytes_per_chip"),
                        remark.empty() ? whole : fmt::format("{}; {}", remark, whole),
                        fact_of(serve_figures(), key, answer_).exact});
        };
        row("weights", "weights", weights_dtype(answer_));
        row("KV cache", "kv",
            fmt::format("{}, {} tokens of {} sequence{}", name(answer_.kv_dtype), answer_.prompt + answer_.output,
                        answer_.batch, answer_.batch == 1 ? "" : "s"));
        row("activations", "activations",
            answer_.prompt > answer_.chunk
                ? fmt::format("peak activation memory, with prompts in chunks of {} tokens", answer_.chunk)
                : "peak activation memory");
        row("total", "total",
            answer_.speculation && answer_.speculation->draft
                ? fmt::format("{} of a chip for the drafter", bytes(answer_.speculation->memory.total()))
                : "");
        out_ += "\n";
    }

    void passes() {
        page_.section(PagePlace::detail, "Passes");
        Table table;
        table.head = {"pass", "lower", "uniform", "sequential", "expected", "error", "no overlap", "bound by"};
        if (!answer_.experts()) std::erase(table.head, "uniform");
        table.right.assign(table.head.size(), true);
        table.right.front() = table.right.back() = false;
        passes_ = std::move(table);
        out_ += fmt::format("  {:<15} {:>11}{} {:>11} {:>11} {:>6} {:>11}   {}\n", "pass", "lower",
                            answer_.experts() ? fmt::format(" {:>11}", "uniform") : "", "sequential", "expected",
                            "error", "no overlap", "bound by");
        pass("prefill", answer_.prefill, answer_.least_prefill);
        pass("decode", answer_.decode, answer_.least_decode);
        if (answer_.speculation && answer_.speculation->draft) {
            pass("draft", *answer_.speculation->draft, answer_.speculation->least_draft);
        }
        out_ += "\n";
        page_.table(std::exchange(passes_, Table{}));
        page_.section(PagePlace::detail, "A decode step");
        for (const Resource& resource : answer_.decode.analysis.total.pricing.resources) {
            const auto index =
                static_cast<std::size_t>(&resource - answer_.decode.analysis.total.pricing.resources.data());
            const auto& all = answer_.decode.analysis.total.seconds;
            if (!all || !((*all)[index] > 0)) continue;
            const double least = answer_.decode.analysis.total.least_seconds[index];
            const double share = least / answer_.decode.analysis.total.bounds.lower;
            out_ += fmt::format(
                "  {:<15} {:>11}   {:<30} {:>3.0f} %{}\n", "step: " + resource.label, to_text(Seconds{(*all)[index]}),
                std::string(static_cast<std::size_t>(std::lround(30 * share)), '#'), 100 * share,
                least < (*all)[index]
                    ? fmt::format("   {} of it in {}", to_text(Seconds{least}), answer_.experts() ? "uniform" : "lower")
                    : "");
            page_.fact({resource.label, to_text(Seconds{(*all)[index]}), fmt::format("{:.0f} %", 100 * share),
                        exact_number((*all)[index], "s"), share});
        }
        for (const MessageWork& each : answer_.decode.analysis.total.work.messages) {
            const auto size = each.message.bytes.evaluate(answer_.decode.program.sizes);
            const auto times = each.count.evaluate(answer_.decode.program.sizes);
            if (!size || !times || size->is_zero()) continue;
            const std::string what =
                fmt::format("{} of {}{}, {} times per step", collective_name(each.message.kind, true),
                            each.message.tensor, route_text(each.message), times->to_text());
            out_ += fmt::format("  {:<15} {:>11}   {}\n", "", bytes(size->to_double()), what);
            page_.fact({"", bytes(size->to_double()), what, exact_number(size->to_double(), "B")});
        }
        out_ += "\n";
    }

    void pass(std::string_view label, const Prediction& pass, const RoutingBound& least) {
        const Analysis& total = pass.analysis.total;
        const std::string uniform =
            answer_.experts() ? fmt::format(" {:>11}", to_text(Seconds{total.bounds.lower})) : std::string();
        std::string bound = bound_label(pass);
        if (bound != least.bound_label) bound = fmt::format("lower: {}, uniform: {}", least.bound_label, bound);
        const Prediction& best = fastest(pass);
        const std::optional<double> expected = pass.expected_s ? best.expected_s : std::nullopt;
        const std::optional<double> error = expected ? best.expected_error : std::nullopt;
        const std::string of = error ? percent_text(*error) + " %" : "-";
        out_ +=
            fmt::format("  {:<15} {:>11}{} {:>11} {:>11} {:>6} {:>11}   {}\n", label, to_text(Seconds{least.lower_s}),
                        uniform, to_text(Seconds{total.sequential}), expected ? to_text(Seconds{*expected}) : "-", of,
                        to_text(Seconds{total.bounds.upper}), bound);
        TableRow row(passes_);
        const auto time = [&](std::optional<double> seconds) {
            if (seconds) {
                row.number(to_text(Seconds{*seconds}), *seconds, "s");
            } else {
                row.text("-");
            }
        };
        row.text(std::string(label));
        time(least.lower_s);
        if (answer_.experts()) time(total.bounds.lower);
        time(total.sequential);
        time(expected);
        if (error) {
            row.number(of, *error, "");
        } else {
            row.text("-");
        }
        time(total.bounds.upper);
        row.text(std::move(bound));
    }

    void frontier() {
        constexpr std::string_view keys[] = {
            "batch",   "tpot_s", "tpot_without_s", "tokens_per_s", "tokens_per_s_per_chip", "usd_per_million_tokens",
            "bound_by"};
        std::vector<FigureColumn> columns;
        for (const std::string_view key : keys) {
            if (key == "tpot_without_s" && !answer_.speculation) continue;
            columns.push_back({key, find_figure(frontier_figures(), key).label, true});
        }
        const std::vector<FrontierPoint> points = frontier_of(answer_);
        Table table = figure_table(frontier_figures(), columns, points);
        for (const FrontierPoint& at : points) {
            std::vector<std::string> marks;
            if (at.point().batch == answer_.batch) marks.emplace_back("asked for");
            if (at.point().batch == answer_.max_batch) marks.emplace_back("the largest that fits");
            if (answer_.capacity && at.point().batch > answer_.max_batch) marks.emplace_back("does not fit");
            if (at.index == answer_.knee) marks.emplace_back("knee");
            table.rows[at.index].push_back(marks.empty() ? "" : fmt::format("<- {}", fmt::join(marks, ", ")));
        }
        table.head.emplace_back("");
        out_ += table_text(table, 2) + "\n";
        page_.section(PagePlace::choice, "Other numbers of sequences");
        page_.table(std::move(table));
    }

    [[nodiscard]] std::string bounds_text() const {
        const ComputeBoundBatch& from = answer_.compute_bound;
        std::string text =
            fmt::format("{}-bound{}: ", bound_label(answer_.decode), answer_.experts() ? " with uniform routing" : "");
        if (answer_.compute_bound_known) {
            text += from.step ? fmt::format("a decode step is compute-bound from batch {:.0f}", std::ceil(*from.step))
                              : "no batch makes a decode step compute-bound, because the KV cache grows with it";
            text += from.weights
                        ? fmt::format("; weight matmuls become compute-bound at batch {:.0f}", std::ceil(*from.weights))
                        : "; weight matmuls never do";
            // each member of `data` has a copy of the weights and its own part of the batch
            const std::string copies = answer_.plan.data > 1 ? fmt::format(" x {} copies", answer_.plan.data) : "";
            if (from.textbook)
                text += fmt::format(" (rule of thumb, FLOP/s x bytes per weight / 2 HBM{}: {:.0f})", copies,
                                    *from.textbook);
        } else if (from.textbook) {
            text += fmt::format("by the rule of thumb, its expert matmuls are compute-bound from batch {:.0f}",
                                *from.textbook);
        }
        return text + ".";
    }

    void bounds() { out_ += "  " + wrapped(bounds_text(), 2, 2, page_width) + "\n\n"; }

    const ServeAnswer& answer_;
    std::string out_;
    PageWriter page_;
    Table passes_;  ///< the passes of a page, while they are written
};

}  // namespace

std::string serve_text(const ServeAnswer& answer) { return ServeText(answer).run(); }

ReportPage serve_sections(const ServeAnswer& answer) {
    ServeText text(answer);
    (void)text.run();
    return text.page();
}

}  // namespace roofline::core
