// Messages of HLO protos as HLO text writes them. Field numbers are those of xla/xla_data.proto and
// xla/service/hlo.proto.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/xla/xla_shape.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

/// Reads a ShapeProto. Errors: an element type that XLA does not have, a negative size, more elements than can be
/// counted.
[[nodiscard]] Result<XlaShape> read_shape_proto(ProtoFile& file, ProtoMessage message, std::size_t offset);

/// Returns what stands in the parentheses of `constant(...)`: the number of a LiteralProto with one element, and
/// "{...}" for any other.
[[nodiscard]] std::string literal_of_proto(ProtoMessage message, const XlaShape& shape);

/// Returns the `window={size=3x3 stride=2x2 pad=1_1x1_1}` of a Window.
[[nodiscard]] std::string window_of_proto(ProtoMessage message);

/// Returns the `dim_labels=b01f_01io->b01f` of ConvolutionDimensionNumbers; empty if a dimension is missing or doubled.
[[nodiscard]] std::string dim_labels_of_proto(ProtoMessage message);

/// Returns the `sharding={devices=[2,1]<=[2]}` of an OpSharding.
[[nodiscard]] std::string sharding_of_proto(ProtoMessage message);

/// Returns the `replica_groups=[4,2]<=[8]` of an IotaReplicaGroupListProto.
[[nodiscard]] std::string iota_groups_of_proto(ProtoMessage message);

/// Returns the `replica_groups=mesh['x'=2] {'x'}` of a MeshAxesReplicaGroupListProto.
[[nodiscard]] std::string mesh_groups_of_proto(ProtoMessage message);

/// Returns the `{0,1}` of a ReplicaGroup.
[[nodiscard]] std::string replica_group_of_proto(ProtoMessage message);

/// Returns the `{b="2", a="1"}` of FrontendAttributes.
[[nodiscard]] std::string frontend_attributes_of_proto(ProtoMessage message);

/// Returns a text in quotation marks, with escapes as C has them.
[[nodiscard]] std::string quoted_bytes(std::string_view bytes);

/// Returns `{0,2}`.
[[nodiscard]] std::string braced_numbers(const std::vector<std::int64_t>& numbers);

}  // namespace roofline::core
