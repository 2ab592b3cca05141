#include "report/measure/measure_report.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

MeasureReport example() {
    MeasureReport report;
    report.title = "Invented 2000, 2 threads";
    report.machine = "this";
    report.date = "2026-02-03";
    report.method = "by hand";
    MeasuredTable table{"peaks", "Peaks, GFLOP/s", {{"dtype", "dtype"}, {"p95_per_s", "p95"}}, {}};
    table.rows = {{measured_text("f32"), measured_number("200", 2e11)}, {measured_text("f64"), MeasuredCell{}}};
    MeasuredTable detail{"points", "Points", {{"size", "size"}}, {{measured_number("1", 1)}}, {}, true};
    report.tables = {table, detail};
    report.warnings = {"it was busy"};
    report.notes = {"without hwloc"};
    report.file = "this.toml";
    report.next = "use it";
    return report;
}

}  // namespace

TEST_CASE("a report in text has warnings before figures, and dashes for what there is not") {
    CHECK(measure_report(example(), Format::text, false) ==
          "Invented 2000, 2 threads\n"
          "  by hand, 2026-02-03\n"
          "\n"
          "  warning: it was busy\n"
          "\n"
          "  Peaks, GFLOP/s\n"
          "    dtype  p95\n"
          "    f32    200\n"
          "    f64      -\n"
          "\n"
          "  note: without hwloc\n"
          "\n"
          "  written to this.toml\n"
          "  use it\n");
}

TEST_CASE("JSON has numbers in base units and null for what there is not") {
    CHECK(measure_report(example(), Format::json, false) ==
          R"({"schema":1,"machine":"this","name":"Invented 2000, 2 threads","date":"2026-02-03","method":"by hand",)"
          R"("peaks":[{"dtype":"f32","p95_per_s":200000000000.0},{"dtype":"f64","p95_per_s":null}],)"
          R"("points":[{"size":1.0}],"warnings":["it was busy"],"notes":["without hwloc"],"file":"this.toml"})"
          "\n");
}

TEST_CASE("CSV has a line for every cell, Markdown the tables") {
    CHECK(measure_report(example(), Format::csv, false) ==
          "table,row,column,value\n"
          "peaks,0,dtype,f32\n"
          "peaks,0,p95_per_s,2e11\n"
          "peaks,1,dtype,f64\n"
          "points,0,size,1\n");
    const std::string markdown = measure_report(example(), Format::markdown, false);
    CHECK(markdown.find("### Peaks, GFLOP/s") != std::string::npos);
    CHECK(markdown.find("| f32") != std::string::npos);
    CHECK(markdown.find("**Warning:** it was busy") != std::string::npos);
}
