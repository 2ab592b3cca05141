#include "text/yaml.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

FileValue yaml_of(const std::string& text) {
    auto value = parse_yaml(text, "a.yml");
    REQUIRE_MESSAGE(value, value.error().message);
    return std::move(*value);
}

Error yaml_error(const std::string& text) {
    const auto value = parse_yaml(text, "a.yml");
    REQUIRE_FALSE(value);
    return value.error();
}

std::string repeated(const std::string& part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

}  // namespace

TEST_CASE("YAML has tables, lists and the words of PyYAML") {
    const FileValue root = yaml_of(
        "# a comment\n"
        "tensor_parallel_size: 8\n"
        "kv_cache_config:\n"
        "  dtype: fp8\n"
        "  free_gpu_memory_fraction: 0.85\n"
        "enable: yes\nquoted: 'yes'\nsteps: 150_001\neps: 1.e-8\nnothing: ~\nempty:\nname: \"a: b\"\n"
        "sizes: [1, 2, 4]\nlong:\n- a\n- {b: c}\noctal: 010\nnumber: -1\ntext: 8x\nbig: 1e999\n");
    CHECK(root.find("tensor_parallel_size")->whole == 8);
    CHECK(root.find("tensor_parallel_size")->offset == 34);  // 12 + 1 of the first line, 22 of its key and colon
    CHECK(root.find("kv_cache_config")->find("dtype")->text == "fp8");
    CHECK(root.find("kv_cache_config")->find("free_gpu_memory_fraction")->real == 0.85);
    CHECK(root.find("enable")->is(FileValue::Kind::boolean));
    CHECK(root.find("enable")->boolean);
    CHECK(root.find("quoted")->text == "yes");
    CHECK(root.find("steps")->whole == 150001);
    CHECK(root.find("eps")->real == 1e-8);
    CHECK(root.find("nothing")->is_null());
    CHECK(root.find("empty")->is_null());
    CHECK(root.find("name")->text == "a: b");
    CHECK(root.find("sizes")->items.size() == 3);
    CHECK(root.find("long")->items[1].find("b")->text == "c");
    CHECK(root.find("octal")->text == "010");  // YAML 1.1 reads 8
    CHECK(root.find("number")->whole == -1);
    CHECK(root.find("text")->text == "8x");
    CHECK(root.find("big")->text == "1e999");
    CHECK(yaml_of("").is(FileValue::Kind::table));
    CHECK(yaml_of("# only a comment\n").is(FileValue::Kind::table));
    CHECK(yaml_of("\xEF\xBB\xBF"
                  "a: 1")
              .find("a")
              ->offset == 6);
    CHECK(yaml_of("ä: ö\nb: 2").find("b")->offset == 10);  // two characters of two bytes
}

TEST_CASE("hostile YAML is an error with its place") {
    Error error = yaml_error("a: 1\nb: [1, 2\n");
    CHECK(error.code == "bad_yaml");
    REQUIRE(error.place);
    CHECK(error.place->line >= 2);
    error = yaml_error("a: 1\nb: 2\na: 3\n");
    CHECK(error.code == "defined_twice");
    CHECK(error.place->line == 3);
    error = yaml_error("a: &x [1, 2]\nb: [*x, *x]\n");
    CHECK(error.code == "no_alias");
    CHECK(error.place->line == 2);
    CHECK(error.place->column == 5);
    // each level would hold nine of the one before
    CHECK(yaml_error("a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b]\n").code == "no_alias");
    CHECK(yaml_error("a: 1\n<<: *b\n").code == "no_alias");
    error = yaml_error("a: !!python/object/apply:os.system ['x']\n");
    CHECK(error.code == "no_tag");
    CHECK(error.place->line == 1);
    CHECK(yaml_error(repeated("[", 100000)).code == "too_deep");
    CHECK(yaml_error(repeated("{a: ", 100000)).code == "too_deep");
    std::string stairs;
    for (std::size_t depth = 0; depth < 100; ++depth) stairs += repeated(" ", depth) + "a:\n";
    CHECK(yaml_error(stairs).code == "too_deep");
    CHECK(yaml_error("a: 1\n---\nb: 2\n").code == "bad_yaml");
    CHECK(yaml_error("? [a, b]\n: 1\n").code == "bad_yaml");
    CHECK(yaml_error("a: \xff\xfe\n").code == "bad_yaml");
    CHECK(yaml_error(std::string("a: b\0c", 6)).code == "bad_yaml");
    CHECK(yaml_error("a:\n\t- b\n").code == "bad_yaml");
    CHECK(yaml_error("[" + repeated("1,", 100001) + "]").code == "too_large");
    CHECK(yaml_error(std::string((std::size_t{1} << 20U) + 1, 'a')).code == "too_large");
}
