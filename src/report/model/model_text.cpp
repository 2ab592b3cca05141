#include "report/model/model_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page/page_writer.hpp"
#include "report/table.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Returns "70,553,706,496".
std::string exact_count(const Rational& value) {
    std::string digits = value.to_text();
    if (!value.is_whole()) return fmt::format("{:.6g}", value.to_double());
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

std::string bar(double share, std::size_t most = 30) {
    const auto length = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(most)));
    return std::string(length, '#');
}

std::string bytes_text(const Rational& bytes) { return to_text(Bytes{bytes.to_double()}); }

class ModelText {
public:
    explicit ModelText(const ModelAnswer& answer) : answer_(answer), counts_(answer.counts), model_(answer.model) {}

    std::string run() {
        out_ = fmt::format("{}   {}, architecture {}, {} layers, context {}\n\n", model_.name, model_.model_type,
                           model_.architecture, model_.layer_count, model_.context);
        title();
        parameters();
        flops();
        memory();
        layers();
        notes();
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    void line(std::string_view label, std::string_view value, std::string_view remark, std::string exact = {}) {
        page_.fact({std::string(label), std::string(value), std::string(remark), std::move(exact)});
        out_ += fmt::format("  {:<13} {:>12}   {}\n", label, value, remark);
    }

    void title() {
        page_.title(fmt::format("{}: parameters, FLOPs and memory", model_.name));
        page_.question("Where do parameters, FLOPs, weights and the KV cache of this model go?");
        const auto tile = [&](const char* label, const Rational& count, const char* remark) {
            page_.headline({label, short_count(count), remark, exact_number(count.to_double())});
        };
        tile("parameters", counts_.total.params, "");
        tile("FLOP per token", counts_.total.products, "forward, without attention");
        page_.headline({"weights", bytes_text(answer_.weights.total), answer_.weights.scheme,
                        exact_number(answer_.weights.total.to_double(), "B")});
        const Rational cache = kv_bytes(answer_, counts_.cache.per_token);
        page_.headline({"KV cache per token", bytes_text(cache), std::string(name(answer_.kv_dtype)),
                        exact_number(cache.to_double(), "B")});
        page_.section(PagePlace::answer, "The model");
        page_.say(fmt::format("{}: model type {}, architecture {}, {} layers, context {}.", model_.name,
                              model_.model_type, model_.architecture, model_.layer_count, model_.context));
        page_.section(PagePlace::answer, "Parameters by part");
        page_.picture(to_svg(model_picture(answer_)));
    }

    void parameters() {
        line("parameters", short_count(counts_.total.params), exact_count(counts_.total.params));
        const Rational active = active_params(model_, counts_);
        if (!(active == counts_.total.params)) line("active", short_count(active), exact_count(active));
        if (!counts_.mtp.params.is_zero()) {
            line("further", short_count(counts_.mtp.params), "multi-token prediction layers, not counted here");
        }
        out_ += "\n";
        const double all = counts_.total.params.to_double();
        const double work = (counts_.total.products + counts_.total.attention).to_double();
        out_ += fmt::format("  {:<13} {:>12} {:>6}  {:<20} {:>14} {:>6}\n", "part", "parameters", "", "",
                            "FLOP per token", "");
        Table table;
        table.head = {"part", "parameters", "of all", "FLOP per token", "of all"};
        table.right = {false, true, true, true, true};
        for (const std::string& part : shown_parts(answer_)) {
            const PartCount count = part_of(counts_.parts, part);
            if (count.params.is_zero() && count.products.is_zero()) continue;
            const double share = count.params.to_double() / all;
            const Rational flop = count.products + count.attention;
            out_ += fmt::format("  {:<13} {:>12} {:>4.0f} %  {:<20} {:>14} {:>4.0f} %\n", part,
                                short_count(count.params), 100 * share, bar(share, 20), short_count(flop),
                                work > 0 ? 100 * flop.to_double() / work : 0);
            const double of_work = work > 0 ? flop.to_double() / work : 0;
            TableRow row(table);
            row.text(part).number(short_count(count.params), count.params.to_double());
            row.number(fmt::format("{:.0f} %", 100 * share), share);
            row.number(short_count(flop), flop.to_double(), "FLOP");
            row.number(fmt::format("{:.0f} %", 100 * of_work), of_work);
        }
        page_.table(std::move(table));
        out_ += "\n";
    }

    void flops() {
        page_.section(PagePlace::detail, "FLOPs per token");
        const PartCount& total = counts_.total;
        line("forward", short_count(total.products), "FLOPs per token: 2 for each parameter that is multiplied");
        line("training", short_count(total.products * Rational(3)), "FLOPs per token: 6 for each of them");
        line("attention", short_count(total.attention),
             fmt::format("FLOPs per token in addition, forward, in a sequence of {} (causal counted half)",
                         model_.sequence));
        if (counts_.attention_overtakes) {
            line("", fmt::format("{:.0f}", std::ceil(*counts_.attention_overtakes)),
                 "tokens: sequence length from which attention exceeds MLP and experts");
        } else {
            line("", "never", "attention exceeds MLP and experts at any sequence length");
        }
        out_ += "\n";
    }

    void memory() {
        page_.section(PagePlace::detail, "Memory");
        line("weights", bytes_text(answer_.weights.total), answer_.weights.scheme);
        if (answer_.weights.by_format.size() > 1) {
            for (const auto& [format, share] : answer_.weights.by_format) {
                line("", bytes_text(share.bytes), fmt::format("{}, {} parameters", format, short_count(share.params)));
            }
        }
        const CacheCount& cache = counts_.cache;
        const std::string dtype(name(answer_.kv_dtype));
        line("KV cache", bytes_text(kv_bytes(answer_, cache.per_token)),
             fmt::format("per token, {}: {} bytes", dtype, exact_count(kv_bytes(answer_, cache.per_token))));
        if (!(cache.per_token_later == cache.per_token)) {
            line("", bytes_text(kv_bytes(answer_, cache.per_token_later)), "per token once all windows are full");
        }
        line("", bytes_text(kv_bytes(answer_, cache.sequence)), fmt::format("a sequence of {}", model_.sequence));
        if (!cache.state_bytes.is_zero())
            line("state", bytes_text(cache.state_bytes), "per sequence of any length: recurrent state");
        const ActivationCount& kept = counts_.activations;
        line("activations", bytes_text(kept.none), "per token in training, without recomputation");
        line("", bytes_text(kept.products), "matmul results kept, the rest recomputed");
        line("", bytes_text(kept.full), "layer inputs kept, each layer recomputed");
        out_ += "\n";
    }

    void layers() {
        Table table;
        table.head = {"layers", "kind", "parameters", "active", "FLOP per token", "KV per token"};
        table.right = {false, false, true, true, true, true};
        for (std::size_t i = 0; i < model_.groups.size(); ++i) {
            PartCount sum;
            for (const auto& entry : counts_.groups[i].parts) {
                if (entry.first != "mtp") sum += entry.second;
            }
            const std::string ranges = layer_ranges(model_.groups[i].layers);
            const Rational flop = sum.products + sum.attention;
            const Rational cache = kv_bytes(answer_, counts_.groups[i].cache.per_token);
            TableRow row(table);
            row.text(fitted(ranges, 34), ranges).text(model_.groups[i].label);
            row.number(short_count(sum.params), sum.params.to_double());
            row.number(short_count(sum.active), sum.active.to_double());
            row.number(short_count(flop), flop.to_double(), "FLOP");
            row.number(bytes_text(cache), cache.to_double(), "B");
        }
        out_ += table_text(table, 2) + "\n";
        page_.section(PagePlace::detail, "Kinds of layers");
        page_.table(std::move(table));
    }

    void notes() {
        for (const std::string& note : model_notes(answer_)) {
            out_ += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
            page_.note(note);
        }
    }

    const ModelAnswer& answer_;
    const ModelCounts& counts_;
    const Model& model_;
    std::string out_;
    PageWriter page_;
};

}  // namespace

std::string model_text(const ModelAnswer& answer) { return ModelText(answer).run(); }

ReportPage model_page(const ModelAnswer& answer) {
    ModelText text(answer);
    (void)text.run();
    return text.page();
}

}  // namespace roofline::core
