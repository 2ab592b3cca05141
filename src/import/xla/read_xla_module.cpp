#include "import/xla/read_xla_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "import/xla/fx/fx_text.hpp"
#include "import/xla/hlo_text.hpp"
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

}  // namespace

Result<XlaModule> read_xla_module(std::string contents, const std::string& name) {
    if (is_gzip(contents)) {
        ROOFLINE_TRY(contents, gunzip(contents, name));
    }
    if (contents.starts_with("ML\xEFR")) return read_stablehlo_text(std::move(contents), name);  // refuses bytecode
    if (contents.find('\0') != std::string::npos) {
        return fail("bad_hlo", fmt::format("{}: this is a binary file, not the text of a module", name),
                    "give HLO text (compiled.as_text(), --xla_dump_to with --xla_dump_hlo_as_text), StableHLO text "
                    "(lowered.as_text()), or a graph of PyTorch (roofline.torch_graph(module, args))");
    }
    if (is_fx_graph(contents)) return read_fx_text(std::move(contents), name);
    return is_mlir(contents) ? read_stablehlo_text(std::move(contents), name)
                             : read_hlo_text(std::move(contents), name);
}

}  // namespace roofline::core
