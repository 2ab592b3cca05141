#include "app/local/on_ranks.hpp"

namespace roofline::core {

Result<Response> on_ranks(const std::string& line, double max_s,
                          const std::function<Result<Response>(RankGroup&)>& work) {
    if (!launched()) {
        ROOFLINE_CHECK(RankGroup::available());
        return fail("one_rank", "this process was started alone, so it has no other ranks to communicate with", line);
    }
    auto ranks = RankGroup::join(max_s);
    if (!ranks && launched()->rank > 0) return Response{};  // an error of all ranks is reported by one of them
    if (!ranks) return fail(ranks.error());
    auto response = work(*ranks);
    if (!response && response.error().code == "exchange_failed") {
        ranks->leave();  // the others wait in an exchange; the launcher ends them when this process fails
        return response;
    }
    if (ranks->root()) return response;
    return Response{};
}

}  // namespace roofline::core
