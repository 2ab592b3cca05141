#include "app/plan_part.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "app/plan_request_json.hpp"
#include "app/small_search_test.hpp"
#include "text/json.hpp"

using namespace roofline::core;

namespace {

PlanRequest timed_search() {
    PlanRequest request = small_search();
    request.train.zero = "1";
    request.train.search.clock = [] { return 1.0; };
    return request;
}

std::string text_of(const PlanRequest& request, Format format = Format::json) {
    const auto response = handle(request, format);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    return response->out;
}

std::vector<NamedText> parts_of(PlanRequest request, int of) {
    std::vector<NamedText> files;
    for (int number = 1; number <= of; ++number) {
        request.part = std::to_string(number) + "/" + std::to_string(of);
        request.train.search.threads = static_cast<std::size_t>(number);
        files.push_back({std::to_string(number) + ".json", text_of(request)});
    }
    return files;
}

Error merge_error(std::vector<NamedText> files) {
    const auto response = handle(PlanMergeRequest{std::move(files)}, Format::text);
    REQUIRE_FALSE(response);
    return response.error();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    return text.replace(at, from.size(), to);
}

// Two parts of one search, which all tests of broken files share.
const std::vector<NamedText>& two_parts() {
    static const std::vector<NamedText> parts = parts_of(timed_search(), 2);
    return parts;
}

}  // namespace

TEST_CASE("the parts of a search are merged into its answer, byte for byte in each format") {
    PlanRequest request = timed_search();
    request.without = {"sequence,context,pipeline,tensor"};
    const auto check = [&](std::vector<NamedText> files, Format format) {
        std::reverse(files.begin(), files.end());
        const auto merged = handle(PlanMergeRequest{std::move(files), request.train.search.clock}, format);
        REQUIRE_MESSAGE(merged, to_text(merged.error()));
        CHECK(merged->out == text_of(request, format));
        CHECK(merged->exit_code == 0);
    };
    const auto files = parts_of(request, 3);
    for (const Format format : {Format::text, Format::csv, Format::markdown}) check(files, format);
    // more parts than the three units of plans, data, fsdp and both, leave some empty
    check(parts_of(request, 4), Format::json);
}

TEST_CASE("parts are merged in which some plans are far too large, beside others that fit") {
    // With one micro-batch per step eight sequences of 8,192 tokens are live on each chip at once: 32 layers keep
    // several times what a chip holds, which is seen from the stages for more micro-batches before any is compiled.
    PlanRequest request = timed_search();
    request.train.batch_tokens = "512Ki";
    request.train.sequence = "8192";
    request.train.remat.clear();
    request.train.microbatches.clear();
    request.without = {"sequence,context,pipeline,tensor"};
    for (const int of : {2, 3}) {
        const auto merged = handle(PlanMergeRequest{parts_of(request, of), request.train.search.clock}, Format::json);
        REQUIRE_MESSAGE(merged, to_text(merged.error()));
        CHECK(merged->exit_code == 0);
        CHECK(merged->out == text_of(request));
    }
}

TEST_CASE("parts of a search in which nothing fits are merged, too") {
    PlanRequest request = timed_search();
    request.train.config = {"llama-3.1-70b", ""};
    request.train.mesh = {"data=1"};
    request.train.zero.clear();
    const auto merged = handle(PlanMergeRequest{parts_of(request, 2), request.train.search.clock}, Format::json);
    REQUIRE_MESSAGE(merged, to_text(merged.error()));
    CHECK(merged->exit_code == 1);
    CHECK(merged->out == text_of(request));
}

namespace {

// A search that has more sets of axes than the leading ones.
PlanRequest longer_search() {
    PlanRequest request = timed_search();
    request.train.zero.clear();
    request.without = {"sequence"};
    return request;
}

// The leading part, and after it the parts of the rest.
std::vector<NamedText> parts_after_leading(PlanRequest request, int of) {
    request.part = "leading";
    const NamedText leading{"leading.json", text_of(request)};
    request.leading = leading;
    std::vector<NamedText> files = parts_of(std::move(request), of);
    files.push_back(leading);
    return files;
}

}  // namespace

