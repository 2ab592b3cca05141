#include "measure/network/local_op.hpp"

#include <algorithm>

namespace roofline::core {

Result<std::unique_ptr<LocalOp>> LocalOp::make(OpShare share, Device& device) {
    std::unique_ptr<LocalOp> local(new LocalOp(std::move(share), device));
    StepOptions options = local->share_.options;
    options.after_matmul = device.after_matmul();
    ROOFLINE_TRY(auto steps, make_steps(local->share_.program, options));
    local->steps_ = std::move(steps);
    local->scratch_.resize(local->steps_.arrays.size());
    for (std::size_t i = 0; i < local->scratch_.size(); ++i) {
        if (local->steps_.arrays[i].role != RunArray::Role::scratch) continue;
        ROOFLINE_TRY(local->scratch_[i], device.allocate(static_cast<std::size_t>(local->steps_.arrays[i].bytes())));
    }
    for (const RunStep& step : local->steps_.steps) {
        ROOFLINE_TRY(auto kernel, device.make(step, local->steps_));
        void* packed = nullptr;
        if ((kernel)->packed_bytes() > 0) {
            ROOFLINE_TRY(packed, device.allocate((kernel)->packed_bytes()));
        }
        local->packed_.push_back(packed);
        local->kernels_.push_back(std::move(kernel));
    }
    local->is_packed_.assign(local->kernels_.size(), false);
    return local;
}

LocalOp::~LocalOp() {
    for (const std::vector<void*>* all : {&scratch_, &packed_}) {
        for (void* memory : *all) {
            if (memory != nullptr) device_.release(memory);
        }
    }
}

void* LocalOp::array(std::size_t index, const std::vector<const void*>& inputs, void* output) const {
    if (scratch_[index] != nullptr) return scratch_[index];
    const std::optional<ValueId> value = steps_.arrays[index].value;
    if (value == share_.output) return output;
    for (std::size_t i = 0; i < share_.inputs.size(); ++i) {
        // kernels take inputs and outputs as the same pointer type, but only read inputs
        if (share_.inputs[i] == value) return const_cast<void*>(inputs[i]);
    }
    return nullptr;
}

std::optional<std::size_t> LocalOp::writes_into() const {
    const auto made = steps_.array_of[share_.output];
    const auto written = std::find_if(share_.inputs.begin(), share_.inputs.end(),
                                      [&](ValueId input) { return made && steps_.array_of[input] == made; });
    if (written == share_.inputs.end()) return std::nullopt;
    return static_cast<std::size_t>(written - share_.inputs.begin());
}

std::string LocalOp::text() const {
    std::string text;
    for (const RunStep& step : steps_.steps) {
        if (!step.text.empty()) text += (text.empty() ? "" : ", ") + step.text;
    }
    return text;
}

bool LocalOp::packs(std::size_t operand) const {
    const ValueId value = share_.inputs[operand];
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (packed_[i] == nullptr) continue;
        if (steps_.arrays[steps_.steps[i].inputs[kernels_[i]->packed_input()]].value == value) return true;
    }
    return false;
}

Status LocalOp::pack(const std::vector<const void*>& inputs) {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (packed_[i] == nullptr) continue;
        void* from = array(steps_.steps[i].inputs[kernels_[i]->packed_input()], inputs, nullptr);
        if (from == nullptr) continue;
        ROOFLINE_CHECK(kernels_[i]->pack(from, packed_[i]));
        is_packed_[i] = true;
    }
    return device_.synchronise();
}

Status LocalOp::run(const std::vector<const void*>& inputs, void* output) {
    std::vector<void*> arrays;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        const RunStep& step = steps_.steps[i];
        arrays.clear();
        for (const std::size_t input : step.inputs) arrays.push_back(array(input, inputs, output));
        arrays.push_back(array(step.output, inputs, output));
        if (packed_[i] != nullptr) {
            void*& packed = arrays[kernels_[i]->packed_input()];
            if (!is_packed_[i]) {
                ROOFLINE_CHECK(kernels_[i]->pack(packed, packed_[i]));
            }
            packed = packed_[i];
        }
        ROOFLINE_CHECK(kernels_[i]->run(arrays));
    }
    return device_.synchronise();
}

}  // namespace roofline::core
