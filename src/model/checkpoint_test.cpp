#include "model/checkpoint.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

StoredTensor tensor(std::string name, std::string dtype = "bf16", std::int64_t elements = 1) {
    return {std::move(name), std::move(dtype), {elements}, elements, 2 * elements};
}

std::string part(std::string name, std::string dtype = "bf16") {
    return part_of_tensor(tensor(std::move(name), std::move(dtype)));
}

}  // namespace

TEST_CASE("parts are derived from the names of tensors") {
    CHECK(part("model.embed_tokens.weight") == "embedding");
    CHECK(part("transformer.wte.weight") == "embedding");
    CHECK(part("token_embd.weight") == "embedding");
    CHECK(part("lm_head.weight") == "head");
    CHECK(part("output.weight") == "head");
    CHECK(part("output_norm.weight") == "norm");
    CHECK(part("h.0.ln_1.bias") == "norm");
    CHECK(part("model.layers.0.self_attn.q_norm.weight") == "norm");
    CHECK(part("blk.0.attn_output.weight") == "attention");
    CHECK(part("model.layers.0.self_attn.o_proj.weight") == "attention");
    CHECK(part("model.layers.0.mlp.gate_proj.weight") == "mlp");
    CHECK(part("model.layers.0.mlp.gate.weight") == "router");
    CHECK(part("blk.0.ffn_gate_inp.weight") == "router");
    CHECK(part("blk.0.ffn_gate_exps.weight") == "experts");
    CHECK(part("model.layers.0.mlp.shared_expert.up_proj.weight") == "experts");
    CHECK(part("model.layers.0.mamba.in_proj.weight") == "mixer");
    CHECK(part("vision_tower.encoder.layers.0.self_attn.q_proj.weight") == "vision");
    CHECK(part("model.layers.0.mlp.up_proj.weight_scale_inv", "f32") == "scales");
    CHECK(part("model.layers.0.mlp.up_proj.qzeros", "i32") == "scales");
    CHECK(part("embeddings.position_ids", "i64") == "buffers");
    CHECK(part("rope_freqs.weight", "f32") == "other");
}

TEST_CASE("layers, and names of tensors inside a layer") {
    CHECK(layer_of_tensor("model.layers.12.mlp.experts.3.up_proj.weight") == 12);
    CHECK(!layer_of_tensor("lm_head.weight"));
    CHECK(!layer_of_tensor("a.99999999999999999999.b"));
    CHECK(name_in_layer("model.layers.12.mlp.experts.3.up_proj.weight") == "mlp.experts.*.up_proj.weight");
    CHECK(name_in_layer("lm_head.weight") == "lm_head.weight");
}

TEST_CASE("totals of a checkpoint") {
    Checkpoint checkpoint;
    checkpoint.tensors = {tensor("model.embed_tokens.weight", "bf16", 10),
                          tensor("model.layers.0.mlp.up_proj.weight", "f8_e4m3", 7),
                          tensor("model.layers.0.mlp.up_proj.weight_scale_inv", "f32", 3),
                          tensor("model.layers.1.mlp.up_proj.qweight", "i32", 5),
                          tensor("vision_tower.layers.0.mlp.fc1.weight", "bf16", 2)};
    const CheckpointSums sums = sums_of(checkpoint);
    CHECK(sums.total.tensors == 5);
    CHECK(sums.total.elements == 27);
    CHECK(sums.total.params == 19);  // without scales and packed integers
    CHECK(sums.total.bytes == 54);
    CHECK(sums.packed == 1);
    CHECK(sums.by_part.at("mlp").elements == 12);
    CHECK(sums.by_layer.at(0).elements == 10);  // without the vision layer
    CHECK(sums.by_dtype.at("bf16").tensors == 2);
}
