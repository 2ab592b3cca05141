// The answers of `roofline plan serve` as text, JSON, tables and a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/emitted_launch.hpp"
#include "predict/serve_plan/serving_search.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// A search on the chips of one machine, with its answer.
struct ServingPlanReport {
    ServingSearch search;
    ServingSearchAnswer answer;
    std::string name;                  ///< "gb200:72x2"
    std::vector<std::string> command;  ///< that answers for the best set-up alone
    std::optional<double> search_s;
    std::optional<EmittedLaunch> emitted{};  ///< the best set-up as a framework's launch, if that was asked for
};

/// Returns the answers; of several machines side by side, the errors of others among them. CSV and Markdown have the
/// frontiers.
[[nodiscard]] std::string serving_plan_text(const std::vector<ServingPlanReport>& reports,
                                            const std::vector<Error>& errors, Format format);

/// Returns the report; of several machines a comparison and then each of them.
[[nodiscard]] ReportPage serving_plan_page(const std::vector<ServingPlanReport>& reports);

/// Returns the frontiers as SVG: tokens/s per chip against tokens/s per user, and the best set-ups.
[[nodiscard]] std::string serving_plan_picture(const std::vector<ServingPlanReport>& reports);

}  // namespace roofline::core
