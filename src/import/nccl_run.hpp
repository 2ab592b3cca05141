// One run of nccl-tests, from which rows are made whether it was printed as text or as JSON.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "import/collective_table.hpp"
#include "import/nccl_tests.hpp"

namespace roofline::core {

/// One time: a size, out of place or in place.
struct NcclTime {
    double size = 0;
    std::string_view dtype;
    bool in_place = false;
    double time_us = 0;
    double rounding_us = 0;
    double algbw = 0;  ///< GB/s
    double busbw = 0;
    double wrong = 0;  ///< elements; 0 where it was not checked
    int line = 0;
};

struct NcclRun {
    std::string operation;  ///< "all_reduce"; "" where it is not said
    std::int64_t ranks = 0;
    std::set<std::string> hosts;
    std::set<std::int64_t> groups;
    std::string device;
    std::string software;
    bool graph = false;

    /// Makes a row of a time, or says in `skip` why there is none. The error's place is the caller's to find.
    [[nodiscard]] Result<MeasuredCollective> row(const NcclTime& time, const NcclHints& hints, std::string& skip) const;
};

/// "all_reduce" of "./build/all_reduce_perf" and of "all_reduce_perf"; "" when the word names no test.
[[nodiscard]] std::string test_in(std::string_view word);

/// "nccl 2.27.3" of 22703, "nccl 2.8.4" of 2804; "" of what is no version.
[[nodiscard]] std::string nccl_version(double code);

/// The same from JSON.
[[nodiscard]] Result<CollectiveTable> read_nccl_json(std::string_view text, const std::string& source,
                                                     const NcclHints& hints);

}  // namespace roofline::core
