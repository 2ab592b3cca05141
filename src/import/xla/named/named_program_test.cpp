#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/approx_test.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/named/named_program.hpp"
#include "import/xla/read_xla_module.hpp"
#include "notation/notation.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

/// The program as it was imported, and as it is written and parsed back.
struct WrittenModule {
    Program imported;
    std::string text;
    Program parsed;
};

WrittenModule write_module(const std::string& text, const std::string& name = "test.hlo") {
    const auto module = read_xla_module(text, name);
    REQUIRE_MESSAGE(module.has_value(), to_text(module.error()));
    XlaCostOptions options;
    options.multiply_loops = options.price_custom_calls = options.whole_ragged_dots = true;
    options.unknown = 0;
    const auto cost = xla_cost(*module, options);
    REQUIRE_MESSAGE(cost.has_value(), to_text(cost.error()));
    const auto imported = lower_module(*module, *cost, name);
    REQUIRE_MESSAGE(imported.has_value(), to_text(imported.error()));
    WrittenModule written{imported->program, print(name_dimensions(*module, *imported).program), {}};
    auto parsed = parse_program(written.text);
    CAPTURE(written.text.substr(0, 4000));
    REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
    written.parsed = std::move(*parsed);
    return written;
}

/// FLOPs by unit and dtype, bytes by level and direction, and bytes of collectives.
std::map<std::string, double> totals(const Program& program) {
    const auto work = derive_work(program);
    REQUIRE_MESSAGE(work.has_value(), to_text(work.error()));
    const auto value = [&](const Polynomial& polynomial) {
        const auto number = polynomial.evaluate(program.sizes);
        REQUIRE(number);
        return number->to_double();
    };
    std::map<std::string, double> totals;
    const auto add = [&](const std::string& key, double amount) {
        if (amount != 0) totals[key] += amount;
    };
    for (const ComputeWork& each : work->total.compute) {
        add(fmt::format("FLOPs {} {}", each.unit == Unit::matmul ? "matmul" : "vector", name(each.dtype)),
            value(each.flops));
    }
    add("transcendentals", value(work->total.transcendentals));
    for (const auto& [level, traffic] : work->total.memory) {
        add("read " + level, value(traffic.read));
        add("write " + level, value(traffic.write));
    }
    for (const MessageWork& each : work->total.messages) {
        add(fmt::format("{} over {}", collective_name(each.message.kind), fmt::join(each.message.axes, " ")),
            value(each.message.bytes) * value(each.count));
    }
    return totals;
}

void check_same_work(const WrittenModule& written) {
    CAPTURE(written.text.substr(0, 4000));
    const auto imported = totals(written.imported);
    const auto parsed = totals(written.parsed);
    for (const auto& [key, amount] : imported) {
        CAPTURE(key);
        const auto found = parsed.find(key);
        REQUIRE(found != parsed.end());
        CHECK(found->second == approx(amount).epsilon(1e-12));
    }
    CHECK(parsed.size() == imported.size());
}

// The text of a module, without the line of sizes.
std::string text_of(const std::string& hlo) {
    const WrittenModule written = write_module(hlo);
    check_same_work(written);
    return written.text;
}

std::string entry_of(const std::string& lines) { return "HloModule m\nENTRY main {\n" + lines + "\n}\n"; }

}  // namespace

