// A row of a table of training steps, for tests.
#pragma once

#include <cstdint>

#include "import/training_table.hpp"

namespace roofline::core {

/// A decoder with two layers of width 1024 in bf16, and eight sequences of 1024 tokens per data-parallel replica.
inline MeasuredTraining two_layers(std::int64_t data, std::int64_t tensor = 1) {
    MeasuredTraining row;
    row.model = "gpt-toy";
    row.layers = 2;
    row.hidden = 1024;
    row.ffn = 4096;
    row.heads = 16;
    row.vocab = 50304;
    row.sequence = 1024;
    row.sequences = 8 * data;
    row.micro_batch = 8;
    row.system = "h100-sxm";
    row.chips = data * tensor;
    row.data = data;
    row.tensor = tensor;
    row.pipeline = row.expert = row.context = 1;
    row.sharding = "none";
    row.recompute = "none";
    row.dtype = "bf16";
    row.step_s = 1;
    return row;
}

}  // namespace roofline::core
