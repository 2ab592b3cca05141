#include "report/op/op_mesh_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "report/op/op_plot.hpp"

namespace roofline::core {

namespace {

class Picturing {
public:
    explicit Picturing(const Prediction& answer) : answer_(answer), slice_(answer.system.slice) {}

    MeshPicture run() {
        picture_.title = plot_title(answer_);
        const std::string shape = slice_.shape_text();
        const std::string chips = fmt::format("{} chip{}", slice_.chips(), slice_.chips() == 1 ? "" : "s");
        const bool told = shape == std::to_string(slice_.chips());
        picture_.subtitle = fmt::format("{}, {}{}", answer_.machine.name, told ? "" : shape + " = ", chips);
        directions();
        axes();
        arrays();
        return std::move(picture_);
    }

private:
    // The first two torus axes become rows and columns, as those of a matrix. A switch becomes one line. All further
    // dimensions become boxes.
    void directions() {
        picture_.directions.resize(2);
        for (std::size_t t = 0; t < slice_.tiers.size(); ++t) {
            const SliceTier& tier = slice_.tiers[t];
            std::vector<std::size_t> used;
            for (std::size_t axis = 0; axis < tier.shape.size(); ++axis) {
                if (tier.shape[axis] > 1) used.push_back(axis);
            }
            for (std::size_t i = 0; i < used.size(); ++i) {
                const bool box = t > 0 || i > 1;
                const std::size_t place = box ? picture_.directions.size() : used.size() == 1 ? 1 : i;
                if (box) picture_.directions.emplace_back();
                picture_.directions[place] = direction(t, used[i]);
                direction_of_[{t, used[i]}] = place;
            }
        }
        if (slice_.tiers.empty()) return;
        const NetworkTier& inner = slice_.network(slice_.tiers.front());
        if (has_axes(inner)) return;
        std::string topology = inner.topology;
        std::replace(topology.begin(), topology.end(), '_', ' ');
        const bool pairs = inner.topology == "full_mesh" || inner.topology == "pair";
        const bool domains = slice_.chips() > slice_.tiers.front().members();
        const std::string_view of = domains ? " of a domain" : "";
        picture_.wires = pairs ? fmt::format("every pair{} is connected by {}", of, inner.label)
                               : fmt::format("all{} on one {} {}", of, inner.label, topology);
    }

    [[nodiscard]] MeshDirection direction(std::size_t t, std::size_t axis) const {
        const SliceTier& tier = slice_.tiers[t];
        const bool torus = has_axes(slice_.network(tier));
        MeshDirection direction{tier.shape[axis], torus, torus && tier.wrapped[axis], label(t, axis), "plane"};
        if (t > 0) {
            const NetworkTier& inside = slice_.network(slice_.tiers[t - 1]);
            direction.unit = fmt::format("{} {}", inside.label, has_axes(inside) ? "slice" : "domain");
            if (!torus) direction.network = slice_.network(tier).label;
        }
        return direction;
    }

    // Returns the mesh axes along a direction: "Y", or "X of 4, Y of 2 in steps of 4".
    [[nodiscard]] std::string label(std::size_t tier, std::size_t axis) const {
        std::vector<std::pair<std::int64_t, std::string>> parts;
        const std::int64_t length = slice_.tiers[tier].shape[axis];
        for (const PlacedAxis& placed : answer_.system.mesh) {
            for (const Lane& lane : placed.lanes) {
                if (lane.tier != tier || lane.axis != axis) continue;
                std::string text = placed.name;
                if (lane.size != length) text += fmt::format(" of {}", lane.size);
                if (lane.stride != 1) text += fmt::format(" in steps of {}", lane.stride);
                parts.emplace_back(lane.stride, std::move(text));
            }
        }
        std::sort(parts.begin(), parts.end());
        std::vector<std::string> texts;
        for (auto& part : parts) texts.push_back(std::move(part.second));
        return fmt::format("{}", fmt::join(texts, ", "));
    }

    void axes() {
        for (const PlacedAxis& placed : answer_.system.mesh) {
            PictureAxis axis{placed.name, placed.size, {}, place_text(slice_, placed)};
            for (const Lane& lane : placed.lanes) {
                axis.parts.push_back({direction_of_.at({lane.tier, lane.axis}), lane.size, lane.stride});
            }
            picture_.axes.push_back(std::move(axis));
        }
    }

    // Arrays of the same type share a panel.
    void arrays() {
        std::vector<std::string> whole;
        std::map<std::string, std::vector<std::string>> at;  // arrays that only one chip holds, by that chip
        std::vector<std::pair<std::string, std::vector<std::string>>> types;
        std::map<std::string, std::size_t> known;
        std::set<std::pair<std::string, std::string>> seen;
        for (ValueId id = 0; id < answer_.program.values.size(); ++id) {
            const Value& value = answer_.program.values[id];
            if (value.intermediate) continue;
            const TensorType& type = answer_.types.empty() ? value.type : answer_.types[id];
            const std::string& name = value_name(answer_.program, id);
            const std::string text =
                type_text(answer_.program, type) + (type.at.empty() ? "" : " at " + place_text(type.at));
            if (!seen.emplace(name, text).second) continue;  // a name that is assigned again denotes the same array
            const bool split =
                std::any_of(type.axes.begin(), type.axes.end(), [](const Axis& axis) { return !axis.mesh.empty(); });
            if (!type.at.empty()) {
                at[place_text(type.at)].push_back(name);
                continue;
            }
            if (!split && type.unreduced.empty()) {
                whole.push_back(name);
                continue;
            }
            const auto [place, is_new] = known.emplace(text, types.size());
            if (is_new) {
                types.emplace_back(text, std::vector<std::string>());
                picture_.arrays.push_back(array(type));
            }
            types[place->second].second.push_back(name);
        }
        for (std::size_t i = 0; i < types.size(); ++i) {
            picture_.arrays[i].label = fmt::format("{} : {}", listed(types[i].second), types[i].first);
        }
        for (const auto& [place, names] : at) {
            picture_.notes.push_back(fmt::format("in full only on {}: {}", place, listed(names)));
        }
        if (!whole.empty()) picture_.notes.push_back("in full on every chip: " + listed(whole));
    }

