#include "report/figure.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace roofline::core;

namespace {

/// A made-up answer: a car trip, possibly with a stop.
struct Stop {
    double seconds = 0;
    std::string where;
};
struct Trip {
    std::string car;
    std::int64_t wheels = 4;
    double distance = 0;
    std::optional<bool> arrived;
    std::optional<Stop> stop;
    std::optional<double> usd;
};

constexpr AnswerFigure<Trip> trip_figures[] = {
    {"car", "the car", nullptr, [](const Trip& trip) -> FigureValue { return trip.car; }},
    {"parts.wheels", "wheels", in_groups, [](const Trip& trip) -> FigureValue { return trip.wheels; }},
    {"distance", "", in_whole, [](const Trip& trip) -> FigureValue { return trip.distance; }},
    {"arrived", "arrived", nullptr, [](const Trip& trip) { return figure_value(trip.arrived); }},
    {"stop", "", in_seconds, [](const Trip& trip) { return group_value(trip.stop.has_value()); }},
    {"stop.time_s", "stood", in_seconds,
     [](const Trip& trip) { return trip.stop ? FigureValue(trip.stop->seconds) : FigureValue(); }},
    {"stop.where", "at", nullptr,
     [](const Trip& trip) { return trip.stop ? optional_string(trip.stop->where) : FigureValue(); },
     [](const Trip& trip) { return trip.stop ? "near " + trip.stop->where : std::string("-"); }},
    {"by", "", in_seconds,
     [](const Trip& trip) {
         FigureValue times = FigureValue::object();
         if (trip.wheels == 4) times["road"] = 1.5;
         if (trip.wheels == 0) times["water"] = 2.5;
         return times;
     }},
    {"by.road", "by road", in_seconds, nullptr},
    {"usd", "USD", in_three_digits, [](const Trip& trip) { return figure_value(trip.usd); }},
    {"secret", "", nullptr, [](const Trip&) { return omitted_value(); }},
    {"#speed", "speed", nullptr, [](const Trip&) -> FigureValue { return "fast"; }},
    {"words", "", nullptr, [](const Trip&) -> FigureValue { return std::vector<std::string>{"a", "b"}; }},
};

const Trip by_land{"T", 4, 1234.5, true, Stop{0.00175, "X"}, std::nullopt};
const Trip by_water{"S", 0, 1e7 / 3, std::nullopt, std::nullopt, std::nullopt};

}  // namespace

TEST_CASE("figures as JSON: nested by path, in their order, null for nothing") {
    CHECK(dumped(json_of(trip_figures, by_land)) ==
          R"({"car":"T","parts":{"wheels":4},"distance":1234.5,"arrived":true,)"
          R"("stop":{"time_s":0.00175,"where":"X"},"by":{"road":1.5},"usd":null,"words":["a","b"]})");
    Trip trip = by_water;
    trip.distance = std::numeric_limits<double>::infinity();
    CHECK(dumped(json_of(trip_figures, trip)) == R"({"car":"S","parts":{"wheels":0},"distance":null,"arrived":null,)"
                                                 R"("stop":null,"by":{"water":2.5},"usd":null,"words":["a","b"]})");
}

TEST_CASE("figures as a table: a row for each answer, a column for each member of a structure") {
    constexpr FigureColumn columns[] = {{"car"},
                                        {"parts.wheels"},
                                        {"distance", "m"},
                                        {"arrived"},
                                        {"stop.where", "where", true},
                                        {"by", "time_*_s"},
                                        {"#speed", "speed"},
                                        {"words"},
                                        {"usd"}};
    static_assert(named(trip_figures, columns));
    const std::vector<Trip> trips{by_land, by_water};
    CHECK(table_csv(figure_table(trip_figures, columns, trips)) ==
          "car,wheels,m,arrived,where,time_road_s,time_water_s,speed,words,usd\n"
          "T,4,1234.5,yes,near X,1.5,,fast,a b,\n"
          "S,0,3333333.3333333335,,-,,2.5,fast,a b,\n");
    constexpr FigureColumn some[] = {{"distance"}, {"arrived"}};
    const Table table = figure_table(trip_figures, some, trips, {6, "1", "0"});
    CHECK(table_csv(table) == "distance,arrived\n1234.5,1\n3.33333e+06,\n");
    CHECK(table.right == std::vector<bool>{true, false});
}

TEST_CASE("a comparison has a line for each figure, and omits optional figures that no answer has") {
    constexpr FigureLine lines[] = {{"parts.wheels"}, {"arrived"}, {"stop.time_s"}, {"stop.where"},
                                    {"by.road"},      {"usd"},     {"usd", true}};
    const std::vector<Trip> trips{by_land, by_water};
    const auto heading = [](const Trip& trip) { return trip.car; };
    CHECK(table_text(comparison_table(trip_figures, lines, trips, heading)) ==
          "               T  S\n"
          "wheels         4  0\n"
          "arrived      yes  -\n"
          "stood    1.75 ms  -\n"
          "at        near X  -\n"
          "by road    1.5 s  -\n"
          "USD            -  -\n");
}

TEST_CASE("a misspelt key is no figure's") {
    constexpr FigureColumn columns[] = {{"car"}, {"wheel"}};
    static_assert(!named(trip_figures, columns));
}

TEST_CASE("notes that several answers have are said once") {
    CHECK(notes_once({{"a", "b"}, {"b", "c"}}) == "  note: a\n  note: b\n  note: c\n");
    CHECK(machines_json({"{}", "1"}) == "{\"schema\":1,\"machines\":[{},1]}\n");
}
