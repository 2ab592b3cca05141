#include "import/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/ascii.hpp"
#include "import/nccl_run.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

/// Positions of the numbers in one half of a row, counted from its end because columns at the front may be blank.
struct NcclColumns {
    std::size_t time = 0;
    std::size_t algbw = 0;
    std::size_t busbw = 0;
    std::size_t wrong = 0;
};

class NcclTextReader {
public:
    NcclTextReader(TextReader& reader, const NcclHints& hints) : reader_(reader), hints_(hints) {}

    Result<CollectiveTable> read() {
        while (reader_.next()) {
            words_ = reader_.words();
            if (words_.empty()) continue;
            auto status = words_.front().text.starts_with('#') ? comment() : row();
            if (!status) return fail(status.error());
        }
        if (table_.rows.empty() && table_.skipped.empty()) {
            return reader_.fail_at(0, "no_rows", "this nccl-tests output has no row",
                                   "was the run interrupted before its first size?");
        }
        return std::move(table_);
    }

private:
    Status comment();
    Status row();
    Status half(const NcclColumns& columns, bool in_place);
    Status heading();
    void device();
    [[nodiscard]] std::string_view after(std::string_view key) const;

    TextReader& reader_;
    const NcclHints& hints_;
    CollectiveTable table_;
    std::vector<TextWord> words_;
    NcclRun run_;
    std::string named_;  // the last test that was named before a run began
    std::array<NcclColumns, 2> columns_{};
    std::size_t width_ = 0;  // words of a complete row; 0 before the heading
    std::size_t least_ = 0;  // the same if all optional columns are blank
};

/// The word after `key` in the line; "" if `key` does not occur.
std::string_view NcclTextReader::after(std::string_view key) const {
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
        if (words_[i].text == key) return words_[i + 1].text;
    }
    return {};
}

// Reads a line such as "#  Rank  0 Group  0 Pid  12345 on host device  0 [0x07] NVIDIA H100 80GB HBM3".
void NcclTextReader::device() {
    ++run_.ranks;
    run_.hosts.emplace(after("on"));
    if (const auto group = number_in(after("Group")))
        run_.groups.insert(static_cast<std::int64_t>(std::min(*group, 1e9)));
    const std::size_t bracket = reader_.line().find("] ");
    if (bracket != std::string_view::npos) run_.device = trimmed(reader_.line().substr(bracket + 2)).substr(0, 100);
}

Status NcclTextReader::heading() {
    std::vector<NcclColumns> halves;
    const std::size_t stamps = words_.back().text == "timestamp" ? 1 : 0;  // a date and a time of day
    const std::size_t count = words_.size() + stamps;
    std::size_t blank = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::string_view word = words_[i].text;
        if (word == "redop" || word == "root") ++blank;
        if (word == "cputime") {
            return reader_.fail_at(words_[i].offset, "cpu_time",
                                   "these are times of the launching processor, not of the collective",
                                   "measure again without -C");
        }
        if (word == "time") halves.push_back({count - i, 0, 0, 0});
        if (halves.empty()) continue;
        if (word == "algbw") halves.back().algbw = count - i;
        if (word == "busbw") halves.back().busbw = count - i;
        if (word == "#wrong" || word == "error") halves.back().wrong = count - i;
    }
    const bool whole = halves.size() == 2 && std::all_of(halves.begin(), halves.end(), [](const NcclColumns& each) {
                           return each.algbw > 0 && each.busbw > 0;
                       });
    if (!whole) {
        return reader_.fail_at(reader_.offset(), "bad_table",
                               "the heading lacks time, algbw or busbw, out of place and in place");
    }
    std::copy(halves.begin(), halves.end(), columns_.begin());
    width_ = count - 1;  // without the #
    least_ = width_ - blank;
    if (run_.operation.empty()) run_.operation = std::exchange(named_, "");
    return {};
}

