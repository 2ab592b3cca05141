// One event of a trace in Chrome's format, as text that is not yet interpreted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace roofline::core {

/// The arguments of an event that somebody reads; views into the event's text, "" if absent.
struct ChromeArguments {
    std::optional<std::int64_t> external_id{};
    std::optional<std::int64_t> correlation{};
    std::optional<std::int64_t> device{};
    std::optional<std::int64_t> stream{};
    std::optional<std::int64_t> bytes{};
    std::optional<std::int64_t> step{};
    // JSON text
    std::string_view shapes{};
    std::string_view types{};
    std::string_view values{};
    // of NCCL's events
    std::string_view collective{};
    std::string_view dtype{};
    std::string_view ranks{};
    std::optional<std::int64_t> elements_in{};
    std::optional<std::int64_t> elements_out{};
    std::optional<std::int64_t> group{};
    std::optional<std::int64_t> from{};  ///< ranks of a message between two
    std::optional<std::int64_t> to{};
    // of XLA's
    std::string_view module{};
    std::string_view instruction{};
    std::string_view category{};
    std::string_view source{};
    std::string_view scope{};
    std::string_view long_name{};  ///< the instruction's text
    std::optional<double> flops{};
    std::optional<double> model_flops{};
    std::optional<double> accessed{};
    std::optional<double> raw_accessed{};
    std::string_view copy{};  ///< "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
    // of metadata
    std::string_view name{};
};

struct ChromeEvent {
    char phase = '\0';
    std::string_view category{};
    std::string_view name{};
    std::string_view process{};  ///< JSON text of pid, which may be a number or a string
    std::string_view thread{};
    std::optional<double> start_us{};
    std::optional<double> duration_us{};
    ChromeArguments arguments{};
};

/// Parses events; it keeps memory from one to the next.
class ChromeEventParser {
public:
    ChromeEventParser();
    ~ChromeEventParser();
    ChromeEventParser(const ChromeEventParser&) = delete;
    ChromeEventParser& operator=(const ChromeEventParser&) = delete;

    /// Returns an event, whose views are valid until the next call; nothing if the text is no JSON object. `readable`
    /// bytes from its beginning may be read, at least 64 more than it has.
    [[nodiscard]] std::optional<ChromeEvent> parse(std::string_view text, std::size_t readable);

private:
    struct Parser;
    std::unique_ptr<Parser> parser_;
};

}  // namespace roofline::core
