#include "import/xla/sharding/module_sharding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "import/xla/cost/xla_custom_call.hpp"
#include "import/xla/sharding/xla_sharding.hpp"
#include "network/placement.hpp"

namespace roofline::core {

namespace {

using ShardyMeshes = std::map<std::string, ShardyMesh, std::less<>>;

// Names of axes that no module names, innermost first.
constexpr std::string_view names_of_axes[] = {"X", "Y", "Z", "U", "V", "W", "S", "T"};

bool exchanges(std::string_view opcode) {
    return opcode.starts_with("all-") || opcode.starts_with("reduce-scatter") || opcode.starts_with("collective-") ||
           opcode == "partition-id";
}

void add_array_shapes(const XlaShape& shape, std::vector<const XlaShape*>& arrays) {
    if (shape.is_array()) arrays.push_back(&shape);
    for (const XlaShape& part : shape.parts) add_array_shapes(part, arrays);
}

class ShardingReader {
public:
    ShardingReader(const XlaModule& module, const ImportedProgram& imported, const std::vector<MeshAxis>& given)
        : module_(module), imported_(imported), given_(given), meshes_(shardy_meshes(module)) {}

    Result<ModuleSharding> read() {
        rename_meshes();
        find_shardings();
        ROOFLINE_CHECK(find_axes());
        for (const auto& [value, sharding] : shardings_) subscripts(value, sharding);
        if (unread_ > 0) {
            out_.notes.push_back(fmt::format("{} sharding{} of the module could not be read: {} layout is chosen",
                                             unread_, unread_ == 1 ? "" : "s",
                                             unread_ == 1 ? "that array's" : "those arrays'"));
        }
        return std::move(out_);
    }

private:
    // A mesh with the names of the module's own replaces its sizes.
    void rename_meshes() {
        std::set<std::string> names;
        for (const MeshAxis& axis : given_) names.insert(axis.name);
        for (auto& [name, mesh] : meshes_) {
            const bool same =
                !given_.empty() && mesh.size() == given_.size() &&
                std::all_of(mesh.begin(), mesh.end(), [&](const auto& axis) { return names.contains(axis.first); });
            for (auto& [axis, size] : mesh) {
                for (const MeshAxis& each : given_) {
                    if (same && each.name == axis) size = each.size;
                }
            }
            named_ = named_ || same;
        }
    }

    void find_shardings() {
        std::map<InstructionRef, std::vector<ValueId>> made;
        for (ValueId id = 0; id < imported_.written_by.size(); ++id) {
            if (imported_.written_by[id] && !imported_.program.values[id].intermediate)
                made[*imported_.written_by[id]].push_back(id);
        }
        for (const auto& [ref, values] : made) {
            const XlaInstruction& each = module_.computations[ref.computation].instructions[ref.instruction];
            const auto shardings = shardings_of(each, meshes_);
            std::vector<const XlaShape*> arrays;
            add_array_shapes(each.shape, arrays);
            std::erase_if(arrays, [](const XlaShape* shape) { return shape->elements() == 0; });
            if (values.size() < arrays.size() || shardings.size() != arrays.size()) continue;
            // What an operand needs first has the same instruction: the results come last.
            const std::size_t before = values.size() - arrays.size();
            for (std::size_t i = 0; i < arrays.size(); ++i) {
                const bool written = each.attribute("sharding") || each.attribute("frontend_attributes");
                if (shardings[i] && !shardings[i]->open) {
                    add(values[before + i], *arrays[i], *shardings[i]);
                } else if (written && says_sharding(each) && !shardings[i]) {
                    ++unread_;
                }
            }
        }
        // An argument of which nothing is said is whole on every device.
        for (std::uint32_t i = 0; i < module_.main().instructions.size(); ++i) {
            if (module_.main().instructions[i].opcode != "parameter") continue;
            const auto found = made.find({module_.entry, i});
            if (found == made.end()) continue;
            for (const ValueId id : found->second) shardings_.try_emplace(id);
        }
    }

    static bool says_sharding(const XlaInstruction& each) {
        const auto frontend = each.attribute("frontend_attributes");
        return each.attribute("sharding") ||
               (frontend && frontend->find("xla.sdy.sharding=") != std::string_view::npos);
    }

    void add(ValueId id, const XlaShape& shape, const XlaSharding& sharding) {
        const std::vector<Axis>& axes = imported_.program.values[id].type.axes;
        std::vector<std::vector<StridedDim>> dims;
        for (std::size_t d = 0; d < shape.dims.size(); ++d) {
            if (shape.dims[d] != 1)
                dims.push_back(d < sharding.dims.size() ? sharding.dims[d] : decltype(dims)::value_type{});
        }
        if (dims.size() > axes.size()) return;  // seen under other dimensions
        dims.resize(axes.size());
        shardings_[id] = std::move(dims);
    }

