#include "text/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t step_bytes = std::size_t{1} << 18;
constexpr int gzip_only = 16;  // added to the size of the window: no other format is accepted

/// The unpacked bytes of gzip data.
class UnpackedSource final : public ByteSource {
public:
    UnpackedSource(std::unique_ptr<ByteSource> packed, std::string_view name, const GzipLimits& limits)
        : packed_(std::move(packed)), name_(name), limits_(limits) {
        began_ = inflateInit2(&stream_, MAX_WBITS + gzip_only) == Z_OK;
    }
    ~UnpackedSource() override {
        if (began_) inflateEnd(&stream_);
    }
    UnpackedSource(const UnpackedSource&) = delete;
    UnpackedSource& operator=(const UnpackedSource&) = delete;

    [[nodiscard]] bool began() const { return began_; }

    Result<std::size_t> read(std::span<char> into) override {
        if (ended_) return 0;
        stream_.next_out = reinterpret_cast<Bytef*>(into.data());
        const std::size_t room = std::min<std::size_t>(into.size(), std::numeric_limits<uInt>::max());
        stream_.avail_out = static_cast<uInt>(room);
        while (stream_.avail_out == room) {
            ROOFLINE_CHECK(fill());
            const int state = inflate(&stream_, Z_NO_FLUSH);
            if (state == Z_STREAM_END) {
                ROOFLINE_CHECK(next_member());
                if (ended_) break;
            } else if (state == Z_BUF_ERROR && stream_.avail_out == room) {
                return fail("cut_off", fmt::format("{} ends before its gzip data do", in_ticks(name_)),
                            "the file may be incomplete: copy it again");
            } else if (state != Z_OK && state != Z_BUF_ERROR) {
                return fail("bad_gzip",
                            fmt::format("the gzip data of {} are damaged{}{}", in_ticks(name_),
                                        stream_.msg == nullptr ? "" : ": ", stream_.msg == nullptr ? "" : stream_.msg),
                            "copy the file again");
            }
        }
        const std::size_t count = room - stream_.avail_out;
        written_ += count;
        ROOFLINE_CHECK(check_size());
        return count;
    }

private:
    // Moves the bytes that are left to the front, and reads more behind them.
    Status fill() {
        if (stream_.avail_in > 0 || packed_ended_) return {};
        ROOFLINE_TRY(const std::size_t count, packed_->read(input_));
        packed_ended_ = count == 0;
        taken_ += count;
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(count);
        return {};
    }

    Status next_member() {
        ROOFLINE_CHECK(fill());
        if (stream_.avail_in == 0) {
            ended_ = true;
            return {};
        }
        if (stream_.next_in[0] != 0x1f) {
            return fail("bad_gzip", fmt::format("other bytes follow the gzip data of {}", in_ticks(name_)));
        }
        inflateReset(&stream_);
        return {};
    }

    [[nodiscard]] Status check_size() const {
        if (written_ > limits_.bytes) {
            return fail("too_large", fmt::format("{} unpacks to more than {} bytes", in_ticks(name_), limits_.bytes),
                        "unpack it yourself, and give a smaller part");
        }
        if (written_ > limits_.free_bytes && written_ / limits_.ratio > taken_) {
            return fail("too_large",
                        fmt::format("{} unpacks to more than {} times its size", in_ticks(name_), limits_.ratio),
                        "unpack it yourself if you know what it is");
        }
        return {};
    }

    std::unique_ptr<ByteSource> packed_;
    std::string_view name_;
    GzipLimits limits_;
    z_stream stream_{};
    bool began_ = false;
    bool packed_ended_ = false;
    bool ended_ = false;
    std::size_t taken_ = 0;
    std::size_t written_ = 0;
    std::array<char, step_bytes> input_{};
};

tl::unexpected<Error> no_memory(std::string_view name) {
    return fail("bad_gzip", fmt::format("there is no memory to unpack {}", in_ticks(name)));
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view bytes, std::string_view name, const GzipLimits& limits) {
    if (!is_gzip(bytes)) return fail("bad_gzip", fmt::format("{} is no gzip file", in_ticks(name)));
    const auto source = std::make_unique<UnpackedSource>(std::make_unique<TextSource>(bytes), name, limits);
    if (!source->began()) return no_memory(name);
    std::string text;
    while (true) {
        const std::size_t before = text.size();
        text.resize(before + step_bytes);
        ROOFLINE_TRY(const std::size_t count, source->read({text.data() + before, step_bytes}));
        text.resize(before + count);
        if (count == 0) return text;
    }
}

Result<std::unique_ptr<ByteSource>> unpacked(ByteSource& packed, std::string_view name, const GzipLimits& limits) {
    ROOFLINE_TRY(std::string first, read_some(packed, 2));
    const bool zipped = is_gzip(first);
    std::unique_ptr<ByteSource> whole = std::make_unique<ResumedSource>(std::move(first), packed);
    if (!zipped) return whole;
    auto source = std::make_unique<UnpackedSource>(std::move(whole), name, limits);
    if (!source->began()) return no_memory(name);
    return std::unique_ptr<ByteSource>(std::move(source));
}

}  // namespace roofline::core
