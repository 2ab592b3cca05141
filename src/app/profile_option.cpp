#include "app/profile_option.hpp"

#include <fmt/format.h>

#include <utility>

#include "import/profile/read_profile.hpp"
#include "text/gzip.hpp"

namespace roofline::core {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<OpenedProfile> open_profile(const NamedFile& file) {
    constexpr std::size_t most = std::size_t{16} << 30;
    constexpr std::size_t beginning = 4096;
    OpenedProfile opened;
    ROOFLINE_TRY(opened.packed, file.open());
    GzipLimits limits;
    limits.bytes = most;
    ROOFLINE_TRY(opened.unpacked, unpacked(*opened.packed, file.name, limits));
    ROOFLINE_TRY(opened.beginning, read_some(*opened.unpacked, beginning));
    return opened;
}

Result<RecordedProfile> read_named_profile(const NamedFile& file) {
    ROOFLINE_TRY(const auto opened, open_profile(file));
    if (!is_recorded_profile(opened.beginning)) {
        return fail("bad_profile", fmt::format("{} is no recorded profile", file.name),
                    "give a trace of jax.profiler or torch.profiler: .xplane.pb, .trace.json.gz");
    }
    ResumedSource whole(opened.beginning, *opened.unpacked);
    return read_profile(opened.beginning, whole, file_name(file.name));
}

}  // namespace roofline::core
