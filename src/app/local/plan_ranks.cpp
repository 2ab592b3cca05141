// `roofline plan train` in several processes: each rank searches a part of the plans, and the first one answers.
#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <utility>

#include "app/local/local_request.hpp"
#include "app/local/on_ranks.hpp"
#include "app/local/plan_ranks.hpp"
#include "app/plan_part.hpp"
#include "measure/network/all_ranks.hpp"
#include "measure/stop.hpp"

namespace roofline::core {

namespace {

// Parts end at different times, and how long a search takes nobody knows.
constexpr double forever_s = 1e9;

}  // namespace

Result<Response> plan_on_ranks(const PlanRequest& request, Format format, Progress& progress, RankGroup& ranks) {
    if (!request.part.empty()) {
        return fail("usage", "--part is given, and each of the ranks takes a part of its own",
                    "leave one of the two out");
    }
    PlanRequest mine = request;
    mine.part = fmt::format("{}/{}", ranks.rank() + 1, ranks.size());
    mine.train.search.watch = [&](const SearchProgress& at) {
        if (ranks.root()) {
            progress.at("plans of this rank", static_cast<double>(at.looked_at) / static_cast<double>(at.plans));
        }
        return !stop_requested();
    };
    const auto searched = search_part(mine);
    ROOFLINE_CHECK(common_status(ranks.world(), searched ? Status{} : Status(fail(searched.error()))));
    if (searched->found.stopped) return fail(interrupted());
    ROOFLINE_TRY(const auto texts, all_texts(ranks.world(), part_json(*searched)));
    if (!ranks.root()) return Response{};
    PlanMergeRequest all;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
        all.parts.push_back({fmt::format("rank {}", rank), texts[rank]});
    }
    all.clock = request.train.search.clock;
    all.page = request.page;
    return handle(all, format);
}

Result<Response> handle(const PlanRanksRequest& request, Format format, bool /*color*/, Progress& progress) {
    return on_ranks("mpirun -n 2 roofline plan train ...", forever_s,
                    [&](RankGroup& ranks) { return plan_on_ranks(request.plan, format, progress, ranks); });
}

}  // namespace roofline::core