    Status find_axes() {
        std::set<std::int64_t> cuts{1};
        std::vector<std::pair<std::string, std::int64_t>> outermost_first;
        for (const MeshAxis& axis : given_) outermost_first.emplace_back(axis.name, axis.size);
        if (given_.empty() || named_) {
            const ShardyMesh* mesh = used_mesh();
            if (mesh != nullptr) outermost_first = *mesh;
        }
        for (const auto& [value, dims] : shardings_) {
            for (const auto& dim : dims) {
                for (const StridedDim& part : dim) {
                    cuts.insert(part.stride);
                    cuts.insert(part.stride * part.count);
                }
            }
        }
        std::map<std::int64_t, std::pair<std::string, std::int64_t>> named;  // by stride
        std::int64_t stride = 1;
        for (const auto& axis : std::views::reverse(outermost_first)) {
            if (axis.second > 1) named[stride] = axis;
            stride *= axis.second;
            cuts.insert(stride);
        }
        if (outermost_first.empty()) {
            if (const auto devices = module_.attribute("num_partitions")) {
                const auto number = number_list("{" + std::string(*devices) + "}");
                if (number && number->size() == 1 && number->front() > 0) cuts.insert(number->front());
            }
        }
        return name_axes({cuts.begin(), cuts.end()}, named);
    }

    Status name_axes(const std::vector<std::int64_t>& cuts,
                     const std::map<std::int64_t, std::pair<std::string, std::int64_t>>& named) {
        const bool given = !given_.empty();
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
            const auto name = named.find(cuts[i]);
            const bool fits = cuts[i + 1] % cuts[i] == 0 &&
                              (!given || (name != named.end() && name->second.second == cuts[i + 1] / cuts[i]));
            if (!fits || i >= max_mesh_axes) {
                return fail("no_mesh",
                            given ? "the shardings of the module are not along the axes of the mesh that is given"
                                  : "the shardings of the module are not along the axes of one mesh",
                            given ? fmt::format("they split devices at the distances {}; give as many devices, the "
                                                "outermost axis first, or leave --mesh out",
                                                fmt::join(cuts, ", "))
                                  : "the distances of devices must divide each other, with at most 8 axes");
            }
            const bool whole = name != named.end() && name->second.second == cuts[i + 1] / cuts[i];
            out_.mesh.push_back(
                {whole ? name->second.first : std::string(names_of_axes[i]), cuts[i + 1] / cuts[i], {}});
            strides_.push_back(cuts[i]);
        }
        out_.devices = cuts.back();
        return {};
    }

    // The mesh with the most devices, which the others are the parts of.
    [[nodiscard]] const ShardyMesh* used_mesh() const {
        const ShardyMesh* most = nullptr;
        std::int64_t devices = 1;
        for (const auto& [name, mesh] : meshes_) {
            std::int64_t all = 1;
            for (const auto& [axis, size] : mesh) all *= size;
            if (all > devices) most = &mesh;
            devices = std::max(devices, all);
        }
        return most;
    }

    void subscripts(ValueId id, const std::vector<std::vector<StridedDim>>& dims) {
        std::vector<std::vector<std::string>>& axes = out_.axes[id];
        for (const auto& dim : dims) {
            axes.emplace_back();
            for (const StridedDim& part : dim) {
                for (std::size_t i = strides_.size(); i-- > 0;) {
                    const bool inside = strides_[i] >= part.stride && strides_[i] < part.stride * part.count;
                    if (inside) axes.back().push_back(out_.mesh[i].name);
                }
            }
        }
    }

    const XlaModule& module_;
    const ImportedProgram& imported_;
    const std::vector<MeshAxis>& given_;
    ShardyMeshes meshes_;
    bool named_ = false;  ///< the given axes are those of the module's mesh
    std::map<ValueId, std::vector<std::vector<StridedDim>>> shardings_;
    std::vector<std::int64_t> strides_;  ///< by axis
    std::size_t unread_ = 0;
    ModuleSharding out_;
};

}  // namespace

bool is_before_partitioning(const XlaModule& module) {
    if (module.attribute("is_scheduled") == "true") return false;
    const ShardyMeshes meshes = shardy_meshes(module);
    bool split = false;
    for (const XlaComputation& computation : module.computations) {
        for (const XlaInstruction& each : computation.instructions) {
            if (each.opcode == "fusion" || exchanges(each.opcode)) return false;
            const std::string_view target = each.opcode == "custom-call" ? custom_call_target(each) : "";
            if (target.starts_with("SPMD") || target.ends_with("ToLocalShape")) return false;
            if (split) continue;
            for (const auto& sharding : shardings_of(each, meshes)) {
                if (!sharding) continue;
                split = split || std::any_of(sharding->dims.begin(), sharding->dims.end(),
                                             [](const auto& dim) { return !dim.empty(); });
            }
        }
    }
    return split;
}

Result<ModuleSharding> module_sharding(const XlaModule& module, const ImportedProgram& imported,
                                       const std::vector<MeshAxis>& mesh) {
    constexpr std::int64_t most = 1'000'000;
    std::int64_t devices = 1;
    for (const MeshAxis& axis : mesh) {
        if (axis.size < 1 || axis.size > most / devices) {
            return fail("bad_mesh", "the mesh has more than a million devices", "give the axes of a slice");
        }
        devices *= axis.size;
    }
    return ShardingReader(module, imported, mesh).read();
}

}  // namespace roofline::core
