#include "app/profile_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "import/nccl_tests.hpp"
#include "import/profile/read_profile.hpp"
#include "text/gzip.hpp"

namespace roofline::core {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<OpenedProfile> open_profile(const NamedFile& file) {
    // 16 GiB, or 2 GiB where addresses have 32 bits: events are read one by one.
    constexpr auto most = static_cast<std::size_t>(
        std::min<std::uint64_t>(std::uint64_t{16} << 30, std::numeric_limits<std::size_t>::max() / 2));
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

Result<std::string> read_table(ByteSource& file, const std::string& name) {
    constexpr std::size_t most = std::size_t{256} << 20;
    ROOFLINE_TRY(std::string text, read_some(file, most + 1));
    if (text.size() > most) return fail("file", name + " is larger than 256 MiB", "is it the right file?");
    return text;
}

Result<MeasuredFile> read_measured(const NamedFile& file) {
    ROOFLINE_TRY(const auto opened, open_profile(file));
    std::string beginning = opened.beginning;
    bool recorded = is_recorded_profile(beginning);
    if (const std::size_t first = beginning.find_first_not_of(" \n\r\t"); recorded && beginning[first] == '{') {
        // The JSON of nccl-tests begins like a trace, and names its columns after the facts of the run.
        ROOFLINE_TRY(const std::string more, read_some(*opened.unpacked, std::size_t{1} << 20));
        beginning += more;
        recorded = !is_nccl_tests(beginning);
    }
    ResumedSource whole(beginning, *opened.unpacked);
    MeasuredFile measured;
    if (recorded) {
        ROOFLINE_TRY(measured.profile, read_profile(beginning, whole, file_name(file.name)));
    } else {
        ROOFLINE_TRY(measured.text, read_table(whole, file.name));
    }
    return measured;
}

}  // namespace roofline::core
