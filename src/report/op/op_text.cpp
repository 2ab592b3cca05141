#include "report/op/op_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bound/network_pricing.hpp"
#include "notation/notation.hpp"
#include "predict/expected_basis.hpp"
#include "report/op/expected_text.hpp"
#include "report/op/op_figures.hpp"
#include "report/op/op_verdict.hpp"
#include "report/page/page_writer.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t bar_width = 32;
constexpr std::size_t max_kernels = 40;
constexpr std::size_t max_tensors = 8;

class OpText {
public:
    OpText(const Prediction& answer, bool color)
        : answer_(answer),
          program_(answer.program),
          total_(answer.analysis.total),
          verdict_(op_verdict(answer)),
          color_(color) {}

    std::string run() {
        title();
        mesh();
        if (!answer_.analysis.kernels.empty()) kernels();
        work();
        network();
        intensity();
        out_ += '\n';
        times();
        if (!verdict_.empty()) out_ += "\n  " + wrapped(verdict_, 2, 2, page_width) + "\n";
        alternatives();
        notes();
        return std::move(out_);
    }

    // What run() wrote, as the sections of a page.
    ReportPage page() { return page_.take(); }

private:
    [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const {
        return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
    }
    [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }

    // A label that exceeds its column takes room from the value.
    [[nodiscard]] static std::string entry(std::string_view label, std::string_view value) {
        constexpr std::size_t column = 9;
        constexpr std::size_t value_column = 13;
        const std::size_t over = std::min(std::max(label.size(), column) - column, value_column);
        return fmt::format("  {:<{}}  {:>{}}", label, column, value, value_column - over);
    }

    void line(std::string_view label, std::string_view value, std::string_view what, std::string_view formula,
              std::string exact = {}) {
        const bool both = !what.empty() && !formula.empty();
        page_.fact({std::string(label), std::string(value), fmt::format("{}{}{}", what, both ? "; " : "", formula),
                    std::move(exact)});
        std::string text = entry(label, value) + "  ";
        text += fmt::format("{:<36}{}{}", what, display_width(what) < 36 ? " " : "  ", formula);
        while (!text.empty() && text.back() == ' ') text.pop_back();
        out_ += text + "\n";
    }

    void title() {
        const std::int64_t chips = answer_.system.slice.chips();
        const std::string where = chips == 1 ? fmt::format("{}, 1 chip", answer_.machine.name)
                                             : fmt::format("{}, {} = {} chips", answer_.machine.name,
                                                           answer_.system.slice.shape_text(), chips);
        std::string what;
        if (answer_.analysis.kernels.empty() && answer_.analysis.work.kernels.front().statements.size() == 1) {
            what = statement_text(program_, *answer_.analysis.work.kernels.front().statements.front(), Types::sized,
                                  answer_.local->local_dims);
        } else {
            std::vector<std::string> sizes;
            for (const std::string& dim : program_.dims) {
                const auto size = program_.sizes.find(dim);
                sizes.push_back(size == program_.sizes.end() ? dim : fmt::format("{}={}", dim, size->second));
            }
            const std::size_t count = answer_.analysis.work.kernels.size();
            what = fmt::format("{}{} kernel{}, {}", answer_.name.empty() ? "" : answer_.name + ": ", count,
                               count == 1 ? "" : "s", fmt::join(sizes, ", "));
        }
        const std::size_t used = display_width(what) + display_width(where);
        const std::string gap =
            used + 8 <= page_width
                ? std::string(
                      std::max<std::size_t>(8, std::min<std::size_t>(page_width - used, 72 > used ? 72 - used : 8)),
                      ' ')
                : "\n  ";
        out_ += bold(what) + gap + where + "\n\n";
        page_.title(fmt::format("{} on {}", what, where));
        page_.question(
            fmt::format("How long does this take on {}, what limits it, and what would change that?", where));
        for (const std::string_view key : {"lower_s", "expected_s", "bound_by", "peak_fraction"}) {
            PageFact tile = fact_of(op_figures(), key, OpPart{answer_, total_});
            if (key == "lower_s") tile.remark = "if everything overlaps";
            if (key == "expected_s" && answer_.expected_s) {
                tile.remark = fmt::format("mean error {} %", percent_text(*fastest(answer_).expected_error));
            }
            if (key == "peak_fraction") tile.remark = "FLOP/s at the lower bound";
            page_.headline(std::move(tile));
        }
        page_.section(PagePlace::answer, "Answer");
        page_.say(verdict_);
    }

    void mesh() {
        if (answer_.system.mesh.empty()) return;
        page_.section(PagePlace::detail, "What a chip holds");
        for (const PlacedAxis& axis : answer_.system.mesh) {
            const std::string place = place_text(answer_.system.slice, axis);
            out_ += fmt::format("  mesh {}={}  {}\n", axis.name, axis.size, place);
            page_.fact("mesh " + axis.name, std::to_string(axis.size), place);
        }
        if (!answer_.types.empty()) held();
        out_ += "  work and times of one chip:\n\n";
    }

    // Lists the part of each array that a chip holds.
    void held() {
        Table table;
        table.head = {"a chip holds", "", ""};
        table.right = {false, true, true};
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            const Value& value = answer_.local->values[id];
            if (value.intermediate) continue;
            std::vector<std::string> shape;
            for (const Axis& axis : value.type.axes) {
                const auto size = answer_.local->sizes.find(axis.dim);
                shape.push_back(size != answer_.local->sizes.end() ? std::to_string(size->second) : axis.dim);
            }
            const auto bytes = count(program_, bytes_of(answer_.local->local_dims, value));
            TableRow row(table);
            row.text(fmt::format("  {}: {}{}", value_name(program_, id), type_text(program_, answer_.types[id]),
                                 where_text(program_.values[id])));
            row.text(fmt::format("{}", fmt::join(shape, " x ")));
            if (bytes) row.number(to_text(Bytes{bytes->to_double()}), bytes->to_double(), "B");
        }
        out_ += table_text(first_rows(table, max_tensors), 2);
        if (table.rows.size() > max_tensors) {
            out_ += fmt::format("    and {} more arrays (--json has them)\n", table.rows.size() - max_tensors);
        }
        out_ += '\n';
        page_.table(std::move(table));
    }

