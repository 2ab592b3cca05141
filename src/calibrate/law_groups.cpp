#include "calibrate/law_groups.hpp"

#include <fmt/format.h>

namespace roofline::core {

LawGroup laws_of(CollectiveKind kind) { return {fmt::format("[[law]]\noperation = \"{}\"\n", collective_name(kind))}; }

LawGroup laws_of_kernels(KernelKind kind) { return {fmt::format("[[kernel]]\nkind = \"{}\"\n", name(kind))}; }

LawGroup laws_of_exchanges() { return {"[[exchange]]\n"}; }

// A blank line goes before each law and nowhere else.
LawTexts::LawTexts(std::string_view file) {
    constexpr std::string_view between = "\n\n[[";
    constexpr std::size_t line_ends = 2;
    std::size_t begin = file.find(between);
    head_ = file.substr(0, begin);
    while (begin != std::string_view::npos) {
        begin += line_ends;
        const std::size_t end = file.find(between, begin);
        laws_.push_back(file.substr(begin, end == std::string_view::npos ? end : end + 1 - begin));
        begin = end;
    }
}

std::vector<std::string_view> LawTexts::of(const LawGroup& group) const {
    std::vector<std::string_view> laws;
    for (const std::string_view law : laws_) {
        if (law.starts_with(group.opening)) laws.push_back(law);
    }
    return laws;
}

std::string LawTexts::file_of(const std::vector<std::string_view>& laws) const {
    return fmt::format("{}\n{}", head_, fmt::join(laws, ""));
}

std::string_view text_in(std::string_view law, std::string_view key) {
    const std::string line = fmt::format("\n{} = \"", key);
    const std::size_t begin = law.find(line);
    if (begin == std::string_view::npos) return {};
    const std::string_view rest = law.substr(begin + line.size());
    return rest.substr(0, rest.find('"'));
}

}  // namespace roofline::core
