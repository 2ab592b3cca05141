#include "app/model_option.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/number_option.hpp"
#include "import/model_config.hpp"
#include "model/file_types.hpp"
#include "model/presets.hpp"
#include "text/json.hpp"
#include "units/text.hpp"

namespace roofline::core {

Result<Config> resolve_config(const NamedText& reference) {
    const bool file = reference.name.ends_with(".json") || reference.name == "standard input";
    if (reference.text.empty() && !file) return preset_config(reference.name);
    return parse_config(reference.text, reference.name);
}

Result<std::optional<Quantisation>> quantisation_beside(const NamedText& file, const Config& config) {
    if (file.name.empty()) return quantisation_of(config, nullptr);
    ROOFLINE_TRY(auto apart, parse_json(file.text, file.name));
    return quantisation_of(config, &apart);
}

Result<std::optional<Dtype>> dtype_option(const std::string& word, std::string_view option) {
    if (word.empty()) return std::nullopt;
    if (const auto dtype = find_dtype(word)) {
        if (info(*dtype).kind != DtypeKind::logical) return dtype;
        return fail("bad_dtype", fmt::format("{}: {} is not a numeric type", option, name(*dtype)),
                    "use for example bf16, fp8 or int8");
    }
    return fail("unknown_dtype", fmt::format("{}: no dtype `{}`", option, word.substr(0, 40)),
                did_you_mean(word, dtype_names(), fmt::format("dtypes are {}", fmt::join(dtype_names(), " "))));
}

Result<std::optional<Dtype>> weights_option(const std::string& word, Config& config) {
    if (is_file_type(word)) {
        auto typed = with_file_type(config, word);
        if (!typed) return fail(of_option("--weights", typed.error()));
        config = std::move(*typed);
        return std::optional<Dtype>{};
    }
    auto dtype = dtype_option(word, "--weights");
    if (dtype || dtype.error().code != "unknown_dtype") return dtype;
    std::vector<std::string> words = file_type_names();
    const auto dtypes = dtype_names();
    words.insert(words.end(), dtypes.begin(), dtypes.end());
    Error error = dtype.error();
    error.message = fmt::format("--weights: no dtype or file type `{}`", word.substr(0, 40));
    error.hint = did_you_mean(word, words, "use for example bf16, fp8, int8, or Q4_K_M as llama.cpp names it");
    return fail(std::move(error));
}

Result<std::optional<std::int64_t>> size_option(const std::string& word, std::string_view option,
                                                std::string_view hint) {
    if (word.empty()) return std::nullopt;
    const auto size = parse_size(word);
    if (size) return *size;
    Error error = of_option(option, size.error());
    if (!hint.empty()) error.hint = hint;
    return fail(std::move(error));
}

}  // namespace roofline::core
