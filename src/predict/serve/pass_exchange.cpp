#include "predict/serve/pass_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string kernels_note(const PassExchange& prefill, const PassExchange& decode, const std::string& server) {
    std::string how;
    if (prefill.kernels == nullptr || decode.kernels == nullptr) {
        how = fmt::format("{} in {}", (prefill.kernels == nullptr ? decode : prefill).kernels->name,
                          prefill.kernels == nullptr ? "decode" : "prefill");
    } else if (prefill.kernels == decode.kernels) {
        how = decode.kernels->name;
    } else {
        how = fmt::format("{} in prefill and {} in decode", prefill.kernels->name, decode.kernels->name);
    }
    return fmt::format("tokens get to experts on other chips by {}, {}", how,
                       server.empty() ? "as --exchange says" : fmt::format("the default of {}", server));
}

std::string model_note(const PassExchange& exchange) {
    const ExchangeKernels& kernels = *exchange.kernels;
    if (kernels.form == ExchangeForm::all_gather) return "";
    if (exchange.model == nullptr) {
        return fmt::format(
            "{} was not measured on such chips: dispatch and combine are expected to take an all-to-all "
            "of {}{}",
            kernels.name, exchange.collectives.empty() ? "a library" : exchange.collectives,
            kernels.once ? " in which a token goes once to each chip" : "");
    }
    const ExpectedExchange& model = *exchange.model;
    const double most = model.model->most_tokens;
    const bool too_many = model.point.tokens > 2 * most;
    if (!model.transferred && model.counted && !too_many) return "";
    return fmt::format(
        "{} was measured on {} {} with {}{}: its mean error here is {} %", kernels.name, model.model->key.members,
        model.machine, model.model->key.software,
        too_many ? fmt::format(", up to {:.0f} tokens of a chip and not {:.0f}", most, model.point.tokens) : "",
        percent_text(model.error));
}

}  // namespace

PassExchange exchange_of(const Prediction& pass) {
    const Prediction& laid = fastest(pass);
    PassExchange exchange{laid.exchange};
    if (exchange.kernels == nullptr) return exchange;
    const std::vector<MessageWork>& messages = laid.analysis.total.work.messages;
    for (std::size_t i = 0; i < std::min(messages.size(), laid.models.messages.size()); ++i) {
        const auto& expected = laid.models.messages[i];
        if (!expected || !expert_rows(*laid.local, messages[i].message)) continue;
        if (!expected->exchange) {
            if (!expected->models.empty()) exchange.collectives = expected->models.front()->key.software;
            continue;
        }
        const ExpectedExchange& model = *expected->exchange;
        if (exchange.model == nullptr || model.error > exchange.model->error) exchange.model = &model;
    }
    return exchange;
}

std::vector<std::string> exchange_notes(const Prediction& prefill, const Prediction& decode,
                                        const std::string& server) {
    const PassExchange passes[] = {exchange_of(prefill), exchange_of(decode)};
    if (passes[0].kernels == nullptr && passes[1].kernels == nullptr) return {};
    std::vector<std::string> notes{kernels_note(passes[0], passes[1], server)};
    for (const PassExchange& pass : passes) {
        if (pass.kernels == nullptr) continue;
        std::string note = model_note(pass);
        if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end()) {
            notes.push_back(std::move(note));
        }
    }
    return notes;
}

}  // namespace roofline::core