Status NcclTextReader::comment() {
    const std::string_view line = reader_.line();
    const bool concluded = line.find("test concluded") != std::string_view::npos;
    for (const TextWord& word : words_) {
        if (const std::string test = test_in(word.text); !test.empty() && !concluded) named_ = test;
        if (word.text.starts_with("nccl-library="))
            run_.software = nccl_version(number_in(word.text.substr(13)).value_or(0));
    }
    if (after("#") == "nThread") {
        run_ = NcclRun{std::exchange(named_, ""),
                       0,
                       {},
                       {},
                       "",
                       run_.software,
                       after("graph:") != "0" && !after("graph:").empty()};
        width_ = 0;
    }
    if (after("#") == "Rank") device();
    if (after("#") == "size" && line.find("busbw") != std::string_view::npos) return heading();
    return {};
}

Status NcclTextReader::half(const NcclColumns& columns, bool in_place) {
    const auto at = [&](std::size_t from_end) { return words_[words_.size() - from_end]; };
    NcclTime time;
    time.line = reader_.number();
    time.in_place = in_place;
    time.dtype = words_[2].text;
    time.size = number_in(words_[0].text).value_or(0);
    const TextWord printed = at(columns.time);
    const auto number = number_in(printed.text);
    if (printed.text == "N/A") return {};
    if (!number || *number < 0) {
        return reader_.fail_at(printed.offset, "bad_number", fmt::format("{} is not a time", in_ticks(printed.text)));
    }
    time.time_us = *number;
    const std::size_t point = printed.text.find('.');
    const std::size_t decimals = point == std::string_view::npos ? 0 : printed.text.size() - point - 1;
    time.rounding_us = printed.text.find('e') == std::string_view::npos
                           ? 0.5 * std::pow(0.1, static_cast<double>(std::min<std::size_t>(decimals, 9)))
                           : *number * 0.05;
    time.algbw = number_in(at(columns.algbw).text).value_or(0);
    time.busbw = number_in(at(columns.busbw).text).value_or(0);
    if (columns.wrong > 0) time.wrong = number_in(at(columns.wrong).text).value_or(0);
    std::string skip;
    auto row = run_.row(time, hints_, skip);
    if (!row) return reader_.fail_at(printed.offset, row.error().code, row.error().message, row.error().hint);
    if (skip.empty()) {
        table_.rows.push_back(std::move(*row));
    } else {
        table_.skipped.push_back({time.line, std::move(skip)});
    }
    return {};
}

// Lines that do not begin with a size belong to something else: a command line, NCCL's own messages.
Status NcclTextReader::row() {
    const std::string_view first = words_.front().text;
    if (width_ == 0 || !std::all_of(first.begin(), first.end(), is_digit)) {
        for (const TextWord& word : words_) {
            if (const std::string test = test_in(word.text); !test.empty()) named_ = test;
        }
        return {};
    }
    if (words_.size() < least_ || (!reader_.ended() && words_.size() < width_)) {
        table_.skipped.push_back({reader_.number(), "its line is cut off"});
        return {};
    }
    if (words_.size() > width_) {
        return reader_.fail_at(words_[width_].offset, "bad_table", "the line has more columns than the heading");
    }
    if (auto status = half(columns_[0], false); !status) return status;
    return half(columns_[1], true);
}

}  // namespace

bool is_nccl_tests(std::string_view text) {
    const std::string_view content = trimmed(text.substr(0, 100'000'000));
    if (content.starts_with('{')) return content.find("\"out_of_place\"") != std::string_view::npos;
    // searches the heading of its columns because tables of other kinds may contain these words in a field
    for (std::size_t at = content.find("out-of-place"); at != std::string_view::npos;
         at = content.find("out-of-place", at + 1)) {
        const std::size_t begin = content.rfind('\n', at) + 1;  // 0 on the first line
        if (trimmed(content.substr(begin, at - begin)).starts_with('#')) return true;
    }
    return false;
}

Result<CollectiveTable> read_nccl_tests(std::string_view text, const std::string& source, const NcclHints& hints) {
    if (trimmed(text).starts_with('{')) return read_nccl_json(text, source, hints);
    auto reader = TextReader::open(text, source);
    if (!reader) return fail(reader.error());
    return NcclTextReader(*reader, hints).read();
}

}  // namespace roofline::core
