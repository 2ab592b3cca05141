#include "program/local_dims.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "program/program.hpp"

using namespace roofline::core;

namespace {

const Sizes sizes{{"B", 10}, {"S", 10}, {"W", 4}};

Rational at_sizes(const Polynomial& polynomial) { return polynomial.evaluate(sizes).value(); }

}  // namespace

TEST_CASE("parts of dimensions are shown by their dimension, the number of shards and the halo") {
    CHECK(LocalDim{"S"}.name() == "S");
    CHECK(LocalDim{"S", 4}.name() == "S/4");
    CHECK(LocalDim{"S", 4, Halo{"W"}}.name() == "S/4+W-1");
    CHECK(LocalDim{"S", 1, Halo{"W"}}.name() == "S+W-1");
    CHECK(LocalDim{"S", 4, Halo{"", 1}}.name() == "S/4+1");
    CHECK(LocalDim{"S", 4, Halo{}}.name() == "S/4+0");  // taps that have no dimension of their own
}

TEST_CASE("a chip has a whole number of positions of a dimension, and those of the halo") {
    CHECK(at_sizes(LocalDim{"S"}.size()) == Rational(10));
    CHECK(at_sizes(LocalDim{"S", 4}.size()) == Rational(3));                 // 10 / 4, rounded up
    CHECK(at_sizes(LocalDim{"S", 4, Halo{"W"}}.size()) == Rational(3 + 3));  // 4 - 1 positions beside them
    CHECK(at_sizes(LocalDim{"S", 1, Halo{"", 2}}.size()) == Rational(10 + 2));
    CHECK(LocalDim{"S", 4, Halo{"W"}}.symbol() == Symbol{"S", 4});
}

TEST_CASE("names stand for the parts that were added; any other name is that of a whole dimension") {
    LocalDims local;
    CHECK(local.add({"B"}) == "B");
    CHECK(local == LocalDims{});
    CHECK(local.add({"B", 2}) == "B/2");
    CHECK(local.add({"S", 4, Halo{"W"}}) == "S/4+W-1");
    REQUIRE(local.find("B/2") != nullptr);
    CHECK(*local.find("B/2") == LocalDim{"B", 2});
    CHECK(*local.find("S/4+W-1") == LocalDim{"S", 4, Halo{"W"}});
    CHECK(local.find("B") == nullptr);
    CHECK(local.symbol("S/4+W-1") == Symbol{"S", 4});
    CHECK(local.symbol("B") == Symbol{"B", 1});
    CHECK(local.whole("S/4+W-1") == "S");
    CHECK(local.whole("B") == "B");
    CHECK(local.has_halo("S/4+W-1"));
    CHECK_FALSE(local.has_halo("B/2"));
    CHECK_FALSE(local.has_halo("B"));
    CHECK(at_sizes(local.size("S/4+W-1")) == Rational(6));
    CHECK(at_sizes(local.size("B")) == Rational(10));
    // a name that nobody added is not parsed
    CHECK(local.find("B/5") == nullptr);
    CHECK(local.symbol("B/5") == Symbol{"B/5", 1});
}

TEST_CASE("a part with a halo brings the same part without it") {
    LocalDims local;
    (void)local.add({"S", 4, Halo{"W"}});
    (void)local.add({"B", 1, Halo{"W"}});
    CHECK(local.without_halo("S/4+W-1") == "S/4");
    CHECK(local.symbol("S/4") == Symbol{"S", 4});
    CHECK(local.without_halo("S/4") == "S/4");
    CHECK(local.without_halo("B+W-1") == "B");
    CHECK(local.find("B") == nullptr);
}

TEST_CASE("elements of tensors count the positions of halos, their bytes and points count shards") {
    LocalDims local;
    const std::string shard = local.add({"S", 4});
    const std::string wide = local.add({"S", 4, Halo{"W"}});
    CHECK(at_sizes(elements(local, {"B", shard})) == Rational(10 * 3));
    CHECK(at_sizes(elements(local, {"B", wide})) == Rational(10 * (3 + 3)));
    CHECK(points(local, {"B", shard}) == elements(local, {"B", shard}));
    CHECK(points(local, {"B", wide}) == Polynomial::dim("B") * Polynomial::dim(wide));
    Value value;
    value.type.dtype = Dtype::bf16;
    value.type.axes = {{"B", {}}, {shard, {}}};
    CHECK(at_sizes(bytes_of(local, value)) == Rational(2 * 10 * 3));
}
