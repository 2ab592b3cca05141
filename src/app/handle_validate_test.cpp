#include "app/handle_validate.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

using namespace roofline;

namespace {

Response validate(std::string table, Format format = Format::json, std::optional<double> max_error = {}) {
    ValidateRequest request;
    request.table = std::move(table);
    request.table_name = "t.csv";
    request.max_error = max_error;
    request.plot = true;
    request.calibration.none = true;  // the bounds alone
    return handle(Request{std::move(request), format, false});
}

nlohmann::json answer(std::string table, int exit_code = 0) {
    const Response response = validate(std::move(table));
    CHECK(response.exit_code == exit_code);
    auto json = nlohmann::json::parse(response.out, nullptr, false);
    REQUIRE(json.is_object());
    return json;
}

// An H100 SXM has 450 GB/s to its switch: an all-gather of 450 kB over 8 takes 0.875 us at the least.
constexpr const char* head = "op,system,n_devices,bytes,time_us,note\n";

}  // namespace

TEST_CASE("every row that can be is compared, and the others are counted by reason") {
    const auto json = answer(std::string(head) + "all_gather,h100_sxm,8,450000,1,\nall_gather,h100_sxm,8,450000,2,\n" +
                             "all_gather,x,8,450000,1,\nall_gather,x,8,450000,1,\nall_gather,h100_sxm,9,450000,1,\n");
    CHECK(json["rows"] == 2);
    CHECK(json["skipped"] == 3);
    CHECK(json["skipped_by"].size() == 2);
    CHECK(json["skipped_by"][0]["rows"] == 2);
    CHECK(json["skipped_by"][0]["first_line"] == 4);
    CHECK(json["error_of"] == "lower");
    // 0.125 and 0.5625
    CHECK(json["error"]["mean"].get<double>() == doctest::Approx((0.125 + 0.5625) / 2));
}

TEST_CASE("a row faster than its bound fails, unless its time was rounded that far") {
    CHECK(answer(std::string(head) + "all_gather,h100_sxm,8,450000,0.8,\n", 1)["below_lower"] == 1);
    CHECK(answer(std::string(head) + "all_gather,h100_sxm,8,450000,0.8,timer 1us\n")["below_lower"] == 0);
    CHECK(answer(std::string(head) + "all_gather,h100_sxm,8,450000,0.3,timer 1us\n", 1)["below_lower"] == 1);
}

TEST_CASE("the mean error may be limited") {
    const std::string table = std::string(head) + "all_gather,h100_sxm,8,450000,1,\n";  // 12.5 %
    CHECK(validate(table, Format::json, 0.13).exit_code == 0);
    CHECK(validate(table, Format::json, 0.12).exit_code == 1);
}

TEST_CASE("a table without a row to compare is a negative answer in every format") {
    for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
        const Response response = validate(head, format);
        CHECK(response.exit_code == 1);
        CHECK(!response.error);
        CHECK(!response.out.empty());
        CHECK(response.svg.find("</svg>") != std::string::npos);
    }
}

TEST_CASE("a table with more systems than anybody has is answered at once") {
    std::string table = head;
    for (int i = 0; i < 12'000; ++i) table += "all_gather,s" + std::to_string(i) + ",8,450,1,\n";
    const auto json = answer(std::move(table), 1);
    CHECK(json["skipped"] == 12'000);
    CHECK(json["skipped_by"].size() <= 1001);
}

TEST_CASE("no published time is below its bound") {
    for (const std::string name : {"collective_published.csv", "collective_measured.csv"}) {
        std::ifstream file("../shared/measured/" + name, std::ios::binary);
        if (!file) {
            MESSAGE("skipped: ../shared/measured/", name, " is not here");
            continue;
        }
        const auto json = answer({std::istreambuf_iterator<char>(file), {}});
        CHECK(json["below_lower"] == 0);
        CHECK(json["rows"].get<int>() + json["skipped"].get<int>() > 6000);
        // nothing is skipped but what data/systems.toml leaves out
        for (const auto& each : json["skipped_by"]) {
            CHECK(each["reason"].get<std::string>().find(" is left out: ") != std::string::npos);
        }
    }
}
