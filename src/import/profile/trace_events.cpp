#include "import/profile/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t step_bytes = std::size_t{1} << 20;
constexpr std::size_t margin = 64;  // that may be read behind an event
constexpr std::size_t most_event = std::size_t{16} << 20;
constexpr std::size_t most_member = std::size_t{1} << 20;
constexpr int deepest = 64;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

tl::unexpected<Error> TraceEvents::bad(std::string_view message) const {
    return fail("bad_trace", fmt::format("{}, byte {}: {}", name_, passed_ + at_, message),
                "a trace is JSON with a list traceEvents, as torch.profiler and jax.profiler write it");
}

// Reads more of the file behind what is there, and gives up what is before the event. Returns whether there is more.
Result<bool> TraceEvents::fill() {
    if (ended_) return false;
    if (filled_ - begin_ > most_event) {
        return fail("too_large", fmt::format("{}: an event at byte {} is longer than 16 MB", name_, passed_ + begin_));
    }
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
        passed_ += begin_;
        filled_ -= begin_;
        at_ -= begin_;
        end_ = 0;
        begin_ = 0;
    }
    if (buffer_.size() < filled_ + step_bytes + margin) buffer_.resize(filled_ + step_bytes + margin);
    ROOFLINE_TRY(const std::size_t count, source_.read({buffer_.data() + filled_, step_bytes}));
    filled_ += count;
    ended_ = count == 0;
    return !ended_;
}

// The next byte that is no space, without passing it; 0 at the end.
Result<char> TraceEvents::peek() {
    while (true) {
        while (at_ < filled_ && is_space(buffer_[at_])) ++at_;
        if (at_ < filled_) return buffer_[at_];
        ROOFLINE_TRY(const bool more, fill());
        if (!more) return '\0';
    }
}

// Passes a string whose first quote is next. Returns false if the file ends in it.
Result<bool> TraceEvents::pass_string() {
    ++at_;
    while (true) {
        const char* const from = buffer_.data() + at_;
        const void* const quote = std::memchr(from, '"', filled_ - at_);
        if (quote == nullptr) {
            at_ = filled_;
            ROOFLINE_TRY(const bool more, fill());
            if (!more) return false;
            continue;
        }
        at_ = static_cast<std::size_t>(static_cast<const char*>(quote) - buffer_.data());
        std::size_t slashes = 0;
        while (at_ > begin_ + slashes && buffer_[at_ - 1 - slashes] == '\\') ++slashes;
        ++at_;
        if (slashes % 2 == 0) return true;
    }
}

// Passes a value. Returns false if the file ends in it.
Result<bool> TraceEvents::pass_value() {
    int depth = 0;
    do {
        ROOFLINE_TRY(const char c, peek());
        if (c == '\0') return false;
        if (c == '"') {
            ROOFLINE_TRY(const bool whole, pass_string());
            if (!whole) return false;
        } else if (c == '{' || c == '[') {
            ++at_;
            if (++depth > deepest) {
                return fail("too_deep",
                            fmt::format("{}, byte {}: more than 64 levels of nesting", name_, passed_ + at_));
            }
        } else if (c == '}' || c == ']') {
            if (depth == 0) return bad("a value is missing");
            ++at_;
            --depth;
        } else if (depth == 0) {  // a number or a word
            while (true) {
                while (at_ < filled_ && std::strchr(",]} \n\r\t", buffer_[at_]) == nullptr) ++at_;
                if (at_ < filled_) return true;
                ROOFLINE_TRY(const bool more, fill());
                if (!more) return true;
            }
        } else {
            ++at_;
        }
    } while (depth > 0);
    return true;
}

// Passes the members of the file up to its list of events. Returns whether there is one.
Result<bool> TraceEvents::to_events() {
    while (true) {
        ROOFLINE_TRY(char c, peek());
        if (c == ',') {
            ++at_;
            ROOFLINE_TRY(c, peek());
        }
        if (c == '}') {
            ++at_;
            return false;
        }
        if (c == '\0') {
            cut_off_ = true;
            return false;
        }
        if (c != '"') return bad("the name of a member is missing");
        begin_ = at_;
        ROOFLINE_TRY(const bool named, pass_string());
        std::string key(buffer_, begin_ + 1, at_ > begin_ + 1 ? at_ - begin_ - 2 : 0);
        ROOFLINE_TRY(const char colon, peek());
        if (!named || colon == '\0') {
            cut_off_ = true;
            return false;
        }
        if (colon != ':') return bad("a colon is missing");
        ++at_;
        ROOFLINE_TRY(const char first, peek());
        if (key == "traceEvents" && first == '[') {
            ++at_;
            listed_ = true;
            return true;
        }
        begin_ = at_;
        ROOFLINE_TRY(const bool whole, pass_value());
        if (!whole) {
            cut_off_ = true;
            return false;
        }
        constexpr std::size_t most_members = 1000;
        if (members_.size() >= most_members) return bad("more than 1000 members beside traceEvents");
        std::string value = at_ - begin_ <= most_member ? buffer_.substr(begin_, at_ - begin_) : "";
        members_.emplace_back(std::move(key), std::move(value));
        begin_ = at_;
    }
}

Result<bool> TraceEvents::next() {
    if (where_ == At::start) {
        ROOFLINE_TRY(const char c, peek());
        if (c != '{' && c != '[') return bad("this is no JSON object and no list");
        object_ = c == '{';
        ++at_;
        where_ = object_ ? At::members : At::events;
    }
    while (where_ != At::end) {
        if (where_ == At::members) {
            ROOFLINE_TRY(const bool found, to_events());
            where_ = found ? At::events : At::end;
            continue;
        }
        ROOFLINE_TRY(char c, peek());
        if (c == ',') {
            ++at_;
            ROOFLINE_TRY(c, peek());
        }
        if (c == ']') {
            ++at_;
            where_ = object_ ? At::members : At::end;
            continue;
        }
        if (c == '\0') {
            cut_off_ = true;
            where_ = At::end;
            continue;
        }
        if (c != '{') return bad("an event is missing: each is an object in braces");
        begin_ = at_;
        ROOFLINE_TRY(const bool whole, pass_value());
        if (!whole) {
            cut_off_ = true;
            where_ = At::end;
            continue;
        }
        end_ = at_;
        return true;
    }
    return false;
}

}  // namespace roofline::core
