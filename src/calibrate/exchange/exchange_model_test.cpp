#include "calibrate/exchange/exchange_model.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

ExchangePoint point() {
    ExchangePoint point;
    point.members = 8;
    point.experts = 256;
    point.tokens = 100;
    point.row_s = 1e-8;
    point.by_choice = {700, 7e-6};
    point.by_chip = {460, 4.6e-6};
    point.chip_cores = 132;
    return point;
}

}  // namespace

TEST_CASE("the terms of an exchange add up") {
    ExchangeModel model;
    model.base_s = 10e-6;
    model.expert_s = 20e-9;
    model.row = 0.01;
    model.link = 0.5;
    model.core = 0.1;
    model.copy_s = 1e-6;
    model.read = 0.02;
    model.cores = 20;
    // 10 + 256 * 0.02 + 0.01 / 0.01 + 7 / 0.5 + (7 / 0.1 + 700 * 1 + 100 * 0.01 / 0.02) / 20
    CHECK(1e6 * seconds_of(model, point()) == approx((10 + 5.12 + 1 + 14 + (70 + 700 + 50) / 20.0)));
    model.once = true;
    CHECK(1e6 * seconds_of(model, point()) == approx((10 + 5.12 + 1 + 9.2 + (46 + 460 + 50) / 20.0)));
}

TEST_CASE("cores are those that are said, else the model's, else one for each few experts") {
    ExchangeModel model;
    ExchangePoint at = point();
    CHECK(cores_of(model, at) == 128);  // two experts for each of 128 cores, because one each would require 256 of 132
    at.experts = 160;
    CHECK(cores_of(model, at) == 80);
    at.experts = 8;
    CHECK(cores_of(model, at) == 8);
    model.cores = 20;
    CHECK(cores_of(model, at) == 20);
    at.cores = 4;
    CHECK(cores_of(model, at) == 4);
}
