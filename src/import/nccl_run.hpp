// One run of nccl-tests, from which rows are made; text and JSON output share it.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "import/collective_table.hpp"
#include "import/nccl_tests.hpp"

namespace roofline::core {

/// One time of a size, either out of place or in place.
struct NcclTime {
    double size = 0;
    std::string_view dtype;
    bool in_place = false;
    double time_us = 0;
    double rounding_us = 0;
    double algbw = 0;  ///< GB/s
    double busbw = 0;
    double wrong = 0;  ///< wrong elements; 0 if results were not checked
    int line = 0;
};

struct NcclRun {
    std::string operation;  ///< "all_reduce"; "" if unknown
    std::int64_t ranks = 0;
    std::set<std::string> hosts;
    std::set<std::int64_t> groups;
    std::string device;
    std::string software;
    bool graph = false;

    /// Makes a row from a time; if it cannot, `skip` says why. The caller adds the place of an error.
    [[nodiscard]] Result<MeasuredCollective> row(const NcclTime& time, const NcclHints& hints, std::string& skip) const;
};

/// The operation in the name of a test: "all_reduce" for "./build/all_reduce_perf" and for "all_reduce_perf"; "" if the
/// word names no test.
[[nodiscard]] std::string test_in(std::string_view word);

/// Version as text: "nccl 2.27.3" for 22703, "nccl 2.8.4" for 2804; "" for an invalid version.
[[nodiscard]] std::string nccl_version(double code);

/// Reads JSON output; see read_nccl_tests().
[[nodiscard]] Result<CollectiveTable> read_nccl_json(std::string_view text, const std::string& source,
                                                     const NcclHints& hints);

}  // namespace roofline::core
