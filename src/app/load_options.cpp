#include "app/load_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/number_option.hpp"
#include "base/ascii.hpp"
#include "import/table_fields.hpp"
#include "predict/serve/serve.hpp"
#include "text/csv.hpp"
#include "text/text_reader.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<LengthDistribution> uniform_lengths(const std::string& word, std::string_view range, std::string_view option) {
    const std::size_t dots = range.find("..");
    if (dots == std::string_view::npos) {
        return wrong_option(option, word, "the range has no `..`", "for example uniform:100..200");
    }
    LengthDistribution lengths;
    lengths.kind = LengthDistribution::Kind::uniform;
    ROOFLINE_TRY(lengths.least, whole_option(option, range.substr(0, dots), max_serving_size));
    ROOFLINE_TRY(lengths.most, whole_option(option, range.substr(dots + 2), max_serving_size));
    if (lengths.least <= lengths.most) return lengths;
    return wrong_option(option, word, "the range is empty", "put the smaller number first");
}

Result<LengthDistribution> lognormal_lengths(const std::string& word, std::string_view parts, std::string_view option) {
    constexpr double most_sigma = 10;
    const std::size_t comma = parts.find(',');
    const auto sigma = comma == std::string_view::npos ? std::nullopt : number_in(parts.substr(comma + 1));
    if (!sigma || *sigma < 0 || *sigma > most_sigma) {
        return wrong_option(option, word, "the standard deviation of the logarithm must be 0 to 10",
                            "for example lognormal:1000,0.5: the mean in tokens, and that deviation");
    }
    LengthDistribution lengths;
    lengths.kind = LengthDistribution::Kind::lognormal;
    ROOFLINE_TRY(const auto mean, whole_option(option, parts.substr(0, comma), max_serving_size));
    lengths.mean = static_cast<double>(mean);
    lengths.sigma = *sigma;
    return lengths;
}

// A fraction of each prompt, or a number of its tokens.
Result<CachedPrefix> cached_option(const std::string& word) {
    constexpr const char* remedy = "give a fraction from 0 to 1, a percentage, or a number of tokens, such as 600";
    CachedPrefix cached;
    if (word.empty()) return cached;
    const auto share = fraction_in(word);
    if (share && (share->percent || share->value <= 1)) {
        cached.share = share->value;
        if (cached.share >= 0 && cached.share <= 1) return cached;
        return wrong_option("--cached", word, "the hit rate must be 0 to 1", remedy);
    }
    auto tokens = whole_option("--cached", word, max_serving_size);
    if (!tokens)
        return wrong_option("--cached", word, "this is neither a hit rate from 0 to 1 nor a number of tokens", remedy);
    cached.tokens = *tokens;
    return cached;
}

Result<std::optional<double>> target_option(const std::string& word, std::string_view option) {
    if (word.empty()) return std::optional<double>{};
    const auto time = parse_quantity<Seconds>(word);
    if (!time) return fail(of_option(option, time.error()));
    if (time->value > 0) return std::optional(time->value);
    return wrong_option(option, word, "the time must be positive", "for example 500ms");
}

Result<PromptSchedule> schedule_option(const std::string& word) {
    if (word.empty() || word == "mixed") return PromptSchedule::mixed;
    if (word == "prefill-first") return PromptSchedule::prefill_first;
    return wrong_option("--schedule", word, "there is no such schedule",
                        did_you_mean(word, {"mixed", "prefill-first"}, "use mixed or prefill-first"));
}

}  // namespace

Result<double> rate_option(const std::string& word) {
    constexpr const char* remedy = "give requests per second, for example --rate 2.5";
    const auto rate = number_in(word);
    if (!rate) return wrong_option("--rate", word, "this is not a number", remedy);
    if (*rate > 0) return *rate;
    return wrong_option("--rate", word, "the rate must be positive", remedy);
}

bool is_distribution(const std::string& word) { return word.find(':') != std::string::npos; }

Result<LengthDistribution> length_distribution(const std::string& word, std::string_view option) {
    const std::size_t colon = word.find(':');
    const std::string kind = word.substr(0, colon);
    const std::string_view rest = std::string_view(word).substr(colon + 1);
    if (kind == "uniform") return uniform_lengths(word, rest, option);
    if (kind == "lognormal") return lognormal_lengths(word, rest, option);
    return wrong_option(option, word, "there is no such distribution",
                        did_you_mean(kind, {"uniform", "lognormal"}, "use uniform:A..B or lognormal:MEAN,SIGMA"));
}