    // Lists the collectives and the alternative layouts.
    void network() {
        page_.section(PagePlace::detail, "Network");
        std::string_view label = "network";
        if (total_.work.messages.empty() && !answer_.layouts.empty() && !total_.pricing.resources.empty())
            line(label, "-", "no collective: each chip has the operands of its share", "");
        for (std::size_t i = 0; i < total_.work.messages.size(); ++i) {
            const Message& message = total_.work.messages[i].message;
            const auto bytes = count(program_, message.bytes);
            const auto time = message_time(answer_, message);
            std::string what =
                fmt::format("{} of {}{}", collective_name(message.kind, true), message.tensor, route_text(message));
            if (time)
                what += fmt::format(", {}{}", to_text(Seconds{time->lower_s}), time->latency_bound ? " (latency)" : "");
            line(label, bytes ? to_text(Bytes{bytes->to_double()}) : "", what, hand(message.bytes),
                 bytes ? exact_number(bytes->to_double(), "B") : "");
            label = "";
            expected_collective(i, bytes);
        }
    }

    // Prints expected times, with bandwidths as nccl-tests define them, if there is a calibration.
    void expected_collective(std::size_t i, const std::optional<Rational>& bytes) {
        if (i >= answer_.models.messages.size() || !answer_.models.messages[i] || !bytes) return;
        const ExpectedTime& expected = *answer_.models.messages[i];
        const Message& message = total_.work.messages[i].message;
        const auto load = load_of(message, answer_.system);
        if (!load) return;
        const CollectiveBandwidth bandwidth =
            collective_bandwidth(message.kind, load->members, bytes->to_double(), expected.seconds);
        line("", to_text(Seconds{expected.seconds}),
             fmt::format("expected: algbw {}, busbw {}", to_text(Bandwidth{bandwidth.algorithm}),
                         to_text(Bandwidth{bandwidth.bus})),
             calibration_name(expected), exact_number(expected.seconds, "s"));
    }

