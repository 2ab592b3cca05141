#include <doctest/doctest.h>

#include "import/xla/named/dim_classes.hpp"

using namespace roofline::core;

namespace {

/// Tensors by their sizes.
struct Tensors {
    DimClasses classes;

    std::vector<DimClasses::Id> add(const std::vector<std::int64_t>& sizes) {
        const std::uint32_t owner = classes.owner();
        std::vector<DimClasses::Id> ids;
        for (const std::int64_t size : sizes) ids.push_back(classes.add(size, owner));
        return ids;
    }
    std::vector<std::int64_t> sizes(const std::vector<DimClasses::Id>& dims) {
        std::vector<std::int64_t> sizes;
        for (const DimClasses::Id id : classes.parts(dims)) sizes.push_back(classes.size(id));
        return sizes;
    }
};

using Sizes64 = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("dimensions that are tied are the same, and others of the same size are not") {
    Tensors tensors;
    const auto a = tensors.add({4, 8});
    const auto b = tensors.add({4, 8});
    const auto c = tensors.add({4, 8});
    CHECK(tensors.classes.tie(a, b));
    CHECK(tensors.classes.parts(a) == tensors.classes.parts(b));
    CHECK(tensors.classes.parts(a) != tensors.classes.parts(c));
}

TEST_CASE("a dimension that is tied to several is made of them, wherever it is") {
    Tensors tensors;
    const auto flat = tensors.add({6, 4096});
    const auto other = tensors.add({4096, 10});
    const auto heads = tensors.add({6, 32, 128});
    CHECK(tensors.classes.tie({&flat[1], 1}, {&other[0], 1}));
    CHECK(tensors.classes.tie(flat, heads));
    CHECK(tensors.sizes(other) == Sizes64{32, 128, 10});
    CHECK(tensors.classes.parts(flat) == tensors.classes.parts(heads));

    SUBCASE("it can be made of more parts later") {
        const auto groups = tensors.add({6, 8, 512});
        CHECK(tensors.classes.tie(flat, groups));
        CHECK(tensors.sizes(other) == Sizes64{8, 4, 128, 10});
        CHECK(tensors.sizes(groups) == Sizes64{6, 8, 4, 128});
    }
    SUBCASE("parts that cross each other are not tied, and what follows is") {
        const auto crossing = tensors.add({6, 48, 2});  // of 96 = 32 x 3: the 32 and the 48 have no common boundary
        const auto three = tensors.add({6, 32, 3});
        CHECK_FALSE(tensors.classes.tie(crossing, three));
        CHECK(tensors.classes.parts({&crossing[0], 1}) == tensors.classes.parts({&three[0], 1}));
        CHECK(tensors.sizes(crossing) == Sizes64{6, 48, 2});
    }
    SUBCASE("unless it is kept whole") {
        const auto mask = tensors.add({7, 4});
        tensors.classes.keep_whole(mask[1]);
        const auto two = tensors.add({7, 2, 2});
        CHECK_FALSE(tensors.classes.tie(mask, two));
        CHECK(tensors.sizes(mask) == Sizes64{7, 4});
    }
}

TEST_CASE("two dimensions of one tensor are never the same") {
    Tensors tensors;
    const auto square = tensors.add({8, 8});
    const auto row = tensors.add({8, 3});
    CHECK(tensors.classes.tie({&square[0], 1}, {&row[0], 1}));
    CHECK_FALSE(tensors.classes.tie({&square[1], 1}, {&row[0], 1}));
    CHECK(tensors.classes.parts({&square[0], 1}) != tensors.classes.parts({&square[1], 1}));
}
