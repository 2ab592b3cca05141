#include <doctest/doctest.h>

#include <string>

#include "import/xla/named/named_program.hpp"
#include "import/xla/read_xla_module.hpp"
#include "import/xla/sharding/module_sharding.hpp"
#include "import/xla/sharding/xla_sharding.hpp"
#include "program/program.hpp"

using namespace roofline::core;

namespace {

// "4@1 | 2@16 4@4": by dimension, how many devices at which distance.
std::string distances(const std::optional<XlaSharding>& sharding) {
    if (!sharding) return "none";
    std::string text;
    for (const auto& dim : sharding->dims) {
        if (&dim != &sharding->dims.front()) text += " |";
        for (const StridedDim& part : dim) {
            text += (text.empty() ? "" : " ") + std::to_string(part.count) + "@" + std::to_string(part.stride);
        }
    }
    return text;
}

XlaModule module_of(const std::string& text) {
    auto module = read_xla_module(text, "test");
    REQUIRE_MESSAGE(module.has_value(), to_text(module.error()));
    return std::move(*module);
}

// The types of the arrays that a module says how to split, by name.
std::string types_of(const std::string& text, const std::vector<MeshAxis>& mesh = {}) {
    const XlaModule module = module_of(text);
    const auto cost = xla_cost(module, {});
    REQUIRE(cost);
    ImportOptions options;
    options.keep_constraints = true;
    const auto imported = lower_module(module, *cost, "test", options);
    REQUIRE(imported);
    const auto sharding = module_sharding(module, *imported, mesh);
    if (!sharding) return sharding.error().message;
    const Program program = name_dimensions(module, *imported, &*sharding).program;
    std::string all = mesh_text(program.mesh) + "\n";
    for (const Value& value : program.values) {
        if (!value.type_follows && !value.intermediate) all += value.name + " " + type_text(program, value.type) + "\n";
    }
    return all;
}

const std::string mlp =
    "module @jit_mlp attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>\n"
    "  func.func public @main(%arg0: tensor<1024x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}, "
    "%arg1: tensor<512x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"model\"}]>}, "
    "%arg2: tensor<2048x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"model\"}, {}]>}) "
    "-> (tensor<1024x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}) {\n"
    "    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : "
    "(tensor<1024x512xf32>, tensor<512x2048xf32>) -> tensor<1024x2048xf32>\n"
    "    %1 = stablehlo.tanh %0 : tensor<1024x2048xf32>\n"
    "    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : "
    "(tensor<1024x2048xf32>, tensor<2048x512xf32>) -> tensor<1024x512xf32>\n"
    "    return %2 : tensor<1024x512xf32>\n"
    "  }\n"
    "}\n";

}  // namespace

// Shardy's import of these shardings, shardy/import/test/import_shardings.mlir, over a mesh of 2 x 4 x 4: "_axis_0" are
// devices 16 apart, "_axis_1" 4, "_axis_2" 1.
TEST_CASE("tiles of devices are at the distances that Shardy finds") {
    CHECK(distances(read_tile_sharding("{devices=[4,8]<=[8,4]T(1,0)}")) == "4@1 | 8@4");
    CHECK(distances(read_tile_sharding("{devices=[1,2,16]<=[32] last_tile_dim_replicate}")) == " | 2@16");
    CHECK(distances(read_tile_sharding("{devices=[4,4,2]<=[2,16]T(1,0) last_tile_dim_replicate}")) == "4@4 | 4@1");
    CHECK(distances(read_tile_sharding("{devices=[1,8,4]<=[2,4,4]T(0,2,1) last_tile_dim_replicate}")) == " | 2@16 4@1");
    CHECK(distances(read_tile_sharding("{devices=[8,1,4]<=[2,4,4]T(1,0,2) last_tile_dim_replicate}")) == "4@4 2@16 |");
    CHECK(distances(read_tile_sharding("{replicated}")).empty());
    CHECK(distances(read_tile_sharding("{devices=[2,2]0,2,1,3}")) == "2@1 | 2@2");
}

