// Models: parameters, FLOPs and memory of a Transformer or a related architecture, computed from its configuration.
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

/// A model with a sequence length. A handle: it is immutable, cheap to copy and safe to share between threads.
class Model {
public:
    /// Returns the model that the library knows by this name, "llama-3-70b"; an unambiguous prefix is enough. Errors:
    /// `unknown_model` (the hint names the nearest match); a prefix of several names.
    [[nodiscard]] static Result<Model> find(std::string_view name);

    /// Reads a model from the text of a Hugging Face config.json. `file_name` is used in messages and headings. Errors:
    /// the text is not JSON; its model_type is not supported; keys are missing or have values of the wrong type.
    [[nodiscard]] static Result<Model> from_config(std::string_view json, std::string_view file_name = "config.json");

    /// Returns all names that find() accepts.
    [[nodiscard]] static std::vector<std::string> names();

    /// Returns a copy of the model with sequences of `tokens` tokens; by default they are as long as the model's
    /// context. Errors: the length is below 1 or exceeds the context.
    [[nodiscard]] Result<Model> with_sequence(std::int64_t tokens) const;

    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] std::int64_t layers() const;
    /// Maximum sequence length in tokens; 0 if the configuration does not give one.
    [[nodiscard]] std::int64_t context() const;
    [[nodiscard]] std::int64_t sequence() const;  ///< tokens

    [[nodiscard]] std::int64_t parameters() const;
    /// Parameters that take part in the computation of one token: of routed experts only those that the token is sent
    /// to. They are counted as the model's publisher counts them.
    [[nodiscard]] std::int64_t active_parameters() const;
    /// FLOPs of the forward pass per token, averaged over the sequence: matmuls with parameters and attention. Causal
    /// attention counts half.
    [[nodiscard]] Flops forward_flops_per_token() const;
    /// FLOPs of the forward and backward pass per token: 6 for each parameter that is multiplied, and three times the
    /// forward FLOPs of attention.
    [[nodiscard]] Flops training_flops_per_token() const;

    /// Bytes of all stored parameters in one dtype; by default in the dtype of the checkpoint, quantized as the
    /// configuration says. Errors: the quantization is not supported.
    [[nodiscard]] Result<Bytes> weight_bytes(std::optional<Dtype> dtype = std::nullopt) const;
    /// Bytes of KV cache that one more token adds while it fits into every attention window, and bytes of KV cache of
    /// one sequence with the states of its recurrences.
    [[nodiscard]] Bytes kv_bytes_per_token(Dtype dtype = Dtype::bf16) const;
    [[nodiscard]] Bytes kv_bytes(Dtype dtype = Dtype::bf16) const;

    /// The forward pass over a sequence as a program with dimensions B (batch), T (query tokens) and S (tokens of
    /// context).
    [[nodiscard]] Program program() const;
    [[nodiscard]] std::vector<std::string> notes() const;

    /// Internal to the library.
    struct Data;
    explicit Model(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::shared_ptr<const Data> data_;
};

}  // namespace roofline
