// The events of a file in the trace event format of Chrome, one at a time: the file need not fit into memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "text/byte_source.hpp"

namespace roofline::core {

/// Finds the objects of the list `traceEvents`, or of a file that is nothing but a list. It looks at braces and strings
/// only, so what it returns need not be valid JSON.
class TraceEvents {
public:
    /// `source` must outlive it; `name` names the file in messages.
    TraceEvents(ByteSource& source, std::string name) : source_(source), name_(std::move(name)) {}

    /// Finds the next event and returns true; false at the end. Errors: those of the source, `bad_trace` for a file of
    /// another kind, `too_large` for an event beyond 16 MB, `too_deep` beyond 64 levels.
    [[nodiscard]] Result<bool> next();

    /// The event that next() has found; valid until the next call. More than 64 bytes that can be read follow it, as
    /// fast parsers want.
    [[nodiscard]] std::string_view event() const { return {buffer_.data() + begin_, end_ - begin_}; }
    /// How many bytes from the event's beginning may be read.
    [[nodiscard]] std::size_t readable() const { return buffer_.size() - begin_; }
    /// Where the event begins in the unpacked file.
    [[nodiscard]] std::size_t offset() const { return passed_ + begin_; }

    /// The other members of the file so far, as JSON text; those of more than 1 MB have only their name.
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& members() const { return members_; }
    /// Whether the file has a list of events.
    [[nodiscard]] bool has_list() const { return !object_ || listed_; }
    /// Whether the file ended before its list did.
    [[nodiscard]] bool cut_off() const { return cut_off_; }

private:
    enum class At { start, members, events, end };

    [[nodiscard]] Result<bool> fill();
    [[nodiscard]] Result<char> peek();
    [[nodiscard]] Result<bool> pass_string();
    [[nodiscard]] Result<bool> pass_value();
    [[nodiscard]] Result<bool> to_events();
    [[nodiscard]] tl::unexpected<Error> bad(std::string_view message) const;

    ByteSource& source_;
    std::string name_;
    std::string buffer_;
    std::size_t filled_ = 0;  // bytes of the buffer that are of the file
    std::size_t begin_ = 0;   // of the event or member that is read
    std::size_t at_ = 0;      // the next byte to look at
    std::size_t end_ = 0;
    std::size_t passed_ = 0;  // bytes of the file before the buffer
    bool ended_ = false;      // the source
    bool cut_off_ = false;
    bool object_ = false;  // the file is an object with members, not a list
    bool listed_ = false;
    At where_ = At::start;
    std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace roofline::core
