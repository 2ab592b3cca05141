#include "report/op/op_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "bound/compute_bound_size.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

class Verdict {
public:
    explicit Verdict(const Prediction& answer) : program_(answer.program), total_(answer.analysis.total) {}

    [[nodiscard]] std::string run() const {
        const Resource* bound = total_.bound_resource();
        std::string text;
        if (bound != nullptr) {
            if (bound->id == "math") {
                text = "Compute-bound: the matrix units can be kept busy.";
            } else if (bound->id == "vector") {
                text = "Bound by the vector units.";
            } else if (total_.peak_fraction) {
                text = fmt::format("{}-bound: at most {} % of peak FLOP/s.", bound->label,
                                   percent_text(*total_.peak_fraction));
            } else {
                text = fmt::format("{}-bound: nothing is computed.", bound->label);
            }
        }
        const auto& resources = total_.pricing.resources;
        const bool routed =
            std::any_of(resources.begin(), resources.end(), [](const Resource& each) { return each.unsure(); });
        if (routed && !text.empty()) {
            text.insert(text.size() - 1, ", by the lower bound, which sends one copy of each token to its experts");
        }
        const std::string critical = critical_text();
        if (!critical.empty()) text += (text.empty() ? "" : " ") + critical;
        return text;
    }

private:
    // Returns "Compute-bound from B = 128 (120 for large D and F)." for the first dimension, compared with all levels
    // together.
    [[nodiscard]] std::string critical_text() const {
        const Resource* compute = total_.pricing.compute();
        // A kernel that the vector units limit is not called compute-bound, and nothing is repeated from the line
        // above.
        const bool vector = compute != nullptr && compute->id == "vector";
        const std::string_view state = !vector                              ? "Compute-bound"
                                       : compute == total_.bound_resource() ? "So it is"
                                                                            : "Bound by the vector units";
        const std::vector<CriticalSize> sizes = compute_bound_sizes(total_.critical);
        for (const CriticalSize& size : sizes) {
            const std::string limit = critical_limit(size);
            if (!size.crossing && limit.empty()) continue;
            if (!size.crossing) return fmt::format("{} from {} = {}.", state, size.dim, limit);
            switch (size.crossing->state) {
                case Crossing::State::always:
                    return fmt::format("{} at every {}.", state, size.dim);
                case Crossing::State::never:
                    return fmt::format(
                        "No {} makes it {}{}{}.", size.dim, vector ? "bound by the vector units" : "compute-bound",
                        limit.empty() ? "" : fmt::format(" at these sizes (from {})", limit), another_dimension(sizes));
                case Crossing::State::crossing:
                    return fmt::format("{} {} {} = {}{}.", state, size.crossing->above ? "from" : "up to", size.dim,
                                       whole_text(*size.crossing), limit.empty() ? "" : fmt::format(" ({})", limit));
            }
        }
        return "";
    }

    // Returns "120 for large D and F".
    [[nodiscard]] std::string critical_limit(const CriticalSize& size) const {
        std::vector<std::string> others;
        for (const std::string& other : program_.dims) {
            if (other != size.dim && total_.work.flops().dims().contains(other)) others.push_back(other);
        }
        if (!size.limit || others.empty()) return "";
        return fmt::format("{} for large {}", number_text(*size.limit), fmt::join(others, " and "));
    }

    // Returns "; D from 8756 would" if the first dimension has no critical size but another one does.
    [[nodiscard]] static std::string another_dimension(const std::vector<CriticalSize>& sizes) {
        for (const CriticalSize& size : sizes) {
            if (size.crossing && size.crossing->state == Crossing::State::crossing) {
                return fmt::format("; {} {} {} would", size.dim, size.crossing->above ? "from" : "up to",
                                   whole_text(*size.crossing));
            }
        }
        return "";
    }

    const Program& program_;
    const Analysis& total_;
};

}  // namespace

std::string op_verdict(const Prediction& answer) { return Verdict(answer).run(); }

}  // namespace roofline::core
