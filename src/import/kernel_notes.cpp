#include "import/kernel_notes.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

/// The beginning of an implementation's name in notes, and what it stands for.
struct NamedImplementation {
    std::string_view prefix;
    std::string_view software;
    std::string_view variant{};
};
// a longer name precedes one that it begins with
constexpr NamedImplementation implementations[] = {
    {"pallas_mosaic_tpu_v2", "tokamax", "v2"},
    {"pallas", "tokamax"},
    {"chunked_xla", "xla", "chunked"},
    {"xla_chunked", "xla", "chunked"},
    {"hipkittens_4warps", "hipkittens", "4 warps"},
    {"hipkittens_8warps", "hipkittens", "8 warps"},
    {"hipkittens", "hipkittens"},
    {"hipblaslt", "hipblaslt"},
    {"pytorch_compiled", "torch", "compiled"},
    {"compiled", "torch", "compiled"},
    {"pytorch", "torch"},
    {"torch", "torch"},
    {"aiter", "aiter"},
    {"reference", "aiter"},  // HipKittens compares with AITER's attention
    {"triton", "triton"},
    {"mlx", "mlx"},
    {"tk", "hipkittens"},
    {"ck", "ck"},
};

/// Libraries whose products were timed alone.
constexpr auto of_narrow_operands =
    std::to_array<std::string_view>({"aiter", "ck", "hipblaslt", "hipkittens", "triton"});

}  // namespace

std::string_view note_value(std::string_view note, std::string_view key) {
    const std::size_t at = note.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = note.substr(at + key.size());
    return rest.substr(0, std::min(rest.find_first_of(";, "), rest.size()));
}

std::optional<KernelImplementation> implementation_in(std::string_view source, std::string_view note) {
    const std::string name = lowered(note_value(note, "impl="));
    if (name.empty()) return std::nullopt;
    const auto* const found = std::find_if(std::begin(implementations), std::end(implementations),
                                           [&](const auto& each) { return name.starts_with(each.prefix); });
    if (found != std::end(implementations))
        return KernelImplementation{std::string(found->software), std::string(found->variant)};
    if (source.find("tokamax") != std::string_view::npos) return KernelImplementation{"xla", ""};
    return std::nullopt;
}

bool takes_narrow_operands(std::string_view software) {
    return std::find(of_narrow_operands.begin(), of_narrow_operands.end(), software) != of_narrow_operands.end();
}

}  // namespace roofline::core