Result<std::vector<RequestTokens>> read_request_lengths(const NamedText& table) {
    ROOFLINE_TRY(auto reader, CsvReader::open(table.text, table.name));
    const auto prompt = find_column(reader.header(), {"prompt"});
    const auto output = find_column(reader.header(), {"output"});
    if (!prompt || !output) {
        return reader.fail_at(0, "missing_column",
                              fmt::format("the table of lengths has no column {}", prompt ? "output" : "prompt"),
                              "the first line is prompt,output, and each other one has the tokens of a request");
    }
    std::vector<RequestTokens> requests;
    while (true) {
        ROOFLINE_TRY(const auto more, reader.next());
        if (!more) break;
        RequestTokens request;
        for (const auto& [column, tokens] :
             {std::pair(*prompt, &request.prompt), std::pair(*output, &request.output)}) {
            const CsvField& field = reader.record()[column];
            auto value = parse_size(field.text);
            if (!value || *value > max_serving_size) {
                return reader.fail_at(field.offset, "bad_number",
                                      field.text.empty()
                                          ? std::string("a number of tokens is missing")
                                          : fmt::format("{} is no number of tokens", in_ticks(field.text)),
                                      fmt::format("a whole number from 1 to {}", max_serving_size));
            }
            *tokens = *value;
        }
        if (static_cast<std::int64_t>(requests.size()) == max_simulated_requests) {
            return reader.fail_at(reader.record().front().offset, "too_long",
                                  fmt::format("the table has more than {} requests", grouped(max_simulated_requests)));
        }
        requests.push_back(request);
    }
    if (!requests.empty()) return requests;
    return reader.fail_at(0, "empty", "the table of lengths has no requests",
                          "after prompt,output each line has the tokens of a request");
}

Result<double> balancedness_option(const std::string& word) {
    if (word.empty()) return 0;
    const auto value = number_in(word);
    if (value && *value > 0 && *value <= 1) return *value;
    return wrong_option("--balancedness", word, value ? "it must be above 0 and at most 1" : "this is not a number",
                        "give the mean number of tokens per chip over the largest, such as 0.8");
}

Result<std::optional<double>> memory_fraction_option(const std::string& word) {
    if (word.empty()) return std::optional<double>{};
    const auto number = fraction_in(word);
    if (number && number->value > 0 && number->value <= 1) return number->value;
    return wrong_option("--memory-fraction", word, number ? "it must be above 0 and at most 1" : "this is not a number",
                        "give the part of a chip's memory that the server uses, such as 0.9 or 90%");
}

bool names_load(const ServeRequest& request) {
    for (const std::string* word : {&request.concurrency, &request.rate, &request.cached, &request.ttft, &request.tpot,
                                    &request.requests, &request.schedule}) {
        if (!word->empty()) return true;
    }
    return request.lengths || is_distribution(request.prompt) || is_distribution(request.output);
}

Result<std::optional<LoadQuestion>> load_options(const ServeRequest& request, RequestLengths lengths,
                                                 std::int64_t batch) {
    if (!names_load(request)) return std::optional<LoadQuestion>{};
    LoadQuestion load;
    if (!request.rate.empty() && !request.concurrency.empty()) {
        return fail("bad_request", "--rate and --concurrency are both given", "give one: an open or a closed loop");
    }
    load.concurrency = std::min(batch, max_requests);
    if (!request.rate.empty()) {
        ROOFLINE_TRY(load.rate, rate_option(request.rate));
    }
    if (!request.concurrency.empty()) {
        ROOFLINE_TRY(load.concurrency, whole_option("--concurrency", request.concurrency, max_requests));
    }
    if (!request.requests.empty()) {
        ROOFLINE_TRY(load.requests, whole_option("--requests", request.requests, max_simulated_requests));
    }
    ROOFLINE_TRY(load.schedule, schedule_option(request.schedule));
    ROOFLINE_TRY(load.targets.ttft_s, target_option(request.ttft, "--ttft"));
    ROOFLINE_TRY(load.targets.tpot_s, target_option(request.tpot, "--tpot"));
    load.lengths = std::move(lengths);
    ROOFLINE_TRY(load.lengths.cached, cached_option(request.cached));
    const bool fixed = load.lengths.listed.empty() && load.lengths.prompt.kind == LengthDistribution::Kind::even;
    if (fixed && static_cast<double>(load.lengths.cached.tokens) > load.lengths.prompt.mean) {
        return wrong_option("--cached", request.cached, fmt::format("a prompt has {} tokens", load.lengths.prompt.mean),
                            "give fewer tokens, or a fraction from 0 to 1");
    }
    return std::optional(std::move(load));
}

}  // namespace roofline::core
