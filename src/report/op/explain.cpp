#include "report/op/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bound/network_pricing.hpp"
#include "notation/notation.hpp"
#include "program/functions.hpp"
#include "report/op/expected_text.hpp"
#include "report/table.hpp"
#include "units/text.hpp"
#include "work/contraction.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_statements = 20;

class Explanation {
public:
    explicit Explanation(const Prediction& answer)
        : answer_(answer), program_(answer.program), total_(answer.analysis.total) {}

    std::string run() {
        heading("Question");
        const auto& kernels = answer_.analysis.work.kernels;
        for (std::size_t i = 0; i < std::min(kernels.size(), max_statements); ++i) kernel(kernels[i]);
        if (kernels.size() > max_statements)
            say(fmt::format("... and {} kernels more", kernels.size() - max_statements));
        heading("What it costs");
        for (std::size_t i = 0; i < total_.pricing.resources.size(); ++i) resource(i);
        heading("Bounds");
        bounds();
        if (!total_.intensity.empty()) {
            heading("Intensity");
            intensity();
        }
        if (!total_.critical.empty()) {
            heading("Critical sizes");
            critical_sizes();
        }
        return std::move(out_);
    }

    // What run() wrote, line by line.
    std::vector<PageLine> lines() { return std::move(lines_); }

private:
    void heading(std::string_view text) {
        out_ += fmt::format("{}{}\n", out_.empty() ? "" : "\n", text);
        lines_.push_back({0, std::string(text)});
    }
    void say(std::string_view text, std::size_t indent = 2) {
        lines_.push_back({indent > 4 ? 3 : indent / 2, std::string(text)});
        out_ += std::string(indent, ' ') + wrapped(text, indent, indent + 4, page_width) + "\n";
    }

    [[nodiscard]] std::string hand(const Polynomial& polynomial) const {
        return shown(answer_, polynomial).to_handwriting(program_.dims);
    }

    // Returns "2*64*8192*8192", the polynomial with sizes substituted, if it fits a line.
    [[nodiscard]] std::string with_sizes(const Polynomial& polynomial) const {
        std::string text;
        for (const auto& [monomial, coefficient] : polynomial.terms()) {
            std::vector<std::string> factors;
            const bool negative = coefficient.is_negative();
            const Rational size_of_it = negative ? Rational(0) - coefficient : coefficient;
            if (size_of_it != Rational(1) || monomial.empty()) factors.push_back(size_of_it.to_text());
            std::vector<Factor> ordered(monomial.begin(), monomial.end());
            const auto place = [&](const Factor& factor) {
                return std::find(program_.dims.begin(), program_.dims.end(), factor.symbol.dim) - program_.dims.begin();
            };
            std::sort(ordered.begin(), ordered.end(), [&](const Factor& a, const Factor& b) {
                return std::pair(place(a), a.symbol) < std::pair(place(b), b.symbol);
            });
            for (const Factor& factor : ordered) {
                const auto size = Polynomial::symbol(factor.symbol).evaluate(program_.sizes);
                const std::string number = size ? size->to_text() : factor.symbol.dim;
                factors.push_back(factor.power == 1 ? number : fmt::format("{}^{}", number, factor.power));
            }
            if (!text.empty() || negative) text += text.empty() ? "-" : negative ? " - " : " + ";
            text += fmt::format("{}", fmt::join(factors, "*"));
        }
        return text;
    }

    [[nodiscard]] static std::string plain(const Rational& value) {
        const auto whole = value.to_int64();
        return whole ? grouped(*whole) : number_text(value.to_double(), 12);
    }

    // Returns "= 2BDF = 2*64*8192*8192 = 8,589,934,592 unit".
    [[nodiscard]] std::string derived(const Polynomial& polynomial, std::string_view unit) const {
        std::string text = "= " + hand(polynomial);
        const auto value = count(program_, polynomial);
        if (!value) return fmt::format("{} {}", text, unit);
        const std::string sizes = with_sizes(polynomial);
        const std::string number = plain(*value);
        if (sizes != number && !polynomial.dims().empty()) text += " = " + sizes;
        if (text != "= " + number) text += " = " + number;
        return fmt::format("{} {}", text, unit);
    }

