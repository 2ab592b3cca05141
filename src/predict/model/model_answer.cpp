#include "predict/model/model_answer.hpp"

#include <utility>

namespace roofline::core {

Result<ModelAnswer> account_of(const ModelQuestion& question) {
    ModelAnswer answer;
    ROOFLINE_TRY(answer.model, build_model(question.config, question.sequence));
    ROOFLINE_TRY(answer.counts, count_model(answer.model));
    const std::optional<Quantisation>& quantisation = question.quantisation;
    if (!question.weights && quantisation && quantisation->kv_is_fp8 && !question.kv_dtype) {
        answer.notes.emplace_back("the checkpoint declares an fp8 KV cache: --kv-dtype fp8 counts it as such");
    }
    ROOFLINE_TRY(answer.weights,
                 weight_bytes(answer.model, question.weights, question.weights ? std::nullopt : quantisation));
    answer.kv_dtype = question.kv_dtype.value_or(Dtype::bf16);
    return answer;
}

Rational kv_bytes(const ModelAnswer& answer, const Rational& elements) {
    const BitsPerElement bits = stored_bits(answer.kv_dtype);
    return elements * Rational(bits.numerator, bits.denominator * std::int64_t{8});
}

}  // namespace roofline::core
