#include "import/profile/read_profile.hpp"

#include <fmt/format.h>

#include "import/profile/chrome_trace.hpp"
#include "import/profile/nsys_sqlite.hpp"
#include "import/profile/xplane.hpp"
#include "import/xprof_table.hpp"

namespace roofline::core {

namespace {

bool is_chrome_trace(std::string_view text) {
    if (is_xprof_json(text)) return false;  // which is a table of operations
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace

bool is_recorded_profile(std::string_view beginning) {
    return is_chrome_trace(beginning) || is_sqlite(beginning) || is_xplane(beginning);
}

Result<RecordedProfile> read_profile(std::string_view beginning, ByteSource& whole, const std::string& name) {
    if (is_chrome_trace(beginning)) return read_chrome_trace(whole, name);
    const bool database = is_sqlite(beginning);
    constexpr std::size_t most = 2'000'000'000;
    ROOFLINE_TRY(const std::string bytes, read_some(whole, most + 1));
    if (bytes.size() > most) {
        return fail("too_large", fmt::format("{} is larger than 2 GB", name), "record fewer steps");
    }
    return database ? read_nsys_sqlite(bytes, name) : read_xplane(bytes, name);
}

}  // namespace roofline::core