    void kernel(const KernelWork& kernel) {
        for (const Statement* statement : kernel.statements) {
            say(statement_text(program_, *statement, Types::none, answer_.local->local_dims));
            for (const Op& op : statement->ops) operation(op);
        }
        if (kernel.statements.size() > 1) say("the statements are fused: intermediate results are not stored", 4);
        for (const Transfer& transfer : kernel.transfers) {
            say(fmt::format("{} {} {} {}", level_label(answer_.machine, transfer.level), transfer.write ? "<-" : "->",
                            value_name(program_, transfer.value), derived(transfer.bytes, "B")),
                4);
        }
        const auto place = static_cast<std::size_t>(&kernel - answer_.analysis.work.kernels.data());
        for (const std::string& line : kernel_derivation(answer_, place)) say(line, 4);
        for (const MessageWork& each : kernel.work.messages) {
            message(each.message);
            expected(each.message);
        }
        if (kernel.count != Polynomial(1)) say(fmt::format("all of it {} times", hand(kernel.count)), 4);
        for (const std::string& note : kernel.notes) say(note, 4);
    }

    // Prints "all-reduce of C over X, 2 chips: V = 2BF = ... B" and the bytes that cross each tier.
    void message(const Message& message) {
        const auto load = load_of(message, answer_.system);
        if (!load) return;
        const std::string reach =
            info(message.kind).ends == Ends::one_to_one ? "" : fmt::format(", {} chips", load->members);
        say(fmt::format("{} of {}{}{}: V {}", collective_name(message.kind, true), message.tensor, route_text(message),
                        reach, derived(message.bytes, "B")),
            4);
        for (const TierLoad& tier : load->tiers) {
            const NetworkTier& network = answer_.system.slice.network(answer_.system.slice.tiers[tier.tier]);
            std::string text =
                fmt::format("{}: {} V over {}", name_of(tier, answer_.system).label, tier.link_bytes.to_text(),
                            !tier.links.empty() ? "all links of the narrowest cut"
                            : has_axes(network) ? "the busiest link"
                                                : "the busiest port");
            const std::string hops = load->hops > 0 ? fmt::format("{} hops", load->hops) : "hops";
            if (tier.latency_s > 0)
                text += fmt::format("; its {} take at least {}", hops, to_text(Seconds{tier.latency_s}));
            say(text, 8);
        }
    }

