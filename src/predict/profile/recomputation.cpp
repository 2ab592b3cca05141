#include "predict/profile/recomputation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

namespace roofline::core {

namespace {

constexpr std::string_view node_prefix = "autograd::engine::evaluate_function: ";

/// Whether no derivative of PyTorch calls this operation.
bool only_forward(std::string_view name) {
    static constexpr std::string_view known[] = {
        "aten::linear",
        "aten::layer_norm",
        "aten::native_layer_norm",
        "aten::rms_norm",
        "aten::_fused_rms_norm",
        "aten::group_norm",
        "aten::batch_norm",
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention",
        "aten::_flash_attention_forward",
        "aten::_efficient_attention_forward",
        "aten::embedding",
        "aten::conv1d",
        "aten::conv2d",
        "aten::conv3d",
        "aten::dropout",
        "aten::softmax",
        "aten::gelu",
        "aten::silu",
        "FlashAttnFunc",
        "FlashAttnVarlenFunc",
        "flash_attn::_flash_attn_forward",
        "flash_attn::_flash_attn_varlen_forward",
    };
    return std::find(std::begin(known), std::end(known), name) != std::end(known);
}

/// The innermost node of autograd that each call runs in; no_index: none.
std::vector<std::uint32_t> nodes_of(const RecordedProfile& profile) {
    const std::vector<HostCall>& calls = profile.calls;
    std::vector<std::uint32_t> order(calls.size());
    std::iota(order.begin(), order.end(), 0U);
    // Of two that begin together the longer one is the outer one.
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto key = [&](std::uint32_t i) {
            return std::tuple(calls[i].thread, calls[i].start_ns, -calls[i].duration_ns, i);
        };
        return key(a) < key(b);
    });
    std::vector<std::uint32_t> nodes(calls.size(), no_index);
    std::vector<std::uint32_t> running;  // nodes of one thread, the innermost last
    std::uint32_t thread = no_index;
    for (const std::uint32_t index : order) {
        const HostCall& call = calls[index];
        if (call.thread != thread) running.clear();
        thread = call.thread;
        while (!running.empty() && calls[running.back()].end_ns() < call.start_ns) running.pop_back();
        if (!running.empty()) nodes[index] = running.back();
        if (profile.text(call.name).starts_with(node_prefix)) running.push_back(index);
    }
    return nodes;
}

}  // namespace

Recomputation::Recomputation(const RecordedProfile& profile) : profile_(profile), calls_(profile.calls.size()) {
    const std::vector<std::uint32_t> nodes = nodes_of(profile);
    std::map<std::uint32_t, std::int64_t> ends;  // of what a node recomputes
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const HostCall& call = profile.calls[i];
        if (nodes[i] == no_index) continue;
        const HostCall& node = profile.calls[nodes[i]];
        const bool checkpoint = profile.text(node.name).find("CheckpointFunctionBackward") != std::string::npos;
        if (!checkpoint && !only_forward(profile.text(call.name))) continue;
        std::int64_t& end = ends.emplace(nodes[i], node.start_ns).first->second;
        end = std::max(end, checkpoint ? node.end_ns() : call.end_ns());
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto end = ends.find(nodes[i]);
        calls_[i] = end != ends.end() && profile.calls[i].start_ns < end->second &&
                    !profile.text(profile.calls[i].name).starts_with(node_prefix);
    }
}

bool Recomputation::has(const DeviceEvent& event) const {
    if (event.call != no_index) return calls_[event.call];
    if (event.detail == no_index) return false;
    const EventDetail& detail = profile_.details[event.detail];
    const auto says = [&](std::uint32_t text, std::string_view word) {
        return text != no_index && profile_.text(text).find(word) != std::string::npos;
    };
    return says(detail.scope, "rematted_computation") || says(detail.instruction, ".remat");
}

}  // namespace roofline::core
