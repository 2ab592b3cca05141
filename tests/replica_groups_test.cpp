// Tests of replica groups against the expansions that XLA's own tests assert, if that collection of cases is available.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "network/replica_groups.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

// The collection writes a mesh as `mesh[6,6] a:(1)3`, with axes named in order from a or from x; this function returns
// the text that XLA prints.
std::string as_printed(const std::string& text) {
    if (!text.starts_with("mesh[")) return text;
    const std::size_t end = text.find(']');
    std::string axes = text.substr(end + 2);
    if (axes.starts_with("axis ")) axes.erase(0, 5);
    if (axes.starts_with("axes ")) axes.erase(0, 5);
    char name = axes.at(0) < 'x' ? 'a' : 'x';
    std::string mesh = "mesh[";
    std::istringstream sizes(text.substr(5, end - 5));
    for (std::string size; std::getline(sizes, size, ',');) {
        if (mesh.back() != '[') mesh += ",";
        mesh += std::string("'") + name++ + "'=" + size;
    }
    mesh += "] {";
    std::istringstream parts(axes);
    for (std::string part; std::getline(parts, part, ',');) {
        if (mesh.back() != '{') mesh += ",";
        mesh += std::string("'") + part.at(0) + "'" + part.substr(1);
    }
    return mesh + "}";
}

}  // namespace

TEST_CASE("replica groups: the collected cases") {
    const auto golden = shared_text("cases/replica_groups_golden.json");
    if (!golden) return;
    const auto cases = nlohmann::json::parse(*golden, nullptr, false);
    REQUIRE(cases.is_array());
    CHECK(!cases.empty());
    for (const auto& each : cases) {
        const std::string text = each.value("text", "");
        CAPTURE(text);
        const auto groups = parse_replica_groups(as_printed(text));
        REQUIRE_MESSAGE(groups.has_value(), to_text(groups.error()));
        std::vector<std::vector<std::int64_t>> written(static_cast<std::size_t>(groups->groups));
        for (std::int64_t g = 0; g < groups->groups; ++g) {
            for (std::int64_t i = 0; i < groups->size; ++i) {
                written[static_cast<std::size_t>(g)].push_back(groups->member(g, i));
            }
        }
        CHECK(written == each.value("groups", std::vector<std::vector<std::int64_t>>{}));
    }
}