TEST_CASE("parts of the rest, which are given the times of the leading part, are merged into the answer") {
    const PlanRequest request = longer_search();
    const std::string whole = text_of(request);
    const auto files = parts_after_leading(request, 2);
    const auto merged = handle(PlanMergeRequest{files, request.train.search.clock}, Format::json);
    REQUIRE_MESSAGE(merged, to_text(merged.error()));
    CHECK(merged->out == whole);
    // together they look at as many plans as one search, so no part searches the leading ones again
    const auto looked_at = [](const std::string& text) {
        const auto json = parse_json(text, "part");
        REQUIRE(json);
        return json->find("counts")->find("looked_at")->whole;
    };
    const std::string searched = "\"searched\":" + std::to_string(looked_at(files[0].text) + looked_at(files[1].text) +
                                                                  looked_at(files[2].text));
    CHECK(whole.find(searched + ",") != std::string::npos);
    CHECK(looked_at(files[0].text) > 0);
    CHECK(looked_at(files[1].text) > 0);

    const auto& [first, second, leading] = std::array{files[0], files[1], files[2]};
    CHECK(merge_error({first, second}).message == "the leading part is missing");
    CHECK(merge_error({first, leading}).message == "part 2 of 2 is missing");
    CHECK(merge_error({leading}).message == "the leading part is alone");
    CHECK(merge_error({leading, first, leading}).message.find("the leading part is given twice") == 0);
    PlanRequest other = request;
    other.part = "1/2";
    const NamedText plain{"plain.json", text_of(other)};
    CHECK(merge_error({leading, plain, second}).message.find("leading.json and plain.json") != std::string::npos);

    const auto refusal = [&](const NamedText& given) {
        other.leading = given;
        const auto response = handle(other, Format::json);
        REQUIRE_FALSE(response);
        return response.error();
    };
    CHECK(refusal(plain).message == "plain.json is part 1 of 2, and no leading part");
    const Error short_list = refusal({"x.json", replaced(leading.text, "\"leading\":[[", "\"leading\":[[],[")});
    CHECK(short_list.message == "x.json: `leading` does not have the times of all leading units");
    CHECK(refusal({"x.json", replaced(leading.text, "\"degrees\":[", "\"degrees\":[1,")}).message ==
          "x.json: a time of `leading` has no degrees");
    other.train.sequence = "2048";
    CHECK(refusal(leading).message == "leading.json is the leading part of another question: `seq` differs");
    other.part = "leading";
    CHECK(refusal(leading).code == "usage");
    other.part.clear();
    CHECK(refusal(leading).code == "usage");
}

TEST_CASE("parts that have lost their best plans are refused") {
    std::vector<NamedText> files = two_parts();
    for (NamedText& file : files) {
        const std::size_t from = file.text.find("\"best\":[") + 8;
        file.text.erase(from, file.text.find("],\"larger\"") - from);
    }
    CHECK(merge_error(files).message.find("plans were priced, but `best` has none in all files") != std::string::npos);
}

TEST_CASE("a part says what was asked, with the contents of files") {
    PlanRequest request = timed_search();
    request.train.calibration.files = {{"my.toml", "x"}};
    request.train.mfu = 0.4;
    request.train.machines[0].toml = "text";
    const auto json = parse_json(plan_request_json(request).dump(), "question");
    REQUIRE(json);
    auto read = read_plan_request(*json);
    REQUIRE(read);
    CHECK_FALSE(difference(request, *read));
    CHECK(read->train.calibration.files[0].text == "x");
    read->train.mfu = 0.5;
    CHECK(difference(request, *read) == "mfu");
    read->train.mfu = 0.4;
    read->train.machines[0].toml.reset();
    CHECK(difference(request, *read) == "on");
    // how a question is searched is no part of it
    read = request;
    read->part = "1/2";
    read->train.search.threads = 7;
    read->output = "x.json";
    CHECK_FALSE(difference(request, *read));
}

