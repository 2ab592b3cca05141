#include "text/byte_source.hpp"

#include <algorithm>

namespace roofline::core {

Result<std::size_t> TextSource::read(std::span<char> into) {
    const std::size_t count = std::min(into.size(), rest_.size());
    std::copy_n(rest_.data(), count, into.data());
    rest_.remove_prefix(count);
    return count;
}

Result<std::size_t> ResumedSource::read(std::span<char> into) {
    if (taken_ == first_.size()) return rest_.read(into);
    const std::size_t count = std::min(into.size(), first_.size() - taken_);
    std::copy_n(first_.data() + taken_, count, into.data());
    taken_ += count;
    return count;
}

Result<std::string> read_some(ByteSource& source, std::size_t most) {
    constexpr std::size_t step = std::size_t{1} << 20;
    std::string text;
    while (text.size() < most) {
        const std::size_t before = text.size();
        const std::size_t wanted = std::min(step, most - before);
        text.resize(before + wanted);
        ROOFLINE_TRY(const std::size_t count, source.read({text.data() + before, wanted}));
        text.resize(before + count);
        if (count == 0) break;
    }
    return text;
}

}  // namespace roofline::core
