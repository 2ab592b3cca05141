#include "app/recovery_option.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include "base/approx_test.hpp"

namespace roofline::core {

namespace {

TrainRequest request_with(std::string TrainRequest::* field, const char* value) {
    TrainRequest request;
    request.tokens = "1T";
    request.storage = "2TB/s";
    request.*field = value;
    return request;
}

}  // namespace

TEST_CASE("rates of interruptions are per 1,000 chip-days or have a unit") {
    CHECK(*parse_failures("86.4") == approx(1e-6));
    CHECK(*parse_failures("86.4/1000chip-days") == approx(1e-6));
    CHECK(*parse_failures(" 3.6e-3 /chip-hour") == approx(1e-6));
    CHECK(*parse_failures("0.0864/chip-day") == approx(1e-6));
    CHECK(*parse_failures("31.5576/chip-year") == approx(1e-6));
    for (const char* wrong : {"", "0", "-1", "nan", "inf", "1/day", "1 per chip", "x", "1e-320", "5%", "0x10"}) {
        CHECK_FALSE_MESSAGE(parse_failures(wrong), wrong);
    }
}

TEST_CASE("options of interruptions and checkpoints") {
    CHECK_FALSE(recovery_option(TrainRequest{})->has_value());
    const auto plain = recovery_option(request_with(&TrainRequest::storage, "2TB/s"));
    REQUIRE(plain);
    CHECK((*plain)->bandwidth == approx(2e12));
    CHECK((*plain)->blocking);
    CHECK_FALSE((*plain)->interruptions);
    CHECK_FALSE((*plain)->restart_s);
    CHECK((*recovery_option(request_with(&TrainRequest::restart, "10min")))->restart_s == approx(600));
    for (const char* wrong : {"10", "1e1", "-5min", "10GB", "min"}) {
        CHECK_FALSE_MESSAGE(recovery_option(request_with(&TrainRequest::restart, wrong)), wrong);
    }
    for (const char* wrong : {"0", "2TB", "-1GB/s", "fast"}) {
        CHECK_FALSE_MESSAGE(recovery_option(request_with(&TrainRequest::storage, wrong)), wrong);
    }
}

TEST_CASE("options of interruptions need the tokens of the run and a storage") {
    TrainRequest request = request_with(&TrainRequest::failures, "1");
    CHECK(recovery_option(request));
    request.storage.clear();
    CHECK(recovery_option(request).error().hint.find("--storage") != std::string::npos);
    request.storage = "1TB/s";
    request.tokens.clear();
    CHECK(recovery_option(request).error().hint.find("--tokens") != std::string::npos);
    TrainRequest alone;
    alone.tokens = "1T";
    alone.async_checkpoints = true;
    CHECK_FALSE(recovery_option(alone));
}

}  // namespace roofline::core
