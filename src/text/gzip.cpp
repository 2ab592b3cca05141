#include "text/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t step_bytes = std::size_t{1} << 18;
constexpr int gzip_only = 16;  // added to the size of the window: no other format is accepted

/// A stream of zlib, which is ended in any case.
struct Inflater {
    z_stream stream{};
    bool began = false;

    Inflater() { began = inflateInit2(&stream, MAX_WBITS + gzip_only) == Z_OK; }
    ~Inflater() {
        if (began) inflateEnd(&stream);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view bytes, std::string_view name, const GzipLimits& limits) {
    if (!is_gzip(bytes)) return fail("bad_gzip", fmt::format("{} is no gzip file", in_ticks(name)));
    Inflater inflater;
    if (!inflater.began) return fail("bad_gzip", fmt::format("there is no memory to unpack {}", in_ticks(name)));
    z_stream& stream = inflater.stream;
    std::string text;
    std::size_t taken = 0;
    while (true) {
        const std::size_t given = std::min<std::size_t>(bytes.size() - taken, std::numeric_limits<uInt>::max());
        // zlib does not write to its input, but says so only if it is compiled with ZLIB_CONST.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
        stream.avail_in = static_cast<uInt>(given);
        const std::size_t before = text.size();
        text.resize(before + step_bytes);
        stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
        stream.avail_out = static_cast<uInt>(step_bytes);
        const int state = inflate(&stream, Z_NO_FLUSH);
        taken += given - stream.avail_in;
        text.resize(before + step_bytes - stream.avail_out);
        if (text.size() > limits.bytes) {
            return fail("too_large", fmt::format("{} unpacks to more than {} bytes", in_ticks(name), limits.bytes),
                        "unpack it yourself, and give a smaller part");
        }
        if (text.size() > limits.free_bytes && text.size() / limits.ratio > bytes.size()) {
            return fail("too_large",
                        fmt::format("{} unpacks to more than {} times its size", in_ticks(name), limits.ratio),
                        "unpack it yourself if you know what it is");
        }
        if (state == Z_STREAM_END) {
            if (taken == bytes.size()) return text;
            if (!is_gzip(bytes.substr(taken))) {
                return fail("bad_gzip", fmt::format("other bytes follow the gzip data of {}", in_ticks(name)));
            }
            inflateReset(&stream);
            continue;
        }
        if (state == Z_OK || (state == Z_BUF_ERROR && text.size() > before)) continue;
        if (state == Z_BUF_ERROR) {
            return fail("cut_off", fmt::format("{} ends before its gzip data do", in_ticks(name)),
                        "the file may be incomplete: copy it again");
        }
        return fail("bad_gzip",
                    fmt::format("the gzip data of {} are damaged{}{}", in_ticks(name),
                                stream.msg == nullptr ? "" : ": ", stream.msg == nullptr ? "" : stream.msg),
                    "copy the file again");
    }
}

}  // namespace roofline::core