    void expected(const Message& message) {
        const auto& all = total_.work.messages;
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.message == message; });
        const auto i = static_cast<std::size_t>(found - all.begin());
        if (i >= answer_.models.messages.size()) return;
        for (const std::string& line : expected_derivation(answer_, i)) say(line, 8);
    }

    void operation(const Op& op) {
        if (op.kind == OpKind::contract) {
            std::vector<std::string> dtypes;
            for (const Operand& input : op.inputs) dtypes.emplace_back(name(program_.values[input.value].type.dtype));
            std::vector<std::string> summed;
            for (const std::string& dim : op.along) summed.push_back(dim_text(program_, dim));
            say(fmt::format("sum over {}: {} {} is {} arithmetic", fmt::join(summed, ", "), fmt::join(dtypes, " x "),
                            op.inputs.size() == 2 ? "" : "together", name(op.arithmetic)),
                4);
            for (const MatmulShape& shape : plan_contraction(*answer_.local, op, answer_.options.exact_flops).matmuls) {
                const std::string_view how = shape.k.empty()               ? "a multiply each"
                                             : sums_one_operand(op, shape) ? "one add each, before any multiplication"
                                             : answer_.options.exact_flops
                                                 ? "one multiply and one add each, minus one add per sum"
                                                 : "a multiply and an add each";
                say(fmt::format("FLOPs {} ({}; {} units)", derived(shape.flops, "FLOP"), how,
                                shape.unit == Unit::matmul ? "matrix" : "vector"),
                    4);
            }
            return;
        }
        if (op.kind != OpKind::apply) return;
        const FunctionInfo& function = *find_function(op.function);
        if (function.flops == 0 && function.transcendentals == 0) return;
        const FunctionWork made = function_work(*answer_.local, op, answer_.options.exact_flops);
        std::string per = fmt::format("{} FLOP", function.flops);
        if (function.transcendentals > 0)
            per += fmt::format(" and {} transcendental{}", function.transcendentals,
                               function.transcendentals == 1 ? "" : "s");
        say(fmt::format("{}: {} per element ({})", op.function, per, function.formula), 4);
        say(fmt::format("FLOPs {} (vector units)", derived(made.flops, "FLOP")), 8);
    }

    // Whether a step sums over a dimension that only one operand of the matmul has.
    [[nodiscard]] static bool sums_one_operand(const Op& op, const MatmulShape& shape) {
        return shape.batch.empty() && shape.n.empty() &&
               std::all_of(shape.k.begin(), shape.k.end(), [&](const std::string& dim) {
                   return std::count_if(op.inputs.begin(), op.inputs.end(),
                                        [&](const Operand& input) { return has(input.dims, dim); }) == 1;
               });
    }

    void resource(std::size_t index) {
        const Resource& resource = total_.pricing.resources[index];
        for (const Term& term : resource.terms) {
            const std::string_view unit = term.rate.flops ? "FLOP" : "B";
            const std::string symbol = term.rate.flops ? "P" : "W";
            const Polynomial work = shown(answer_, term.work);
            std::string text = fmt::format("T_{} = {} / {}", resource.label,
                                           work.terms().size() > 1 ? "(" + hand(work) + ")" : hand(work), symbol);
            const auto value = count(program_, term.work);
            if (value) {
                const std::string sizes = with_sizes(term.work);
                if (sizes != value->to_text()) {
                    text += fmt::format("\n        = ({}) {} / {}", sizes, unit, term.rate.value_text());
                }
                text +=
                    fmt::format("\n        = {} {} / {} {}/s = {}", plain(*value), unit, exact_text(term.rate.value),
                                unit, to_text(Seconds{value->to_double() / term.rate.value}));
            }
            out_ += "  " + text + "\n";
            lines_.push_back({1, text});
            say(provenance(term.rate, symbol), 4);
        }
        if (total_.seconds) together(resource, (*total_.seconds)[index]);
    }

    // Prints the sum of several terms; a single term is printed already.
    void together(const Resource& resource, double seconds) {
        double transfers = 0;
        for (const Term& term : resource.terms) {
            const auto value = count(program_, term.work);
            transfers += value ? value->to_double() / term.rate.value : 0;
        }
        const bool hops = seconds > transfers * (1 + 1e-9);
        if (resource.terms.size() < 2 && !hops) return;
        std::string text = fmt::format("T_{}{}: {}", resource.label, resource.terms.size() > 1 ? " together" : "",
                                       to_text(Seconds{seconds}));
        if (hops) text += ", because hops take longer than transfers";
        if (resource.cuts() > 1 && resource.terms.size() > 1)
            text += ", for collectives that use different links at the same time";
        say(text);
    }

    [[nodiscard]] static std::string provenance(const Rate& rate, std::string_view symbol) {
        std::string text = fmt::format("{} = {}   {}, ", symbol, rate.value_text(), rate.label);
        if (rate.what_if) {
            text += "set for this answer";
        } else {
            text += fmt::format("{} [{}]", name(rate.basis), rate.source);
            if (rate.low_confidence()) text += fmt::format(", low confidence ({})", rate.confidence);
        }
        if (!rate.note.empty() && !rate.what_if) text += "; " + rate.note;
        if (!rate.alternatives.empty() && !rate.what_if) {
            std::vector<std::string> others;
            for (const Alternative& other : rate.alternatives) {
                const std::string value = rate.flops ? to_text(FlopRate{other.value}) : to_text(Bandwidth{other.value});
                others.push_back(fmt::format("{} [{}]", value, other.source));
            }
            text += fmt::format("; others say {}", fmt::join(others, ", "));
        }
        return text;
    }

    void bounds() {
        if (!total_.seconds) {
            say("lower = max of the times, no overlap = their sum; numbers need sizes");
            return;
        }
        const auto texts_of = [](const std::vector<double>& all) {
            std::vector<std::string> texts;
            for (const double seconds : all) texts.push_back(to_text(Seconds{seconds}));
            return texts;
        };
        std::vector<std::string> times = texts_of(*total_.seconds);
        const Resource* bound = total_.bound_resource();
        say(fmt::format("lower = max({}) = {}{}", fmt::join(texts_of(total_.least_seconds), ", "),
                        to_text(Seconds{total_.bounds.lower}),
                        bound == nullptr ? "" : fmt::format(": {}-bound", bound->label)));
        if (!answer_.analysis.kernels.empty()) {
            say(fmt::format("sequential = sum of the lower bounds of all kernels = {}",
                            to_text(Seconds{total_.sequential})));
        }
        double sum = 0;
        for (const double seconds : *total_.seconds) sum += seconds;
        const double hidden = total_.bounds.upper - sum;  // transfers and hops that overlap in the times above
        if (hidden > 1e-9 * sum) {
            times.push_back(
                fmt::format("{} of hops and transfers that overlap in the times above", to_text(Seconds{hidden})));
        }
        say(fmt::format("no overlap = {} = {}", fmt::join(times, " + "), to_text(Seconds{total_.bounds.upper})));
        if (total_.peak_fraction)
            say(fmt::format("fraction of peak = compute time / lower = {:.1f} %", *total_.peak_fraction * 100));
        if (total_.padding) {
            say(fmt::format("padding to whole {0} x {0} arrays ({1}): {2} FLOPs are computed for {3} useful ones",
                            answer_.machine.matrix_unit ? answer_.machine.matrix_unit->side : 0,
                            fmt::join(total_.padding->sides, ", "), number_text(total_.padding->padded_flops, 6),
                            number_text(total_.padding->useful_flops, 6)));
        }
        if (total_.energy_j) {
            say(fmt::format("energy = {} x {} = {}", to_text(*answer_.machine.power.value),
                            to_text(Seconds{total_.bounds.lower}), to_text(Joules{*total_.energy_j})));
        }
    }

    void intensity() {
        for (const auto& [level, ratio] : total_.intensity) {
            const Ratio shown_ratio{shown(answer_, ratio.numerator), shown(answer_, ratio.denominator)};
            std::string text = fmt::format("I_{} = FLOPs / bytes = {}", level_label(answer_.machine, level),
                                           shown_ratio.to_handwriting(program_.dims));
            const auto flops = count(program_, total_.work.flops());
            const auto bytes = count(program_, total_.work.memory.at(level).total());
            if (flops && bytes && !bytes->is_zero())
                text += fmt::format(" = {}", to_text(Intensity{flops->to_double() / bytes->to_double()}));
            say(text);
            const auto ridge = total_.ridge.find(level);
            if (ridge != total_.ridge.end()) {
                say(fmt::format("ridge = P / W = {}: memory-bound below, compute-bound above",
                                to_text(Intensity{ridge->second})),
                    4);
            }
        }
        for (const auto& [dim, limit] : total_.limits) {
            say(fmt::format("-> {} as all dimensions but {} grow", limit.to_handwriting(program_.dims), dim), 4);
        }
    }

    // Dimensions for which no size changes the bottleneck share a line, all others have a line each.
    void critical_sizes() {
        std::map<std::string, std::vector<std::string>> without;  // by level
        for (const CriticalSize& size : total_.critical) {
            const bool never = size.crossing && size.crossing->state == Crossing::State::never;
            if (never && !size.limit) {
                without[size.level].push_back(size.dim);
            } else {
                critical(size);
            }
        }
        for (const auto& [level, dims] : without) {
            const std::string label = level_label(answer_.machine, level);
            say(fmt::format("no size of {} makes {} take longer than {}{}", fmt::join(dims, ", "),
                            total_.pricing.compute()->label, label,
                            program_.dims.size() > 1 ? ", whether the other sizes stay or grow together" : ""));
        }
    }

    void critical(const CriticalSize& size) {
        const std::string label = level_label(answer_.machine, size.level);
        const Resource* compute = total_.pricing.compute();
        const std::string what = compute != nullptr ? compute->label : "math";
        std::string text = fmt::format("{} at which T_{} = T_{}: ", size.dim, what, label);
        if (!size.crossing) {
            text += "needs the other sizes";
        } else if (size.crossing->state == Crossing::State::crossing) {
            text += fmt::format("{} ({}-bound {} it)", number_text(*size.crossing->root, 6), what,
                                size.crossing->above ? "above" : "below");
        } else if (size.crossing->state == Crossing::State::always) {
            text += fmt::format("{}-bound at every {}", what, size.dim);
        } else {
            text += fmt::format("none: T_{} is longer at every {}", label, size.dim);
        }
        if (program_.dims.size() > 1) {
            text += size.limit ? fmt::format("; as the others grow: {}", number_text(*size.limit, 6))
                               : "; no limit as the others grow";
        }
        say(text);
    }

    const Prediction& answer_;
    const Program& program_;
    const Analysis& total_;
    std::string out_;
    std::vector<PageLine> lines_;
};

}  // namespace

std::string explain_text(const Prediction& answer) { return Explanation(answer).run(); }

std::vector<PageLine> explain_lines(const Prediction& answer) {
    Explanation explanation(answer);
    (void)explanation.run();
    return explanation.lines();
}

}  // namespace roofline::core