    void alternatives() {
        // For a program, text lists only the statements that communicate; JSON has all of them.
        const bool several = answer_.layouts.size() > 1;
        const std::size_t most = several ? 2 : 3;
        std::vector<std::string> others;
        for (const LaidStatement& statement : answer_.layouts) {
            if (several && !statement.communicates) continue;
            for (std::size_t i = 1; i < std::min(statement.plans.size(), most + 1); ++i) {
                const LayoutPlan& plan = statement.plans[i];
                const std::string head = several ? value_name(program_, statement.result) + " instead" : "instead";
                std::string text = fmt::format("{}: {}", head, plan.text);
                if (total_.seconds) {
                    text += fmt::format(": lower {}{}", to_text(Seconds{plan.lower_s}),
                                        statement.repeated ? " a pass" : "");
                }
                out_ += "\n  " + wrapped(text, 2, 8, page_width);
                others.push_back(std::move(text));
            }
        }
        page_.section(PagePlace::choice, "Other layouts");
        page_.list(std::move(others));
        if (out_.back() != '\n') out_ += '\n';
    }

    void kernels() {
        Table table;
        table.head = {"kernel", "FLOPs", "bytes", "FLOP/B"};
        table.right = {false, true, true, true};
        for (const Resource& resource : total_.pricing.resources) {
            table.head.push_back(resource.label);
            table.right.push_back(true);
        }
        table.head.emplace_back("lower");
        table.right.push_back(true);
        table.head.emplace_back("bound by");
        const auto& all = answer_.analysis.kernels;
        for (const Analysis& kernel : all) {
            const auto flops = count(program_, kernel.work.flops());
            const auto traffic = kernel.work.memory.find(total_.main_level);
            const auto bytes =
                traffic == kernel.work.memory.end() ? std::nullopt : count(program_, traffic->second.total());
            TableRow row(table);
            row.text(fitted(kernel.title, 44), kernel.title);
            cell<Flops>(row, flops ? std::optional(flops->to_double()) : std::nullopt, "FLOP");
            cell<Bytes>(row, bytes ? std::optional(bytes->to_double()) : std::nullopt, "B");
            if (flops && bytes && !bytes->is_zero()) {
                const double intensity = flops->to_double() / bytes->to_double();
                row.number(number_text(intensity), intensity, "FLOP/B");
            } else {
                row.text("-");
            }
            for (const Resource& resource : total_.pricing.resources) {
                cell<Seconds>(row, kernel.seconds_of(resource.id), "s");
            }
            cell<Seconds>(row, kernel.seconds ? std::optional(kernel.bounds.lower) : std::nullopt, "s");
            const Resource* bound = kernel.bound_resource();
            row.text(bound == nullptr ? "-" : bound->label);
        }
        out_ += table_text(first_rows(table, max_kernels), 2);
        if (all.size() > max_kernels)
            out_ += fmt::format("  ... and {} more (all of them with --json)\n", all.size() - max_kernels);
        out_ += '\n';
        page_.section(PagePlace::detail, "Kernels");
        page_.table(std::move(table));
    }

    template <class Q>
    static void cell(TableRow& row, std::optional<double> value, std::string_view unit) {
        if (value) {
            row.number(to_text(Q{*value}), *value, unit);
        } else {
            row.text("-");
        }
    }

    void work() {
        page_.section(PagePlace::detail, "Work");
        std::string_view label = "work";
        for (const KeyedFlops& entry : total_.pricing.flops_by()) {
            const auto flops = count(program_, entry.flops);
            const std::size_t slash = entry.key.find('/');
            line(label, flops ? to_text(Flops{flops->to_double()}) : "",
                 fmt::format("{}, {} units", entry.key.substr(slash + 1),
                             entry.key.starts_with("matmul") ? "matrix" : "vector"),
                 hand(entry.flops), flops ? exact_number(flops->to_double(), "FLOP") : "");
            label = "";
        }
        if (!total_.work.transcendentals.is_zero()) {
            const auto number = count(program_, total_.work.transcendentals);
            line(label, number ? number_with_prefix(number->to_double()) : "", "transcendentals, not priced",
                 hand(total_.work.transcendentals));
            label = "";
        }
        for (const auto& [level, traffic] : total_.work.memory) {
            const auto read = count(program_, traffic.read);
            const auto write = count(program_, traffic.write);
            std::string what = level_label(answer_.machine, level);
            if (read && write) {
                what += fmt::format(": {} read, {} written", to_text(Bytes{read->to_double()}),
                                    to_text(Bytes{write->to_double()}));
            }
            line(label, read && write ? to_text(Bytes{read->to_double() + write->to_double()}) : "", what,
                 hand(traffic.total()), read && write ? exact_number(read->to_double() + write->to_double(), "B") : "");
            label = "";
        }
        if (total_.pricing.resources.empty()) out_ += "  nothing is computed or moved: the result equals the operand\n";
    }

