#include "app/train_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/model_option.hpp"

namespace roofline::core {

namespace {

// A single word that resembles a policy is taken for a typo, not for the name of a tensor.
Result<TrainingOptions> parse_recomputation(const std::string& word) {
    auto options = remat_options(word);
    if (!options || options->kept.size() != 1) return options;
    const std::vector<std::string> policies{"none", "selective", "alternate", "full"};
    if (!nearest(word, policies)) return options;
    return fail("unknown_remat", fmt::format("--remat: no policy `{}`", word.substr(0, 40)),
                did_you_mean(word, policies));
}

Status read_part(const std::string& word, TrainingOptions& options) {
    const bool adam = options.optimizer == Optimizer::adam;
    if (word == "master" && adam) {
        options.master = true;
    } else if (word == "unfused" && adam) {
        options.unfused = true;
    } else if (word == "gradients=f32") {
        options.f32_gradients = true;
    } else if (word.starts_with("moments=") && adam) {
        ROOFLINE_TRY(auto dtype, dtype_option(word.substr(8), "--optimizer"));
        options.moments = dtype.value_or(Dtype::f32);
    } else {
        return fail("unknown_optimizer", fmt::format("--optimizer: unknown option `{}`", word.substr(0, 40)),
                    did_you_mean(word, {"moments=bf16", "master", "unfused", "gradients=f32"},
                                 "adam has moments=DTYPE, master and unfused; adam and sgd have gradients=f32"));
    }
    return {};
}

Status read_optimizer(const std::string& word, TrainingOptions& options) {
    options.master = false;
    if (word.empty()) return {};
    const std::vector<std::string> parts = at_commas(word);
    if (parts.front() == "sgd") {
        options.optimizer = Optimizer::sgd;
    } else if (parts.front() != "adam") {
        return fail("unknown_optimizer",
                    fmt::format("--optimizer: there is no optimizer `{}`", parts.front().substr(0, 40)),
                    did_you_mean(parts.front(), {"adam", "sgd"}, "use adam or sgd"));
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
        ROOFLINE_CHECK(read_part(parts[i], options));
    }
    return {};
}

}  // namespace

std::vector<std::string> at_commas(std::string_view text) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t comma = text.find(',');
        words.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos) return words;
        text.remove_prefix(comma + 1);
    }
}

Result<TrainingOptions> training_options(const TrainRequest& request) {
    ROOFLINE_TRY(auto options, parse_recomputation(request.remat));
    ROOFLINE_CHECK(read_optimizer(request.optimizer, options));
    options.input_gradients = false;  // nothing precedes the model that would need its gradient
    return options;
}

Result<std::optional<LoraOptions>> lora_options(const TrainRequest& request) {
    ROOFLINE_TRY(const auto rank, size_option(request.lora, "--lora",
                                              "a rank, for example 16; without the option all parameters are trained"));
    if (!rank) {
        const char* other = !request.lora_on.empty()        ? "--lora-on"
                            : !request.frozen_dtype.empty() ? "--frozen-dtype"
                                                            : nullptr;
        if (other == nullptr) return std::nullopt;
        return fail("bad_request", fmt::format("{} is about LoRA, but no rank is given", other),
                    "give the rank of the adapters: --lora 16");
    }
    LoraOptions options;
    options.rank = *rank;
    if (!request.lora_on.empty()) {
        ROOFLINE_TRY(options.on, lora_projections(request.lora_on));
    }
    ROOFLINE_TRY(options.frozen, dtype_option(request.frozen_dtype, "--frozen-dtype"));
    return options;
}

Result<std::optional<Dtype>> narrow_dtype(const std::string& word, std::string_view option) {
    auto dtype = dtype_option(word, option);
    if (!dtype || !*dtype) return dtype;
    if (narrow_float(**dtype)) return dtype;
    return fail("bad_dtype", fmt::format("{}: {} is not a floating-point format below 16 bits", option, name(**dtype)),
                "use for example fp8, mxfp8 or nvfp4; without the option it is bf16");
}

Result<std::vector<std::string>> overlapped_axes(const std::string& words, const Plan& plan, bool experts) {
    std::vector<std::string> axes;
    std::vector<std::string> known;
    for (const auto& [axis, degree] : plan_axes(plan)) known.emplace_back(axis);
    if (words.empty() || words == "none") return axes;
    for (const std::string& given : at_commas(words)) {
        const std::string word(axis_called(given));
        if (!has(known, word)) {
            return fail("bad_plan", fmt::format("--overlap: a plan has no axis `{}`", word.substr(0, 40)),
                        did_you_mean(word, known, fmt::format("there are {}", fmt::join(known, ", "))));
        }
        const auto all = plan_axes(plan);
        const auto axis = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == word; });
        if (axis->second == 1 && word == "expert" && !experts) {
            return fail("bad_request", "--overlap expert: the model has no experts", "remove the option");
        }
        if (axis->second == 1) {
            return fail("bad_request", fmt::format("--overlap {}: the plan does not use that axis", word),
                        fmt::format("remove the option, or add the axis to --mesh: {}=8", word));
        }
        if (!has(axes, word)) axes.push_back(word);
    }
    return axes;
}

}  // namespace roofline::core