TEST_CASE("a dimension has one name in all tensors, and a reshape that splits it shows its parts") {
    // Attention's projection: tokens x 512 times 512 x 768, seen as 12 heads of 64, and the product over the heads' 64.
    CHECK(text_of(entry_of("  x = bf16[100,512] parameter(0)\n"
                           "  w = bf16[512,768] parameter(1)\n"
                           "  p = bf16[100,768] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                           "  q = bf16[100,12,64] reshape(p)\n"
                           "  t = bf16[12,100,64] transpose(q), dimensions={1,0,2}\n"
                           "  ROOT s = bf16[12,100,100] dot(t, t), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                           "lhs_contracting_dims={2}, rhs_contracting_dims={2}")) ==
          "D100=100, D512=512, D12=12, D64=64, D100b=100\n"
          "X : bf16[D100, D512]\n"
          "W : bf16[D512, D12, D64]\n"
          "P : bf16[D100, D12, D64] = X * W\n"
          "fuse {\n"
          "    T : bf16[D12, D100, D64] = transpose(P)\n"
          "    T_2 : bf16[D12, D100b, D64] = view(T)\n"
          "    S : bf16[D12, D100, D100b] = T * T_2\n"
          "}\n");
}

TEST_CASE("what cannot be one dimension is another under a view") {
    // A reshape of 32 x 48 to 48 x 32 keeps no dimension, and neither size divides the other.
    CHECK(text_of(entry_of("  x = f32[32,48] parameter(0)\n"
                           "  y = f32[48,32] parameter(1)\n"
                           "  r = f32[48,32] reshape(x)\n"
                           "  ROOT s = f32[48,32] add(r, y)")) ==
          "D32b=32, D48b=48, D48=48, D32=32\n"
          "X : f32[D32b, D48b]\n"
          "Y : f32[D48, D32]\n"
          "X_2 : f32[D48, D32] = view(X)\n"
          "S : f32[D48, D32] = X_2 + Y\n");
}

namespace {

// A loop of five steps over x and w, whose body has these lines and ends with `y`.
std::string loop_of(const std::string& lines, const std::string& root) {
    return "HloModule m\n"
           "body {\n"
           "  p = (s32[], f32[32,64], f32[64,64]) parameter(0)\n"
           "  i = s32[] get-tuple-element(p), index=0\n"
           "  x = f32[32,64] get-tuple-element(p), index=1\n"
           "  w = f32[64,64] get-tuple-element(p), index=2\n"
           "  one = s32[] constant(1)\n"
           "  n = s32[] add(i, one)\n" +
           lines +
           "  ROOT t = (s32[], f32[32,64], f32[64,64]) tuple(n, y, w)\n"
           "}\n"
           "cond {\n"
           "  p = (s32[], f32[32,64], f32[64,64]) parameter(0)\n"
           "  i = s32[] get-tuple-element(p), index=0\n"
           "  k = s32[] constant(5)\n"
           "  ROOT c = pred[] compare(i, k), direction=LT\n"
           "}\n"
           "ENTRY main {\n"
           "  x = f32[32,64] parameter(0)\n"
           "  w = f32[64,64] parameter(1)\n"
           "  z = s32[] constant(0)\n"
           "  t = (s32[], f32[32,64], f32[64,64]) tuple(z, x, w)\n"
           "  l = (s32[], f32[32,64], f32[64,64]) while(t), condition=cond, body=body\n"
           "  y = f32[32,64] get-tuple-element(l), index=1\n" +
           root + "}\n";
}

}  // namespace

TEST_CASE("a loop assigns the name that it carries again") {
    CHECK(text_of(loop_of("  y = f32[32,64] tanh(x)\n", "  ROOT r = f32[32,64] negate(y)\n")) ==
          "D32=32, D64=64, D64b=64, D64c=64\n"
          "X : f32[D32, D64]\n"
          "W : f32[D64b, D64c]\n"
          "repeat 5 {\n"
          "    X : f32[D32, D64] = tanh(X)\n"
          "}\n"
          "R : f32[D32, D64] = neg(X)\n");
}

TEST_CASE("what a loop carries is copied where the array before it is needed later") {
    CHECK(text_of(loop_of("  y = f32[32,64] tanh(x)\n", "  ROOT r = f32[32,64] subtract(y, x)\n")) ==
          "D32=32, D64=64, D64b=64, D64c=64\n"
          "X : f32[D32, D64]\n"
          "W : f32[D64b, D64c]\n"
          "X_2 : f32[D32, D64] = X\n"
          "repeat 5 {\n"
          "    Y : f32[D32, D64] = tanh(X_2)\n"
          "    X_2 : f32[D32, D64] = Y\n"
          "}\n"
          "R : f32[D32, D64] = Y - X\n");
}

TEST_CASE("a loop that carries a matmul with a square matrix has its columns under the name of the rows before") {
    // Rows and columns of w are two dimensions of one tensor, so the columns of the result cannot be those of x.
    CHECK(text_of(loop_of("  y = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
                          "  ROOT r = f32[32,64] negate(y)\n")) ==
          "D32=32, D64b=64, D64=64\n"
          "X : f32[D32, D64b]\n"
          "W : f32[D64b, D64]\n"
          "X_2 : f32[D32, D64b] = X\n"
          "repeat 5 {\n"
          "    Y : f32[D32, D64] = X_2 * W\n"
          "    X_2 : f32[D32, D64b] = view(Y)\n"
          "}\n"
          "R : f32[D32, D64] = neg(Y)\n");
}

TEST_CASE("collectives of a partitioned module are written with their axes") {
    CHECK(text_of("HloModule m, num_partitions=8\n"
                  "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
                  "ENTRY main {\n"
                  "  x = f32[16,32] parameter(0)\n"
                  "  g = f32[64,32] all-gather(x), replica_groups=[2,4]<=[8], dimensions={0}\n"
                  "  ROOT r = f32[64,32] all-reduce(g), replica_groups=[4,2]<=[2,4]T(1,0), to_apply=sum\n}\n") ==
          "mesh X=4, Y=2\n"
          "D16=16, D32=32, D64=64\n"
          "X : f32[D16, D32]\n"
          "G : f32[D64, D32] = all_gather[X](X)\n"
          "R : f32[D64, D32] = all_reduce[Y](G)\n");
}

TEST_CASE("operations that the notation has in another way have the same work") {
    check_same_work(
        write_module(entry_of("  x = f32[8,128] parameter(0)\n"
                              "  ROOT y = f32[8] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                              "lhs_contracting_dims={1}, rhs_contracting_dims={1}")));
}

TEST_CASE("samples of modules are written, parse back and have the same work") {
    bool any = false;
    for (const std::string folder : {"../shared/samples/hlo", "../shared/samples/stablehlo"}) {
        std::error_code error;
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        for (const std::string& file : files) {
            std::ifstream in(file, std::ios::binary);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            const auto module = read_xla_module(text, file);
            if (!module) continue;  // several modules in one file
            CAPTURE(file);
            any = true;
            check_same_work(write_module(text, file));
        }
    }
    if (!any) MESSAGE("skipped: ../shared/samples is not here");
}
