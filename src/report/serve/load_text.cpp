#include "report/serve/load_text.hpp"

#include <fmt/format.h>

#include "report/page/page_writer.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/serve/serve_words.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

class LoadText {
public:
    explicit LoadText(const ServeAnswer& answer) : answer_(answer), load_(*answer.load) {}

    std::string run() {
        page_.section(PagePlace::answer, "Under load");
        line("load.requests_per_s", throughput());
        if (load_.load.rate > 0) line("load.saturation_requests_per_s", saturation());
        if (load_.load.targets.any()) {
            line("load.goodput_requests_per_s",
                 fmt::format("requests/s with {}: {} % of them", targets(""), percent_text(load_.met)));
            line("load.largest", largest());
        }
        spreads();
        return std::move(out_);
    }

    // What run() wrote, as a section of a page.
    ReportPage page() { return page_.take(); }

private:
    void line(std::string_view key, const std::string& remark) {
        page_.fact(fact_of(serve_figures(), key, answer_, remark));
        out_ += fmt::format("  {:<15} {:>11}   {}\n", find_figure(serve_figures(), key).label,
                            text_of(serve_figures(), key, answer_), wrapped(remark, 31, 31, page_width));
    }

    [[nodiscard]] std::string throughput() const {
        const double chips = load_chips(answer_);
        const double tokens = load_.times.tokens_per_s;
        std::string text = fmt::format("{} requests simulated; {} tokens/s, {} per chip", grouped(load_.requests),
                                       rate_text(tokens), rate_text(tokens / chips));
        if (load_.times.tpot.mean > 0) text += fmt::format(", {} per user", rate_text(1 / load_.times.tpot.mean));
        return text;
    }

    [[nodiscard]] std::string saturation() const {
        return fmt::format("requests/s from which on the queue grows without bound; the load is {} % of it",
                           percent_text(load_.load.rate / load_.saturation_per_s));
    }

    // "TTFT up to 500 ms and TPOT up to 30 ms"; `percentile` precedes each
    [[nodiscard]] std::string targets(std::string_view percentile) const {
        const ServingTargets& targets = load_.load.targets;
        std::string text;
        if (targets.ttft_s) text += fmt::format("{}TTFT up to {}", percentile, to_text(Seconds{*targets.ttft_s}));
        if (targets.ttft_s && targets.tpot_s) text += " and ";
        if (targets.tpot_s) text += fmt::format("{}TPOT up to {}", percentile, to_text(Seconds{*targets.tpot_s}));
        return text;
    }

    [[nodiscard]] std::string largest() const {
        const bool open = load_.load.rate > 0;
        if (!(load_.largest > 0)) {
            return fmt::format("not even {} has {}",
                               open ? "a thousandth of the saturation rate" : "one request at a time",
                               targets("p99 of "));
        }
        return fmt::format("{} with {}{}", open ? "requests/s" : "requests at a time", targets("p99 of "),
                           load_.largest_fills_cache ? "; more do not fit and wait" : "");
    }

    void spreads() {
        out_ += fmt::format("\n  {:<15} {:>11} {:>10} {:>10} {:>10}\n", "under load", "mean", "p50", "p90", "p99");
        Table table;
        table.head = {"", "mean", "p50", "p90", "p99", ""};
        table.right = {false, true, true, true, true, false};
        const auto row = [&](std::string_view key, std::string_view remark) {
            TableRow cells(table);
            cells.text(std::string(find_figure(serve_figures(), key).label));
            out_ += fmt::format("  {:<15}", find_figure(serve_figures(), key).label);
            for (const std::string_view part : {"mean", "p50", "p90", "p99"}) {
                const double seconds =
                    value_of(serve_figures(), key, answer_).at(std::string(part)).template get<double>();
                out_ += fmt::format(" {:>{}}", to_text(Seconds{seconds}), part == "mean" ? 11 : 10);
                cells.number(to_text(Seconds{seconds}), seconds, "s");
            }
            out_ += remark.empty() ? "\n" : fmt::format("   {}\n", remark);
            cells.text(std::string(remark));
        };
        row("load.ttft_s", "");
        row("load.tpot_s", "");
        row("load.itl_s", "from token to token");
        row("load.latency_s", "to the last token");
        page_.table(std::move(table));
    }

    const ServeAnswer& answer_;
    const SimulatedLoad& load_;
    std::string out_;
    PageWriter page_;
};

}  // namespace

std::string load_words(const ServeAnswer& answer) {
    if (answer.load && answer.load->load.rate > 0) {
        return fmt::format("with {} requests/s that arrive at random", number_text(answer.load->load.rate));
    }
    const std::int64_t servers = answer.prefill_pool ? answer.prefill_pool->decode_slices : 1;
    const std::int64_t concurrency = answer.load ? answer.load->load.concurrency : answer.batch * servers;
    return concurrency == 1 ? "with one request after another"
                            : fmt::format("with {} requests at a time, each followed by the next", concurrency);
}

std::string load_text(const ServeAnswer& answer) { return LoadText(answer).run(); }

ReportPage load_sections(const ServeAnswer& answer) {
    LoadText text(answer);
    (void)text.run();
    return text.page();
}

}  // namespace roofline::core
