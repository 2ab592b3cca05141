#include "import/xla/read_xla_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "import/xla/fx/fx_text.hpp"
#include "import/xla/hlo_text.hpp"
#include "import/xla/onnx/read_onnx.hpp"
#include "import/xla/proto/hlo_proto.hpp"
#include "import/xla/stablehlo/stablehlo_text.hpp"
#include "text/gzip.hpp"
#include "text/protobuf.hpp"

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

// A ModelProto begins with the version of its format, which is a number; the first field of an HLO proto is none. Some
// tools write other fields first: then it has a graph and the versions of its operators.
bool is_onnx(std::string_view contents) {
    if (contents.starts_with('\x08')) return true;
    ProtoFile file(contents, {}, {});
    bool graph = false;
    bool versions = false;
    for (ProtoMessage at(file); at.next();) {
        if (at.field() == 1) return !at.has_bytes();
        graph = graph || (at.field() == 7 && at.has_bytes());
        versions = versions || (at.field() == 8 && at.has_bytes());
    }
    return graph && versions;
}

}  // namespace

Result<XlaModule> read_xla_module(std::string contents, const std::string& name, const DimSizes& dims) {
    if (is_gzip(contents)) {
        ROOFLINE_TRY(contents, gunzip(contents, name));
    }
    const bool binary = is_binary(contents) && !contents.starts_with("ML\xEFR");
    if (binary && is_onnx(contents)) return read_onnx(std::move(contents), name, dims);
    if (!dims.empty()) {
        return fail("bad_request", fmt::format("{}: only ONNX models have dimensions without a size", name),
                    "leave --dims out");
    }
    if (contents.starts_with("ML\xEFR")) return read_stablehlo_text(std::move(contents), name);  // refuses bytecode
    if (binary) {
        constexpr char first_field = 0x0A;  // of an HloProto the module, of a module its name
        if (contents.starts_with(first_field)) return read_hlo_proto(std::move(contents), name);
        return fail("bad_hlo",
                    fmt::format("{}: this is a binary file, and neither an HLO proto nor an ONNX model", name),
                    "give HLO text (compiled.as_text(), --xla_dump_to with --xla_dump_hlo_as_text), a proto "
                    "(--xla_dump_hlo_as_proto), StableHLO text (lowered.as_text()), ONNX, or a graph of PyTorch "
                    "(roofline.torch_graph(module, args))");
    }
    if (is_fx_graph(contents)) return read_fx_text(std::move(contents), name);
    if (contents.starts_with("graph():")) {
        return fail("bad_hlo", fmt::format("{}: a printed graph of torch.fx has no shapes", name),
                    "record it where PyTorch is installed: roofline.torch_graph(module, args)");
    }
    return is_mlir(contents) ? read_stablehlo_text(std::move(contents), name)
                             : read_hlo_text(std::move(contents), name);
}

}  // namespace roofline::core