    [[nodiscard]] static std::string number_with_prefix(double value) {
        std::string text = to_text(Flops{value});  // Flops print as "1.05 MFLOP"; the unit is cut off
        const std::size_t unit = text.find("FLOP");
        return unit == std::string::npos ? text : text.substr(0, unit);
    }

    [[nodiscard]] std::string hand(const Polynomial& polynomial) const {
        return fitted(shown(answer_, polynomial).to_handwriting(program_.dims), 48);
    }

    void intensity() {
        page_.section(PagePlace::detail, "Arithmetic intensity");
        std::string_view label = "intensity";
        for (const auto& [level, ratio] : total_.intensity) {
            const auto flops = count(program_, total_.work.flops());
            const auto bytes = count(program_, total_.work.memory.at(level).total());
            const std::string value =
                flops && bytes && !bytes->is_zero() ? to_text(Intensity{flops->to_double() / bytes->to_double()}) : "";
            std::string what = level == total_.main_level ? limit_text() : "";
            if (total_.intensity.size() > 1)
                what = fmt::format("{}{}{}", level_label(answer_.machine, level), what.empty() ? "" : ": ", what);
            if (value.empty() && what.empty()) what = fitted(ratio.to_handwriting(program_.dims), 36);
            const auto ridge = total_.ridge.find(level);
            line(label, value, what,
                 ridge == total_.ridge.end() ? "" : fmt::format("ridge {}", number_text(ridge->second)));
            label = "";
        }
    }

    // Returns the limit of the intensity for the first dimension that has one: "-> 2B when B << D, F".
    [[nodiscard]] std::string limit_text() const {
        for (const auto& [dim, limit] : total_.limits) {
            std::vector<std::string> others;
            for (const std::string& other : program_.dims) {
                if (other != dim && total_.work.flops().dims().contains(other)) others.push_back(other);
            }
            const bool constant = limit.numerator.dims().empty() && limit.denominator.dims().empty();
            if (others.empty() && !constant) continue;
            const std::string text = limit.to_handwriting(program_.dims);
            if (others.empty() || constant) return fmt::format("-> {} for large sizes", text);
            return fitted(fmt::format("-> {} when {} << {}", text, dim, fmt::join(others, ", ")), 36);
        }
        return "";
    }

    // Prints a quantity of the whole program with its label.
    void figure(std::string_view key, std::string_view remark) {
        out_ +=
            fmt::format("  {:<10}  {:>13}  {}\n", find_figure(op_figures(), key).label,
                        text_of(op_figures(), key, OpPart{answer_, total_}), wrapped(remark, 29, 29, max_line_width));
        page_.fact(fact_of(op_figures(), key, OpPart{answer_, total_}, remark));
    }