    static std::string listed(const std::vector<std::string>& names) {
        constexpr std::size_t most = 8;
        const std::size_t told = names.size() > most + 1 ? most : names.size();
        const auto end = names.begin() + static_cast<std::ptrdiff_t>(told);
        return fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                           told < names.size() ? fmt::format(" and {} more", names.size() - told) : "");
    }

    [[nodiscard]] std::vector<std::size_t> indices(const std::vector<std::string>& names) const {
        std::vector<std::size_t> out;
        for (const std::string& name : names) {
            const auto& mesh = answer_.system.mesh;
            const auto found =
                std::find_if(mesh.begin(), mesh.end(), [&](const PlacedAxis& axis) { return axis.name == name; });
            if (found != mesh.end()) out.push_back(static_cast<std::size_t>(found - mesh.begin()));
        }
        return out;
    }

    // The first sharded dimension runs down the matrix; all other sharded dimensions run across it.
    [[nodiscard]] MeshArray array(const TensorType& type) const {
        MeshArray array;
        std::vector<std::string> rows;
        std::vector<std::string> columns;
        std::vector<std::string> whole;
        std::set<std::string> used(type.unreduced.begin(), type.unreduced.end());
        for (std::size_t i = 0; i < type.axes.size(); ++i) {
            const Axis& axis = type.axes[i];
            if (axis.mesh.empty()) {
                whole.push_back(dim_text(answer_.program, axis.dim));
                continue;
            }
            used.insert(axis.mesh.begin(), axis.mesh.end());
            // If only the last dimension is sharded, it runs across, as the columns of a matrix do.
            const bool down = rows.empty() && columns.empty() && i + 1 < type.axes.size();
            std::vector<std::size_t>& side = down ? array.row_axes : array.column_axes;
            const auto cut = indices(axis.mesh);
            side.insert(side.end(), cut.begin(), cut.end());
            (down ? rows : columns).push_back(cut_text(axis));
        }
        std::vector<std::string> parts;
        if (!rows.empty()) parts.push_back("down: " + rows.front());
        if (!columns.empty()) parts.push_back(fmt::format("across: {}", fmt::join(columns, ", then ")));
        if (!whole.empty()) parts.push_back(fmt::format("not cut: {}", fmt::join(whole, ", ")));
        array.notes.push_back(fmt::format("{}", fmt::join(parts, "; ")));
        array.notes.push_back(holders(type, used));
        return array;
    }

    // Returns "B over X, 1024 of 4096 each".
    [[nodiscard]] std::string cut_text(const Axis& axis) const {
        std::int64_t ways = 1;
        for (const std::string& name : axis.mesh) {
            if (const PlacedAxis* placed = answer_.system.axis(name)) ways *= placed->size;
        }
        std::string text =
            fmt::format("{} over {}", dim_text(answer_.program, axis.dim), fmt::join(axis.mesh, ", then "));
        const auto size = answer_.program.sizes.find(axis.dim);
        if (size == answer_.program.sizes.end()) return fmt::format("{}, 1/{} each", text, ways);
        const std::int64_t share = (size->second + ways - 1) / ways;
        text += fmt::format(", {} of {} each", share, size->second);
        if (size->second % ways != 0) text += " (padded)";
        return text;
    }

    // Returns which chips hold the same block, and which hold only partial sums of it.
    [[nodiscard]] std::string holders(const TensorType& type, const std::set<std::string>& used) const {
        std::int64_t copies = 1;
        std::vector<std::string> over;
        for (const PlacedAxis& axis : answer_.system.mesh) {
            if (axis.size == 1 || used.contains(axis.name)) continue;
            copies *= axis.size;
            over.push_back(axis.name);
        }
        std::string text = type.unreduced.empty()
                               ? "one chip holds each block"
                               : fmt::format("chips along {} hold partial sums of the same block (unreduced)",
                                             fmt::join(type.unreduced, ", "));
        if (copies > 1 && type.unreduced.empty()) text.clear();
        if (copies > 1) {
            text += fmt::format("{}{} chips hold copies of each{}: all along {}", text.empty() ? "" : "; ", copies,
                                text.empty() ? " block" : "", fmt::join(over, ", "));
        }
        return text;
    }

    const Prediction& answer_;
    const Slice& slice_;
    MeshPicture picture_;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> direction_of_;
};

}  // namespace

Result<MeshPicture> mesh_picture(const Prediction& answer) {
    if (answer.system.mesh.empty()) {
        return fail("no_mesh", "there is no mesh to draw",
                    "give a slice and its mesh: --on tpu-v5e:4x4 --mesh X=4,Y=4");
    }
    return Picturing(answer).run();
}

Result<std::string> op_mesh_plot(const Prediction& answer) {
    ROOFLINE_TRY(auto picture, mesh_picture(answer));
    return to_svg(picture);
}

}  // namespace roofline::core