TEST_CASE("parts that are missing, given twice or belong to different searches are refused by name") {
    const auto& parts = two_parts();
    CHECK(merge_error({}).code == "no_parts");
    CHECK(merge_error({parts[0]}).message == "part 2 of 2 is missing");
    CHECK(merge_error({parts[0], {"copy.json", parts[0].text}}).message ==
          "part 1 of 2 is given twice: in 1.json and in copy.json");
    PlanRequest other = timed_search();
    other.train.sequence = "2048";
    CHECK(merge_error({parts[0], {"other.json", parts_of(other, 2)[1].text}}).message ==
          "1.json and other.json are parts of different questions: `seq` differs");
    other = timed_search();
    other.part = "2/3";
    CHECK(merge_error({parts[0], {"other.json", text_of(other)}}).message ==
          "1.json is one of 2 parts, and other.json one of 3");
    const std::string older = replaced(parts[1].text, "\"version\":\"", "\"version\":\"0.0.");
    const Error version = merge_error({parts[0], {"2.json", older}});
    CHECK(version.message.find("2.json was written by roofline 0.0.") == 0);
    CHECK(version.hint == "search all parts and merge them with the same version");
}

TEST_CASE("broken files of parts are refused by name") {
    const auto& parts = two_parts();
    const std::string& good = parts[0].text;
    const auto wrong = [&](const std::string& text) { return merge_error({{"1.json", text}, parts[1]}); };
    CHECK(wrong("").code == "cut_off");
    CHECK(wrong(good.substr(0, good.size() / 2)).code == "cut_off");
    CHECK(wrong("{}").message == "1.json: it is not a valid part of a search");
    CHECK(wrong(text_of(timed_search())).message == "1.json: it is not a valid part of a search");
    for (const auto& [from, to, message] : std::vector<std::array<std::string, 3>>{
             {"\"number\":1", "\"number\":-1", "`number` is not a whole number"},
             {"\"number\":1", "\"number\":9", "--part: `9/2` is not a valid part"},
             {"\"of\":2", "\"of\":4", "its counts are not those of"},
             {"\"batch_tokens\":\"32Ki\"", "\"batch_tokens\":3", "`question.batch_tokens` is missing or has another"},
             {"\"batch_tokens\":\"32Ki\"", "\"batch_tokens\":\"5000\"", "5000 tokens are no whole number"},
             {"\"priced\":", "\"priced\":1", "its counts are not those of"},
             {"\"looked_at\":", "\"looked_at\":1", "its counts are not those of"},
             {"\"compiled\":", "\"compiled\":1.5e-", "`compiled` is not a whole number"},
             {"\"counts\":", "\"count\":", "`counts` is missing"},
             {"\"best\":[", "\"best\":[3,", "`unit` is not a whole number"},
             {"\"unit\":", "\"unit\":9", "the part has no plan"},
             {"\"index\":", "\"index\":9", "the part has no plan"},
             {"\"seconds\":", "\"seconds\":-", "`seconds` is not a positive number"},
             {"\"memory\":", "\"memory\":1", "its counts are not those of"},
             {"\"best\":", "\"beast\":", "`best` is not a list of plans"},
             {"\"zero\":1}", "\"zero\":3}", "a plan is not one of the space"},
             {"\"mesh\":\"", "\"mesh\":\"tensor=2 on nvlink, ", "a plan has the mesh of another one"},
             {"\"pipeline\":1,", "\"pipeline\":9000000000000000000,", "a plan is not one of the space"},
             {"\"choice\":\"1 full", "\"choice\":\"2 full", "a plan has a choice that the search does not have"},
         }) {
        const Error error = wrong(replaced(good, from, to));
        CHECK_MESSAGE(error.message.find(message) != std::string::npos, to << ": " << error.message);
        CHECK_MESSAGE(error.message.find("1.json") == 0, error.message);
    }
    // the text of a refused plan is shown to people, and has to be one
    const std::string refused = "\"refused\":{\"unit\":0,\"index\":0,\"why\":1}";
    CHECK(wrong(replaced(good, "\"refused\":null", refused)).code == "bad_part");
}

