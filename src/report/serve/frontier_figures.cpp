#include "report/serve/frontier_figures.hpp"

#include "predict/serve/compute_bound_batch.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

constexpr AnswerFigure<FrontierPoint> frontier_all[] = {
    {"batch", "batch", in_whole, [](const FrontierPoint& at) -> Json { return at.point().batch; }},
    {"fits", "", nullptr,
     [](const FrontierPoint& at) {
         return at.answer.capacity ? Json(at.point().batch <= at.answer.max_batch) : Json();
     }},
    {"lower_s", "", in_seconds, [](const FrontierPoint& at) -> Json { return at.point().lower_s; }},
    {"uniform_lower_s", "", in_seconds,
     [](const FrontierPoint& at) { return at.answer.experts() ? Json(at.point().uniform_lower_s) : Json(); }},
    {"tpot_s", "TPOT", in_seconds, [](const FrontierPoint& at) -> Json { return at.point().tpot_s; }},
    {"tpot_without_s", "alone", in_seconds,
     [](const FrontierPoint& at) { return figure_value(at.point().tpot_without_s); }},
    {"tokens_per_s", "tokens/s", rate_text, [](const FrontierPoint& at) -> Json { return at.point().tokens_per_s; }},
    {"tokens_per_s_per_chip", "per chip", rate_text,
     [](const FrontierPoint& at) -> Json {
         return at.point().tokens_per_s / static_cast<double>(at.answer.slice.chips());
     }},
    {"usd_per_million_tokens", "$/M tokens", in_three_digits,
     [](const FrontierPoint& at) { return figure_value(usd_per_million(at.answer, 1, 0, at.point().tokens_per_s)); }},
    {"bound_by", "bound by", nullptr, [](const FrontierPoint& at) -> Json { return at.point().bound_by; }},
    {"knee", "", nullptr, [](const FrontierPoint& at) -> Json { return at.index == at.answer.knee; }},
};

constexpr FigureColumn frontier_columns[] = {{"batch"},
                                             {"tpot_s", "TPOT (s)"},
                                             {"lower_s", "lower (s)"},
                                             {"tokens_per_s", "tokens/s"},
                                             {"tokens_per_s_per_chip", "tokens/s per chip"},
                                             {"usd_per_million_tokens", "USD/M tokens"},
                                             {"bound_by", "bound by"}};
static_assert(named(frontier_all, frontier_columns));

}  // namespace

std::span<const AnswerFigure<FrontierPoint>> frontier_figures() { return frontier_all; }

std::vector<FrontierPoint> frontier_of(const ServeAnswer& answer) {
    std::vector<FrontierPoint> points;
    for (std::size_t i = 0; i < answer.frontier.size(); ++i) points.push_back({answer, i});
    return points;
}

Table frontier_table(const ServeAnswer& answer) {
    return figure_table(frontier_all, frontier_columns, frontier_of(answer), CellStyle{6});
}

}  // namespace roofline::core
