#include "text/csv.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

using Rows = std::vector<std::vector<std::string>>;

Result<Rows> rows_of(std::string_view text) {
    auto reader = CsvReader::open(text, "t.csv");
    if (!reader) return fail(reader.error());
    Rows rows{reader->header()};
    while (true) {
        const auto more = reader->next();
        if (!more) return fail(more.error());
        if (!*more) return rows;
        rows.emplace_back();
        for (const CsvField& field : reader->record()) rows.back().emplace_back(field.text);
    }
}

struct Wrong {
    std::string_view text;
    int line;
    int column;
    std::string_view says;
};

}  // namespace

TEST_CASE("records are read as in RFC 4180") {
    CHECK(*rows_of("a,b\n1,2\n") == Rows{{"a", "b"}, {"1", "2"}});
    CHECK(*rows_of("a,b\r\n1,2\r\n\r\n,\r\n") == Rows{{"a", "b"}, {"1", "2"}, {"", ""}});
    CHECK(*rows_of("\xEF\xBB\xBF"
                   "a,b\n1,2") == Rows{{"a", "b"}, {"1", "2"}});
    CHECK(*rows_of("a,b\n\"x, \"\"y\"\"\",\"\"\n") == Rows{{"a", "b"}, {"x, \"y\"", ""}});
    CHECK(*rows_of("a,b\n\"1\r\n2\",\"\"\"\"\n") == Rows{{"a", "b"}, {"1\r\n2", "\""}});
    CHECK(*rows_of("a\n\n\n1") == Rows{{"a"}, {"1"}});
    CHECK(*rows_of(" a ,\"b\"\n1, 2\n") == Rows{{"a", "b"}, {"1", " 2"}});
    CHECK(*rows_of("a\nµs\n") == Rows{{"a"}, {"µs"}});
}

TEST_CASE("many doubled quotes in one record keep their texts") {
    std::string header = "c0";
    std::string row = "\"\"\"0\"\"\"";
    for (int i = 1; i < 400; ++i) {
        header += ",c" + std::to_string(i);
        row += ",\"\"\"" + std::to_string(i) + "\"\"\"";
    }
    const auto rows = rows_of(header + "\n" + row + "\n");
    REQUIRE(rows);
    for (std::size_t i = 0; i < 400; ++i) CHECK((*rows)[1][i] == "\"" + std::to_string(i) + "\"");
}

TEST_CASE("errors in a table are reported with their place") {
    const Wrong cases[] = {
        {"a,b\n1\n", 2, 2, "this line has 1 field, but the header has 2"},
        {"a,b\n1,2,3\n", 2, 5, "this line has 3 fields, but the header has 2"},
        {"a,b\n\"x\ny\",1\n1,2\n3,4\"5\n", 5, 4, "a field that does not begin with a quote contains one"},
        {"a,b\n1,\"2\n3\n", 2, 3, "never closed"},
        {"a,b\n1,\"2\"3\n", 2, 6, "after the closing quote"},
        {"a,b\n1,2\rb\n", 2, 4, "carriage return"},
        {"a,b\n1,2\xFF\n", 2, 4, "0xFF"},
        {"a,b\n1,\x1b[2J\n", 2, 3, "U+001B"},
        {"a,,b\n", 1, 3, "column 2 has no name"},
        {"a,b,a\n", 1, 5, "two columns `a`"},
    };
    for (const Wrong& each : cases) {
        CAPTURE(each.text);
        const auto rows = rows_of(each.text);
        REQUIRE(!rows);
        REQUIRE(rows.error().place);
        CHECK(rows.error().place->source == "t.csv");
        CHECK(rows.error().place->line == each.line);
        CHECK(rows.error().place->column == each.column);
        CHECK(rows.error().message.find(each.says) != std::string::npos);
    }
    CHECK(rows_of("").error().code == "empty_table");
    CHECK(rows_of("\n\r\n").error().code == "empty_table");
    CHECK(rows_of(std::string("a,b\n1,\0\n", 9)).error().code == "not_text");
    CHECK(rows_of("a\n" + std::string(1'000'001, 'x')).error().message.find("1000000 bytes") != std::string::npos);
    CHECK(rows_of(std::string(1000, ',')).error().message.find("more than 1000 fields") != std::string::npos);
}

TEST_CASE("lines are counted through quoted line ends") {
    auto reader = CsvReader::open("a,b\n\"1\n2\n3\",4\n\n5,6\n", "t.csv");
    REQUIRE(reader);
    REQUIRE(reader->next());
    CHECK(reader->line() == 2);
    REQUIRE(reader->next());
    CHECK(reader->line() == 6);
}
