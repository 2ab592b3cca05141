#include "app/routing_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "app/number_option.hpp"
#include "base/ascii.hpp"
#include "import/table_fields.hpp"
#include "text/csv.hpp"
#include "text/text_reader.hpp"
#include "units/text.hpp"

namespace roofline::core {

bool is_routing_law(const std::string& word) {
    return word == "uniform" || word == "zipf" || word.find(':') != std::string::npos;
}

Error unreadable_routing(const std::string& word, const Error& error) {
    const std::string problem =
        fmt::format("this is neither uniform, nor zipf:S, nor a table of popularities: {}", error.message);
    const std::string hint = "use uniform, zipf:S such as zipf:1, or the file of a table";
    return wrong_option("--routing", word, problem, did_you_mean(word, {"uniform", "zipf:1"}, hint)).value();
}

Result<std::vector<double>> read_expert_popularity(const NamedText& table) {
    constexpr const char* remedy = "a number of at least 0: tokens that chose the expert, or their share";
    ROOFLINE_TRY(auto reader, CsvReader::open(table.text, table.name));
    const auto column = find_column(reader.header(), {"tokens", "share"});
    if (!column) {
        return reader.fail_at(0, "missing_column", "the table of experts has no column tokens or share",
                              "the first line names the column, and each other one has the number of an expert");
    }
    std::vector<double> popularity;
    double all = 0;
    while (true) {
        ROOFLINE_TRY(const auto more, reader.next());
        if (!more) break;
        const CsvField& field = reader.record()[*column];
        const auto value = number_in(field.text);
        if (!value || *value < 0) {
            return reader.fail_at(field.offset, "bad_number",
                                  fmt::format("{} is no popularity of an expert", in_ticks(field.text)), remedy);
        }
        if (static_cast<std::int64_t>(popularity.size()) == max_unequal_experts) {
            return reader.fail_at(field.offset, "too_long",
                                  fmt::format("the table has more than {} experts", max_unequal_experts));
        }
        popularity.push_back(*value);
        all += *value;
    }
    if (all > 0 && std::isfinite(all)) return popularity;
    return reader.fail_at(0, popularity.empty() ? "empty" : "bad_number",
                          popularity.empty() ? "the table has no experts" : "no expert of the table was ever chosen",
                          "each line has the number of an expert, and some are above 0");
}

Result<ExpertRouting> routing_options(const ServeRequest& request) {
    ExpertRouting routing;
    if (request.popularity) {
        ROOFLINE_TRY(routing.measured, read_expert_popularity(*request.popularity));
    }
    const std::string& word = request.routing;
    if (!word.empty() && word != "uniform") {
        const std::size_t colon = word.find(':');
        const std::string law = word.substr(0, colon);
        if (law != "zipf") {
            return wrong_option(
                "--routing", word, "there is no such law",
                did_you_mean(law, {"uniform", "zipf"}, "use uniform, zipf:S or a table of popularities"));
        }
        const auto exponent = colon == std::string::npos ? std::nullopt : number_in(word.substr(colon + 1));
        if (!exponent || *exponent < 0 || *exponent > max_zipf_exponent) {
            return wrong_option("--routing", word, fmt::format("the exponent must be 0 to {}", max_zipf_exponent),
                                "for example zipf:1: the i-th most popular expert is chosen in proportion to 1/i");
        }
        routing.zipf = *exponent;
    }
    if (request.redundant_experts.empty()) return routing;
    const auto redundant = number_in(request.redundant_experts);
    if (!redundant || *redundant < 0 || *redundant > static_cast<double>(max_unequal_experts) ||
        *redundant != std::floor(*redundant)) {
        return wrong_option("--redundant-experts", request.redundant_experts,
                            fmt::format("this is no whole number from 0 to {}", max_unequal_experts),
                            "give the number of replicas per layer over all chips, such as 32");
    }
    routing.redundant = static_cast<std::int64_t>(*redundant);
    return routing;
}

}  // namespace roofline::core