TEST_CASE("a part goes to a file, and an interrupted one nowhere") {
    PlanRequest request = timed_search();
    request.part = "1/2";
    request.output = "1.json";
    const auto written = handle(request, Format::text);
    REQUIRE(written);
    REQUIRE(written->files.size() == 1);
    CHECK(written->files[0].name == "1.json");
    CHECK(written->files[0].text == two_parts()[0].text);
    CHECK(written->out.find("part 1 of 2: ") == 0);
    request.train.search.watch = [](const SearchProgress&) { return false; };
    const auto interrupted = handle(Request{request, Format::text});
    REQUIRE(interrupted.error);
    CHECK(interrupted.exit_code == 130);
    CHECK(interrupted.error->message == "interrupted; part 1 of 2 is not written");
    CHECK(interrupted.files.empty());
}

TEST_CASE("an interrupted search answers with the best so far, and says that others may be better") {
    PlanRequest request = timed_search();
    request.train.search.watch = [](const SearchProgress& at) { return at.looked_at < 3; };
    const auto json = handle(request, Format::json);
    REQUIRE(json);
    CHECK(json->exit_code == 130);
    CHECK(json->out.find("\"searched\":3,") != std::string::npos);
    CHECK(json->out.find("\"stopped\":\"interrupt\"") != std::string::npos);
    CHECK(text_of(request, Format::text).find("Interrupted: ") != std::string::npos);
    request.train.search.watch = {};
    request.limit = "3";
    const auto limited = handle(request, Format::json);
    REQUIRE(limited);
    CHECK(limited->exit_code == 0);
    CHECK(limited->out.find("\"searched\":3,") != std::string::npos);
    CHECK(limited->out.find("\"stopped\":\"limit\"") != std::string::npos);
    CHECK(text_of(request, Format::text).find("As --limit says: ") != std::string::npos);
    // nothing was found yet
    request.limit.clear();
    request.train.config = {"llama-3.1-405b", ""};
    request.train.search.watch = [](const SearchProgress&) { return false; };
    CHECK(handle(Request{request, Format::text}).exit_code == 130);
}

TEST_CASE("options of parts that make no sense are refused") {
    for (const std::string part : {"3", "0/4", "5/4", "1/", "/4", "1/2/3", "a/b", "-1/4", "1/9999999"}) {
        PlanRequest request = timed_search();
        request.part = part;
        const auto response = handle(request, Format::json);
        REQUIRE_FALSE_MESSAGE(response, part);
    }
    PlanRequest request = timed_search();
    request.output = "x.json";
    CHECK(handle(request, Format::text).error().code == "usage");
    request.part = "1/2";
    CHECK(handle(request, Format::csv).error().code == "usage");
    request = timed_search();
    request.part = "1/2";
    const auto whole_only = [&](auto change) {
        PlanRequest changed = request;
        changed.train.tokens = "1T";
        change(changed);
        const auto response = handle(changed, Format::json);
        REQUIRE_FALSE(response);
        return response.error().message;
    };
    CHECK(whole_only([](auto& r) { r.train.machines.push_back({"h100-sxm:8x2", {}}); }).find("one slice") !=
          std::string::npos);
    CHECK(whole_only([](auto& r) { r.train.batch_tokens = "64Ki..128Ki*2"; }).find("one slice, batch") !=
          std::string::npos);
    CHECK(whole_only([](auto& r) { r.front = "time,memory"; }).find("no front") != std::string::npos);
    CHECK(whole_only([](auto& r) { r.objective = "memory"; }).find("least time") != std::string::npos);
    CHECK(whole_only([](auto& r) { r.days = "10"; }).find("no limits") != std::string::npos);
    request = timed_search();
    request.train.machines.push_back({"h100-sxm:8x2", {}});
    request.limit = "9";
    CHECK(handle(request, Format::text).error().message == "--limit is for one job, and there are 2");
    request = timed_search();
    request.limit = "none";
    CHECK_FALSE(handle(request, Format::text));
}
