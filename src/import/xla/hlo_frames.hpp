// The tables of stack frames before the computations of HLO text, to which `stack_frame_id` of metadata refers.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "import/xla/hlo_scanner.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

class HloFrames {
public:
    /// Reads FileNames, FunctionNames, FileLocations and StackFrames, if they come next. Errors: a row that is cut off.
    [[nodiscard]] Status read(HloScanner& scanner);
    /// Sets file and line of the innermost frame; leaves them if the table has no such frame.
    void locate(std::int64_t frame, XlaOrigin& origin) const;

private:
    using Row = std::unordered_map<std::int64_t, std::string_view>;
    /// A line of a file.
    struct FrameLine {
        std::string_view file;
        int line = 0;
    };
    [[nodiscard]] static FrameLine place_of(std::string_view location, const Row& files);

    std::unordered_map<std::int64_t, FrameLine> places_;  ///< by frame
};

/// Fills in what the metadata of an instruction says: `{op_name="..." source_file="..." source_line=16}`. Texts with
/// escapes are added to `spoken` without them.
void read_metadata(std::string_view metadata, const HloFrames& frames, XlaOrigin& origin,
                   std::deque<std::string>& spoken);

}  // namespace roofline::core
