#include "import/profile/read_profile.hpp"

#include <fmt/format.h>

#include "import/profile/chrome_trace.hpp"
#include "import/profile/nsys_sqlite.hpp"
#include "import/profile/rocprof_json.hpp"
#include "import/profile/trace_table.hpp"
#include "import/profile/xplane.hpp"
#include "import/xprof_table.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

namespace {

bool is_chrome_trace(std::string_view text) {
    if (is_xprof_json(text)) return false;  // which is a table of operations
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

/// Whether a file is a trace of Perfetto. Like an XSpace proto it begins with its first field; but fields of a packet
/// have numbers that those of a plane do not have.
bool is_perfetto(std::string_view beginning) {
    if (!is_xplane(beginning)) return false;
    ProtoFile file(beginning, "", "");
    ProtoMessage trace(file);
    while (trace.next() && trace.field() == 1) {
        ProtoMessage packet = trace.message();
        constexpr std::uint32_t most_of_plane = 6;
        while (packet.next()) {
            if (packet.field() > most_of_plane) return true;
        }
    }
    return false;
}

tl::unexpected<Error> refuse_perfetto(const std::string& name) {
    return fail("bad_profile", fmt::format("{} is a trace of Perfetto (pftrace), which is not read", name),
                "rocprofv3 --output-format json (or csv, rocpd) has the same kernels");
}

}  // namespace

bool is_recorded_profile(std::string_view beginning) {
    return is_chrome_trace(beginning) || is_sqlite(beginning) || is_xplane(beginning) || is_trace_table(beginning);
}

Result<RecordedProfile> read_profile(std::string_view beginning, ByteSource& whole, const std::string& name) {
    const bool rocprof = is_rocprof_json(beginning);
    if (is_chrome_trace(beginning) && !rocprof) return read_chrome_trace(whole, name);
    if (is_perfetto(beginning)) return refuse_perfetto(name);
    constexpr std::size_t most = 2'000'000'000;
    ROOFLINE_TRY(std::string bytes, read_some(whole, most + 1));
    if (bytes.size() > most) {
        return fail("too_large", fmt::format("{} is larger than 2 GB", name), "record fewer steps");
    }
    if (rocprof) return read_rocprof_json(std::move(bytes), name);
    if (is_sqlite(beginning)) return read_nsys_sqlite(bytes, name);
    return is_xplane(beginning) ? read_xplane(bytes, name) : read_trace_table(bytes, name);
}

}  // namespace roofline::core