    void times() {
        page_.section(PagePlace::answer, "Time");
        const bool sized = total_.seconds.has_value();
        const Resource* bound = total_.bound_resource();
        for (std::size_t i = 0; i < total_.pricing.resources.size(); ++i) {
            const Resource& resource = total_.pricing.resources[i];
            if (!sized) {
                out_ += fmt::format("  {:<10}  {}\n", resource.label, time_formula(resource));
                page_.fact(resource.label, "", time_formula(resource));
                continue;
            }
            const double seconds = (*total_.seconds)[i];
            const double least = total_.least_seconds[i];
            const double share = total_.bounds.lower > 0 ? least / total_.bounds.lower : 0;
            const auto length = std::lround(share * static_cast<double>(bar_width));
            const std::string bar(std::max<std::size_t>(static_cast<std::size_t>(length), seconds > 0 ? 1 : 0), '#');
            const bool is_bound = &resource == bound;
            std::string text =
                fmt::format("{}  {}{:{}} {:>5} %{}{}", entry(resource.label, to_text(Seconds{seconds})),
                            is_bound ? paint("1;33", bar) : paint("36", bar), "", bar_width - bar.size(),
                            percent_text(share), is_bound ? "   <- the bound" : "",
                            least < seconds ? fmt::format("   {} of it in lower", to_text(Seconds{least})) : "");
            out_ += text + "\n";
            page_.fact({resource.label, to_text(Seconds{seconds}),
                        fmt::format("{} %{}{}", percent_text(share), is_bound ? ", the bound" : "",
                                    least < seconds ? fmt::format("; {} of it in lower", to_text(Seconds{least})) : ""),
                        exact_number(seconds, "s"), share});
        }
        if (!sized) {
            std::vector<std::string> missing;
            for (const std::string& dim : program_.dims) {
                if (!program_.sizes.contains(dim)) missing.push_back(dim);
            }
            const std::string none = fmt::format("No numbers yet: {} {} no size. Give {}: --dims {}=4096",
                                                 fmt::join(missing, ", "), missing.size() == 1 ? "has" : "have",
                                                 missing.size() == 1 ? "it" : "them", fmt::join(missing, "=4096,"));
            out_ += fmt::format("\n  {}\n", none);
            page_.say(none);
            return;
        }
        out_ += fmt::format("  {:<10}  {}  if everything overlaps\n", "lower",
                            bold(fmt::format("{:>13}", to_text(Seconds{total_.bounds.lower}))));
        page_.fact(fact_of(op_figures(), "lower_s", OpPart{answer_, total_}, "if everything overlaps"));
        if (answer_.uniform) {
            figure("uniform_lower_s", "if everything overlaps and tokens choose their experts uniformly");
        }
        if (!answer_.analysis.kernels.empty()) {
            figure("sequential_s", "if only the work inside each kernel overlaps");
        }
        const bool computes = total_.pricing.compute() != nullptr || !answer_.analysis.kernels.empty();
        if (total_.exposed && computes) {
            figure("exposed_s", "if collectives do not overlap with computation");
        }
        expected();
        figure("upper_s", "without any overlap, at published rates");
        if (total_.padding) {
            const double lost = 1 - total_.padding->useful_flops / total_.padding->padded_flops;
            const std::string padded = to_text(Seconds{total_.padding->padded_seconds});
            const std::string what = fmt::format("{:.1f} % of the matrix units' FLOPs are padding: {}", lost * 100,
                                                 fmt::join(total_.padding->sides, ", "));
            out_ += fmt::format("  {:<10}  {:>13}  {}\n", "padded", padded, what);
            page_.fact({"padded", padded, what, exact_number(total_.padding->padded_seconds, "s")});
        }
        if (total_.energy_j && total_.bounds.lower > 0) {
            figure("energy_j", fmt::format("{} at its rated {} for the lower time", answer_.machine.name,
                                           to_text(*answer_.machine.power.value)));
        }
    }

    void expected() {
        if (answer_.expected_s) {
            const Prediction& best = fastest(answer_);
            const bool above = *best.expected_s > total_.bounds.upper;
            figure("expected_s",
                   fmt::format("{}, mean error {} %{}", expected_basis(best), percent_text(*best.expected_error),
                               above ? "; above the no-overlap time" : ""));
            return;
        }
        const std::string why = answer_.why_not_expected.empty()
                                    ? fmt::format("no calibration for {}", answer_.machine.name)
                                    : answer_.why_not_expected;
        figure("expected_s", why);
    }

    [[nodiscard]] std::string time_formula(const Resource& resource) const {
        std::vector<std::string> terms;
        for (const Term& term : resource.terms) {
            const Polynomial work = shown(answer_, term.work);
            const std::string text = work.to_handwriting(program_.dims);
            terms.push_back(
                fmt::format("{} / {}", work.terms().size() > 1 ? "(" + text + ")" : text, term.rate.value_text()));
        }
        return fmt::format("{}", fmt::join(terms, " + "));
    }

    void notes() {
        for (const std::string& note : notes_of(answer_)) {
            out_ += "\n  " + paint("2", wrapped("note: " + note, 2, 8, page_width));
            page_.note(note);
        }
        if (out_.back() != '\n') out_ += '\n';
    }

    const Prediction& answer_;
    const Program& program_;
    const Analysis& total_;
    std::string verdict_;
    bool color_;
    std::string out_;
    PageWriter page_;
};

}  // namespace

std::string op_text(const Prediction& answer, bool color) { return OpText(answer, color).run(); }

ReportPage op_sections(const Prediction& answer) {
    OpText text(answer, false);
    (void)text.run();
    return text.page();
}

}  // namespace roofline::core