TEST_CASE("shardings that are not understood are none") {
    for (const char* text : {"{maximal device=3}", "{manual}", "{devices=[2,2]0,1,3,2}", "{devices=[3]<=[4]}",
                             "{devices=[4,2]<=[8]T(1,0)}", "{devices=[2,2]<=[4] last_tile_dims={manual}}", "{devices=[",
                             "{devices=[2]<=[2,99999999999]}", ""}) {
        CAPTURE(text);
        CHECK_FALSE(read_tile_sharding(text).has_value());
    }
}

TEST_CASE("axes of Shardy may be parts of axes") {
    const std::map<std::string, ShardyMesh, std::less<>> meshes{{"mesh", {{"x", 8}, {"y", 2}}}};
    const auto read = [&](std::string_view text) {
        const auto all = read_shardy_shardings(text, meshes);
        return all.size() == 1 ? distances(all.front()) : std::to_string(all.size());
    };
    CHECK(read("#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>") == "8@2 | 2@1");
    CHECK(read("#sdy.sharding<@mesh, [{\\\"x\\\":(2)2, \\\"y\\\"}, {}]>") == "2@4 2@1 |");
    CHECK(read("#sdy.sharding_per_value<[<@mesh, [{}, {\"y\"}], replicated={\"x\"}>]>") == " | 2@1");
    CHECK(read("#sdy.sharding<@other, [{\"x\"}]>") == "none");
    CHECK(read("#sdy.sharding<@mesh, [{\"z\"}]>") == "none");
    CHECK(read("#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{\"x\"}]>]>") == "2");
    CHECK(read_shardy_shardings("#sdy.sharding<@mesh, [{?}]>", meshes).front()->open);
}

TEST_CASE("the shardings of a module become subscripts, and what is between is free") {
    CHECK(is_before_partitioning(module_of(mlp)));
    CHECK(types_of(mlp) ==
          "model=2, data=4\n"
          "Arg0 f32[D1024_{data}, D512b]\n"
          "Arg1 f32[D512b, D2048_{model}]\n"
          "Arg2 f32[D2048_{model}, D512]\n"
          "Result0 f32[D1024_{data}, D512]\n");
    SUBCASE("with other names, or other sizes of the module's own axes") {
        CHECK(types_of(mlp, {{"X", 4, {}}, {"Y", 2, {}}}).starts_with("Y=2, X=4\nArg0 f32[D1024_X, D512b]\n"));
        CHECK(types_of(mlp, {{"data", 16, {}}, {"model", 4, {}}}).starts_with("model=4, data=16\nArg0"));
        CHECK(types_of(mlp, {{"X", 8, {}}}) ==
              "the shardings of the module are not along the axes of the mesh that is given");
    }
}

TEST_CASE("a dimension that is made of several is split from the outermost on") {
    // 512 is 8 heads of 64: four devices take two heads each, and sixteen half a head.
    const auto text = [](const std::string& devices) {
        return "HloModule m, num_partitions=16\nENTRY main {\n"
               "  x = f32[100,512] parameter(0), sharding={devices=[1," +
               devices +
               "}\n"
               "  y = f32[100,8,64] parameter(1)\n"
               "  r = f32[100,8,64] reshape(x)\n"
               "  ROOT s = f32[100,8,64] add(r, y)\n}\n";
    };
    CHECK(types_of(text("4,4]<=[4,4]T(1,0) last_tile_dim_replicate")).find("X f32[D100, D8_X, D64]") !=
          std::string::npos);
    CHECK(types_of(text("16]<=[2,8]T(1,0)")).find("X f32[D100, D8_X, D64_Y]") != std::string::npos);
}

TEST_CASE("modules of one device, or in part of one, are no modules from before partitioning") {
    CHECK_FALSE(is_before_partitioning(module_of("HloModule m\nENTRY main {\n  ROOT x = f32[8] parameter(0)\n}\n")));
    CHECK_FALSE(is_before_partitioning(
        module_of("HloModule m, num_partitions=2\nENTRY main {\n"
                  "  x = f32[8] parameter(0), sharding={devices=[2]<=[2]}\n"
                  "  ROOT y = f32[16] all-gather(x), replica_groups={{0,1}}, dimensions={0}\n}\n")));
}
