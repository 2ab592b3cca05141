#include "import/xla/read_xla_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "import/xla/hlo_text.hpp"
#include "import/xla/proto/hlo_proto.hpp"
#include "import/xla/stablehlo/stablehlo_text.hpp"
#include "text/gzip.hpp"

namespace roofline::core {

namespace {

// MLIR has operations of dialects, attribute aliases and functions; HLO text has none of these.
bool is_mlir(std::string_view text) {
    constexpr std::size_t beginning = 1'000'000;
    text = text.substr(0, beginning);
    if (text.find("HloModule") != std::string_view::npos) return false;
    return text.find("func.func") != std::string_view::npos || text.find("stablehlo.") != std::string_view::npos ||
           text.find("mhlo.") != std::string_view::npos || text.find("module @") != std::string_view::npos ||
           text.find("module {") != std::string_view::npos || text.find("vhlo.") != std::string_view::npos;
}

// Whether bytes are no text: keys and lengths of a proto are characters that no text has.
bool is_binary(std::string_view contents) {
    return std::any_of(contents.begin(), contents.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20U && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != '\x1B';
    });
}

}  // namespace

Result<XlaModule> read_xla_module(std::string contents, const std::string& name) {
    if (is_gzip(contents)) {
        ROOFLINE_TRY(contents, gunzip(contents, name));
    }
    if (contents.starts_with("ML\xEFR")) return read_stablehlo_text(std::move(contents), name);  // refuses bytecode
    if (is_binary(contents)) {
        constexpr char first_field = 0x0A;  // of an HloProto the module, of a module its name
        if (contents.starts_with(first_field)) return read_hlo_proto(std::move(contents), name);
        return fail("bad_hlo", fmt::format("{}: this is a binary file, and no HLO proto", name),
                    "give HLO text (compiled.as_text(), --xla_dump_to with --xla_dump_hlo_as_text), a proto "
                    "(--xla_dump_hlo_as_proto) or StableHLO text (lowered.as_text())");
    }
    return is_mlir(contents) ? read_stablehlo_text(std::move(contents), name)
                             : read_hlo_text(std::move(contents), name);
}

}  // namespace roofline::core
