// Models: what the configuration of a Transformer, or of a relative of it, adds up to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofline/dtype.hpp"
#include "roofline/program.hpp"
#include "roofline/result.hpp"
#include "roofline/units.hpp"

namespace roofline {

/// A model, bound to a length of sequence. A handle: immutable, cheap to copy, safe to share between threads.
class Model {
public:
    /// A model that the library knows by name, "llama-3-70b"; an unambiguous beginning is enough. Errors:
    /// `unknown_model` (the hint names the nearest); several that begin so.
    [[nodiscard]] static Result<Model> find(std::string_view name);

    /// From the text of a Hugging Face config.json. `file_name` stands in messages and headings. Errors: no JSON; a
    /// model_type that is not known; keys that are missing or of a wrong kind.
    [[nodiscard]] static Result<Model> from_config(std::string_view json, std::string_view file_name = "config.json");

    /// The names that find() knows.
    [[nodiscard]] static std::vector<std::string> names();

    /// The same model with sequences of so many tokens; without it they are as long as the model's context. Errors: a
    /// length below 1 or beyond the context.
    [[nodiscard]] Result<Model> with_sequence(std::int64_t tokens) const;

    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] std::int64_t layers() const;
    [[nodiscard]] std::int64_t context() const;   ///< tokens: the longest that the configuration says; 0: it does not
    [[nodiscard]] std::int64_t sequence() const;  ///< tokens

    [[nodiscard]] std::int64_t parameters() const;
    /// Those that one token meets: of experts those that it is sent to. As the publisher counts them.
    [[nodiscard]] std::int64_t active_parameters() const;
    /// Of one token, averaged over the sequence: forward, products and attention; causal attention counts half.
    [[nodiscard]] Flops forward_flops_per_token() const;
    /// Forward and backward: 6 FLOPs for each parameter that multiplies, and three times what attention does forward.
    [[nodiscard]] Flops training_flops_per_token() const;

    /// All stored parameters in one dtype; without one in that of the checkpoint, quantised as the configuration says.
    /// Errors: a quantisation that is not known.
    [[nodiscard]] Result<Bytes> weight_bytes(std::optional<Dtype> dtype = std::nullopt) const;
    /// What one more token adds to the caches of keys and values, while every window has room for it; and what a
    /// sequence takes.
    [[nodiscard]] Bytes kv_bytes_per_token(Dtype dtype = Dtype::bf16) const;
    [[nodiscard]] Bytes kv_bytes(Dtype dtype = Dtype::bf16) const;

    /// One forward pass over a sequence, as a program: batch B, T query tokens, S tokens of context.
    [[nodiscard]] Program program() const;
    [[nodiscard]] std::vector<std::string> notes() const;

    /// For the library alone.
    struct Data;
    explicit Model(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

}  // namespace roofline
