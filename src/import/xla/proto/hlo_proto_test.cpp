#include "import/xla/proto/hlo_proto.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "import/xla/hlo_text.hpp"
#include "import/xla/read_xla_module.hpp"

using namespace roofline::core;

namespace {

std::string file_of(const std::string& name) {
    std::ifstream file("tests/protos/" + name, std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

// A field of a message: key, length, bytes.
std::string bytes_field(int number, const std::string& bytes) {
    std::string text;
    if (number >= 16) {
        text = {static_cast<char>((number << 3 & 0x7F) | 0x82), static_cast<char>(number >> 4)};
    } else {
        text = {static_cast<char>(number << 3 | 2)};
    }
    if (bytes.size() >= 128) text += static_cast<char>((bytes.size() & 0x7FU) | 0x80U);
    return text + static_cast<char>(bytes.size() < 128 ? bytes.size() : bytes.size() >> 7U) + bytes;
}

std::string number_field(int number, int value) {
    std::string text;
    if (number >= 16) {
        text = {static_cast<char>((number << 3 & 0x7F) | 0x80), static_cast<char>(number >> 4)};
    } else {
        text = {static_cast<char>(number << 3)};
    }
    return text + static_cast<char>(value);
}

// f32[2,3]
std::string shape() { return number_field(2, 11) + bytes_field(3, "\x02\x03"); }

std::string instruction(const std::string& name, const std::string& opcode, int id, const std::string& more = {}) {
    return bytes_field(
        2, bytes_field(1, name) + bytes_field(2, opcode) + bytes_field(3, shape()) + number_field(35, id) + more);
}

std::string computation(const std::string& instructions, int id, int root) {
    return bytes_field(
        3, bytes_field(1, fmt::format("c{}", id)) + instructions + number_field(5, id) + number_field(6, root));
}

std::string module_of(const std::string& computations, int entry) {
    return bytes_field(1, "m") + computations + number_field(6, entry);
}

std::string first() { return instruction("x", "parameter", 1); }

std::string error_of(const std::string& bytes) {
    const auto module = read_hlo_proto(bytes, "m.pb");
    REQUIRE_FALSE(module.has_value());
    return module.error().code + ": " + module.error().message;
}

// What a module says, a line for an instruction; the readers may put callees in different orders.
std::vector<std::string> lines_of(const XlaModule& module) {
    std::vector<std::string> lines;
    for (const XlaComputation& computation : module.computations) {
        for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
            const XlaInstruction& each = computation.instructions[i];
            std::string line = fmt::format("{} {} {} = {} {}({}", computation.name, i, each.name,
                                           shape_text(each.shape), each.opcode, each.literal);
            for (const auto operand : each.operands) line += " " + std::string(computation.instructions[operand].name);
            for (const auto called : each.called) line += " " + std::string(module.computations[called].name);
            line += fmt::format(") {} {}:{} {}", each.origin.op_name, each.origin.file, each.origin.line,
                                fmt::join(each.shape.minor_to_major, ","));
            std::vector<std::string> attributes;
            for (const XlaAttribute& one : each.attributes) {
                // JSON has no order.
                const bool json = one.key == "backend_config";
                attributes.push_back(json ? "" : fmt::format(" {}={}", one.key, one.value));
            }
            std::sort(attributes.begin(), attributes.end());
            line += fmt::format("{}{}", fmt::join(attributes, ""), i == computation.root ? " ROOT" : "");
            lines.push_back(std::move(line));
        }
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::string attribute_of(const XlaModule& module, std::string_view key) {
    return std::string(module.attribute(key).value_or("none"));
}

}  // namespace

TEST_CASE("a proto is the module that its text is") {
    for (const std::string name : {"scanned", "sharded", "mixed"}) {
        CAPTURE(name);
        const auto proto = read_xla_module(file_of(name + ".hlo.pb"), name);
        const auto text = read_hlo_text(file_of(name + ".hlo"), name);
        REQUIRE_MESSAGE(proto.has_value(), proto.error().message);
        REQUIRE(text.has_value());
        CHECK(proto->name == text->name);
        CHECK(proto->main().name == text->main().name);
        for (const std::string_view key : {"is_scheduled", "num_partitions", "input_output_alias"}) {
            CHECK(attribute_of(*proto, key) == attribute_of(*text, key));
        }
        const auto ours = lines_of(*proto);
        const auto theirs = lines_of(*text);
        REQUIRE(ours.size() == theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) CHECK(ours[i] == theirs[i]);
    }
}

TEST_CASE("a module, and the HloProto around it") {
    const std::string bytes = module_of(computation(first(), 5, 1), 5);
    const std::string wrapped = bytes_field(1, bytes);
    for (const std::string& each : {bytes, wrapped}) {
        const auto module = read_hlo_proto(each, "m.pb");
        REQUIRE_MESSAGE(module.has_value(), module.error().message);
        CHECK(module->name == "m");
        CHECK(module->main().result().name == "x");
        CHECK(shape_text(module->main().result().shape) == "f32[2,3]");
        CHECK(module->main().result().literal == "0");
    }
}

TEST_CASE("ids of operands and of the root are whole, or the lower half of what the computation's id begins") {
    // (5 << 32) + 1, as a varint.
    const std::string wide = "\x81\x80\x80\x80\x50";
    const std::string x =
        bytes_field(2, bytes_field(1, "x") + bytes_field(2, "parameter") + bytes_field(3, shape()) + "\x98\x02" + wide);
    const std::string y = bytes_field(2, bytes_field(1, "y") + bytes_field(2, "negate") + bytes_field(3, shape()) +
                                             "\x98\x02\x82\x80\x80\x80\x50" + number_field(36, 1));
    const auto module = read_hlo_proto(module_of(computation(x + y, 5, 2), 5), "m.pb");
    REQUIRE_MESSAGE(module.has_value(), module.error().message);
    CHECK(module->main().root == 1);
    CHECK(module->main().result().operands == std::vector<std::uint32_t>{0});
}

TEST_CASE("protos that are no module are refused, with the byte") {
    const std::string y = instruction("y", "negate", 2, number_field(36, 1));
    CHECK(error_of(module_of(computation(first() + y, 5, 2), 6))
              .starts_with("undefined: m.pb: byte 0: the module has no"));
    CHECK(error_of(module_of(computation(y, 5, 2), 5)) ==
          "undefined: m.pb: byte 9: the operand 1 of `y` is not defined before it");
    CHECK(error_of(module_of(computation(first() + first(), 5, 1), 5))
              .starts_with("defined_twice: m.pb: byte 36: a second instruction has the id 1"));
    CHECK(error_of(module_of(computation(first(), 5, 7), 5)).find("no instruction 7") != std::string::npos);
    CHECK(error_of(module_of(computation("", 5, 7), 5)).find("has no instruction") != std::string::npos);
    CHECK(error_of(module_of(computation(first(), 5, 1) + computation(first(), 5, 1), 5)).starts_with("defined_twice"));
    CHECK(error_of(module_of("", 5)) == "bad_hlo: m.pb: byte 0: the module has no computation");
    const std::string calls_itself = instruction("x", "call", 1, number_field(38, 5));
    CHECK(error_of(module_of(computation(calls_itself, 5, 1), 5)) ==
          "cycle: m.pb: byte 3: the computation `c5` calls itself");
    const std::string calls_nothing = instruction("x", "call", 1, number_field(38, 9));
    CHECK(error_of(module_of(computation(calls_nothing, 5, 1), 5)).find("which the module lacks") != std::string::npos);
    const std::string schedule =
        bytes_field(7, bytes_field(1, number_field(1, 5) + bytes_field(2, number_field(1, 2))));
    CHECK(error_of(module_of(computation(first(), 5, 1) + schedule, 5)).find("schedule") != std::string::npos);
}

TEST_CASE("shapes of protos that cannot be counted are refused") {
    const auto with = [](const std::string& sizes) {
        const std::string x = bytes_field(2, bytes_field(1, "x") + bytes_field(2, "parameter") + bytes_field(3, sizes));
        return module_of(computation(x, 5, 0), 5);
    };
    const std::string most = "\xff\xff\xff\xff\xff\xff\xff\x7f";
    CHECK(error_of(with(number_field(2, 11) + bytes_field(3, most + most))).starts_with("too_large"));
    CHECK(error_of(with(number_field(2, 11) + bytes_field(3, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")))
              .find("negative") != std::string::npos);
    CHECK(error_of(with(number_field(2, 77))).find("unknown element type 77") != std::string::npos);
    CHECK(error_of(with(number_field(2, 13) + bytes_field(3, "\x02"))).find("a tuple has") != std::string::npos);
    std::string deep = number_field(2, 11);
    for (int i = 0; i < 120; ++i) deep = number_field(2, 13) + bytes_field(4, deep);
    CHECK(error_of(with(deep)).starts_with("too_deep"));
}

TEST_CASE("names of protos cannot control a terminal") {
    const auto module =
        read_hlo_proto(module_of(computation(instruction("a\x1b[2J\xff\xc3\xa9", "negate", 1), 5, 1), 5), "m.pb");
    REQUIRE(module.has_value());
    CHECK(module->main().result().name == "a?[2J?\xc3\xa9");
}
