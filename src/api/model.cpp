#include "model/model.hpp"

#include <limits>
#include <utility>

#include "api/data.hpp"
#include "api/words.hpp"
#include "import/model_config.hpp"
#include "model/presets.hpp"
#include "model/weights.hpp"
#include "plan/training_cost.hpp"

namespace roofline {

namespace {

Result<Model> model_handle(core::Config config, std::optional<std::int64_t> sequence) {
    core::ModelQuestion question;
    question.config = config;
    question.sequence = sequence;
    ROOFLINE_TRY(question.quantisation, core::quantisation_of(config, nullptr));
    ROOFLINE_TRY(auto account, core::account_of(question));
    return Model(std::make_shared<const Model::Data>(Model::Data{std::move(config), sequence, std::move(account)}));
}

Result<Model> read_model(Result<core::Config> config) {
    if (!config) return core::fail(std::move(config).error());
    return model_handle(std::move(*config), std::nullopt);
}

std::int64_t whole(const core::Rational& count) {
    return count.to_int64().value_or(std::numeric_limits<std::int64_t>::max());
}

Bytes cache_bytes(const core::Rational& elements, const core::Rational& state, Dtype dtype) {
    const core::BitsPerElement bits = core::stored_bits(dtype);
    const core::Rational bytes(bits.numerator, bits.denominator * std::int64_t{8});
    return Bytes{(elements * bytes + state).to_double()};
}

Result<Bytes> bytes_of_weights(const core::Model& model, Dtype dtype) {
    ROOFLINE_TRY(const auto weights, core::weight_bytes(model, dtype, std::nullopt));
    return Bytes{weights.total.to_double()};
}

}  // namespace

Result<Model> Model::find(std::string_view name) {
    return core::in_library_terms(read_model(core::preset_config(name)));
}

Result<Model> Model::from_config(std::string_view json, std::string_view file_name) {
    return core::in_library_terms(read_model(core::parse_config(json, file_name)));
}

std::vector<std::string> Model::names() { return core::preset_names(); }

Result<Model> Model::with_sequence(std::int64_t tokens) const {
    if (tokens < 1) return core::fail("bad_size", "a sequence must have at least one token", "");
    return core::in_library_terms(model_handle(data_->config, tokens));
}

const std::string& Model::name() const { return data_->account.model.name; }
std::int64_t Model::layers() const { return data_->account.model.layer_count; }
std::int64_t Model::context() const { return data_->account.model.context; }
std::int64_t Model::sequence() const { return data_->account.model.sequence; }

std::int64_t Model::parameters() const { return whole(data_->account.counts.total.params); }
std::int64_t Model::active_parameters() const {
    return whole(core::active_params(data_->account.model, data_->account.counts));
}

Flops Model::forward_flops_per_token() const {
    const core::PartCount& total = data_->account.counts.total;
    return Flops{(total.products + total.attention).to_double()};
}
Flops Model::training_flops_per_token() const { return Flops{core::training_flops_per_token(data_->account.counts)}; }

Result<Bytes> Model::weight_bytes(std::optional<Dtype> dtype) const {
    if (!dtype) return Bytes{data_->account.weights.total.to_double()};
    return core::in_library_terms(bytes_of_weights(data_->account.model, *dtype));
}

Bytes Model::kv_bytes_per_token(Dtype dtype) const {
    return cache_bytes(data_->account.counts.cache.per_token, core::Rational(0), dtype);
}
Bytes Model::kv_bytes(Dtype dtype) const {
    const core::CacheCount& cache = data_->account.counts.cache;
    return cache_bytes(cache.sequence, cache.state_bytes, dtype);
}

Program Model::program() const {
    const core::Model& model = data_->account.model;
    return Program(std::make_shared<const Program::Data>(Program::Data{model.name, model.program, {}}));
}

std::vector<std::string> Model::notes() const { return core::in_library_terms(data_->account.model.notes); }

}  // namespace roofline
