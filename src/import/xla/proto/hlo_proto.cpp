#include "import/xla/proto/hlo_proto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/proto/hlo_proto_instruction.hpp"
#include "import/xla/proto/hlo_proto_parts.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

namespace {

/// StackFrameIndexProto; ids count from 1.
struct FrameTables {
    std::vector<std::string_view> files;
    std::vector<std::pair<std::int64_t, std::int64_t>> locations;  ///< file and line
    std::vector<std::int64_t> frames;                              ///< their locations

    void locate(std::int64_t frame, XlaOrigin& origin) const {
        const auto find = [](const auto& rows, std::int64_t id) {
            return id > 0 && static_cast<std::size_t>(id) <= rows.size() ? &rows[static_cast<std::size_t>(id - 1)]
                                                                         : nullptr;
        };
        const auto* const location_id = find(frames, frame);
        const auto* const location = location_id == nullptr ? nullptr : find(locations, *location_id);
        if (location == nullptr) return;
        origin.line = static_cast<int>(std::clamp<std::int64_t>(location->second, 0, 1 << 30));
        const auto* const file = find(files, location->first);
        if (file != nullptr) origin.file = *file;
    }
};

/// An instruction's calls, until all computations are known.
struct ProtoCall {
    std::uint32_t computation = 0;
    std::uint32_t instruction = 0;
    std::int64_t callee = 0;
};

class HloProtoReader {
public:
    HloProtoReader(std::shared_ptr<const std::string> bytes, const std::string& name)
        : file_(*bytes, name, "HLO proto") {
        module_.text = std::move(bytes);
        module_.spoken = std::make_shared<std::deque<std::string>>();
        module_.binary = true;
    }

    Result<XlaModule> read() {
        ProtoMessage top(file_);
        ProtoMessage module = top;
        ProtoMessage inner = top;
        // An HloProto has the module in its first field, where a module has its name; only a module has an id (5), the
        // name (2) and the id (6) of its entry.
        bool bare = false;
        bool wrapped = false;
        for (ProtoMessage at = top; at.next();) {
            if (at.field() == 2 || at.field() == 5 || at.field() == 6) bare = true;
            if (at.field() == 1 && !wrapped) {
                wrapped = true;
                inner = at.message();
            }
        }
        ROOFLINE_CHECK(file_.status());
        if (!bare && wrapped) module = inner;
        ROOFLINE_CHECK(read_module(module));
        ROOFLINE_CHECK(resolve());
        return std::move(module_);
    }

private:
    Status read_module(ProtoMessage message) {
        std::vector<std::pair<ProtoMessage, std::size_t>> computations;
        std::vector<std::int64_t> devices = {1, 1};
        while (message.next()) {
            switch (message.field()) {
                case 1:
                    module_.name = std::string(readable(message.bytes(), *module_.spoken));
                    break;
                case 2:
                    entry_name_ = message.bytes();
                    break;
                case 3:
                    computations.emplace_back(message.message(), message.offset());
                    break;
                case 6:
                    entry_id_ = message.integer();
                    break;
                case 7:
                    read_schedule(message.message());
                    add("is_scheduled", "true");
                    break;
                case 8:
                    add_alias(message.message());
                    break;
                case 15:
                    for (ProtoMessage at = message.message(); at.next();) {
                        if (at.field() == 1) devices[0] = at.integer();
                        if (at.field() == 2) devices[1] = at.integer();
                    }
                    break;
                case 17:
                    read_frames(message.message());
                    break;
                case 19:
                    if (std::string text = frontend_attributes_of_proto(message.message()); text != "{}") {
                        add("frontend_attributes", std::move(text));
                    }
                    break;
                default:
                    break;
            }
        }
        ROOFLINE_CHECK(file_.status());
        if (devices[0] > 1) add("replica_count", fmt::format("{}", devices[0]));
        if (devices[1] > 1) add("num_partitions", fmt::format("{}", devices[1]));
        if (computations.empty()) {
            return file_.fail_at(0, "bad_hlo", "the module has no computation",
                                 "give a whole module: --xla_dump_hlo_as_proto writes *.hlo.pb");
        }
        for (const auto& [computation, offset] : computations) ROOFLINE_CHECK(read_computation(computation, offset));
        return {};
    }

    void add(std::string_view key, std::string value) {
        module_.attributes.push_back({key, module_.spoken->emplace_back(std::move(value))});
    }

    void read_schedule(ProtoMessage message) {
        while (message.next()) {
            if (message.field() != 1) continue;
            std::int64_t key = 0;
            std::vector<std::int64_t> ids;
            for (ProtoMessage entry = message.message(); entry.next();) {
                if (entry.field() == 1) key = entry.integer();
                if (entry.field() != 2) continue;
                for (ProtoMessage sequence = entry.message(); sequence.next();) {
                    if (sequence.field() == 1) sequence.add_integers(ids);
                }
            }
            schedules_[key] = std::move(ids);
        }
    }

    // `{ {0}: (1, {}, may-alias) }`: results with the memory of arguments.
    void add_alias(ProtoMessage message) {
        std::vector<std::string> entries;
        while (message.next()) {
            if (message.field() != 1) continue;
            std::vector<std::int64_t> output;
            std::vector<std::int64_t> part;
            std::int64_t parameter = 0;
            std::int64_t kind = 0;
            for (ProtoMessage entry = message.message(); entry.next();) {
                if (entry.field() == 1) entry.add_integers(output);
                if (entry.field() == 2) parameter = entry.integer();
                if (entry.field() == 3) entry.add_integers(part);
                if (entry.field() == 4) kind = entry.integer();
            }
            entries.push_back(fmt::format("{}: ({}, {}, {})", braced_numbers(output), parameter, braced_numbers(part),
                                          kind == 2 ? "must-alias" : "may-alias"));
        }
        if (!entries.empty()) add("input_output_alias", fmt::format("{{ {} }}", fmt::join(entries, ", ")));
    }

    void read_frames(ProtoMessage message) {
        while (message.next()) {
            if (message.field() == 1) frames_.files.push_back(readable(message.bytes(), *module_.spoken));
            if (message.field() == 3) {
                auto& [file, line] = frames_.locations.emplace_back();
                for (ProtoMessage at = message.message(); at.next();) {
                    if (at.field() == 1) file = at.integer();
                    if (at.field() == 3) line = at.integer();
                }
            }
            if (message.field() == 4) {
                std::int64_t& location = frames_.frames.emplace_back();
                for (ProtoMessage at = message.message(); at.next();) {
                    if (at.field() == 1) location = at.integer();
                }
            }
        }
    }

    Status read_computation(ProtoMessage message, std::size_t offset) {
        XlaComputation computation;
        std::vector<HloProtoInstruction> instructions;
        std::int64_t id = 0;
        std::int64_t root = 0;
        while (message.next()) {
            if (message.field() == 1) computation.name = readable(message.bytes(), *module_.spoken);
            if (message.field() == 5) id = message.integer();
            if (message.field() == 6) root = message.integer();
            if (message.field() != 2) continue;
            ROOFLINE_TRY(auto one, read_instruction_proto(file_, message.message(), message.offset(), *module_.spoken));
            if (one.made.origin.file.empty() && one.frame != 0) frames_.locate(one.frame, one.made.origin);
            instructions.push_back(std::move(one));
        }
        ROOFLINE_CHECK(file_.status());
        if (instructions.empty()) {
            return file_.fail_at(offset, "bad_hlo",
                                 fmt::format("the computation {} has no instruction", in_ticks(computation.name)));
        }
        ROOFLINE_CHECK(put_in_order(instructions, id, offset, computation.name));
        const auto index = static_cast<std::uint32_t>(module_.computations.size());
        std::unordered_map<std::int64_t, std::uint32_t> places;
        for (std::uint32_t i = 0; i < instructions.size(); ++i) {
            HloProtoInstruction& one = instructions[i];
            for (const std::int64_t operand : one.operands) {
                const auto found = find_id(places, operand);
                if (found == places.end()) {
                    return file_.fail_at(
                        one.made.offset, "undefined",
                        fmt::format("the operand {} of {} is not defined before it", operand, in_ticks(one.made.name)));
                }
                one.made.operands.push_back(found->second);
            }
            if (!places.emplace(one.id, i).second) {
                return file_.fail_at(one.made.offset, "defined_twice",
                                     fmt::format("a second instruction has the id {}", one.id));
            }
            for (const std::int64_t callee : one.called) calls_.push_back({index, i, callee});
            computation.instructions.push_back(std::move(one.made));
        }
        const auto result = find_id(places, root);
        if (result == places.end()) {
            return file_.fail_at(offset, "undefined",
                                 fmt::format("the computation {} has no instruction {}, which should be its root",
                                             in_ticks(computation.name), root));
        }
        computation.root = result->second;
        if (!computations_.emplace(id, index).second) {
            return file_.fail_at(offset, "defined_twice", fmt::format("a second computation has the id {}", id));
        }
        module_.computations.push_back(std::move(computation));
        starts_.push_back(offset);
        return {};
    }

    // Ids count within the module; versions since 2025 put the computation's id into the upper 32 bits, and some refer
    // by the lower half alone.
    template <class Places>
    static typename Places::const_iterator find_id(const Places& places, std::int64_t id) {
        const auto found = places.find(id);
        if (found != places.end() || places.empty()) return found;
        constexpr std::int64_t upper = std::numeric_limits<std::int64_t>::max() << 32;
        return places.find((places.begin()->first & upper) | (id & ~upper));
    }

    Status put_in_order(std::vector<HloProtoInstruction>& instructions, std::int64_t computation, std::size_t offset,
                        std::string_view name) const {
        const auto schedule = schedules_.find(computation);
        if (schedule == schedules_.end()) return {};
        std::unordered_map<std::int64_t, std::size_t> turns;
        for (const std::int64_t id : schedule->second) turns.emplace(id, turns.size());
        const bool same = turns.size() == schedule->second.size() && turns.size() == instructions.size() &&
                          std::all_of(instructions.begin(), instructions.end(), [&](const HloProtoInstruction& one) {
                              return turns.find(one.id) != turns.end();
                          });
        if (!same) {
            return file_.fail_at(
                offset, "bad_hlo",
                fmt::format("the schedule of the computation {} is not one of its instructions", in_ticks(name)));
        }
        std::sort(instructions.begin(), instructions.end(),
                  [&](const HloProtoInstruction& a, const HloProtoInstruction& b) {
                      return std::pair(turns.at(a.id), a.made.offset) < std::pair(turns.at(b.id), b.made.offset);
                  });
        return {};
    }

    Status resolve() {
        for (const ProtoCall& call : calls_) {
            XlaInstruction& caller = module_.computations[call.computation].instructions[call.instruction];
            const auto found = computations_.find(call.callee);
            if (found == computations_.end()) {
                return file_.fail_at(caller.offset, "undefined",
                                     fmt::format("{} calls the computation {}, which the module lacks",
                                                 in_ticks(caller.name), call.callee));
            }
            caller.called.push_back(found->second);
        }
        const auto entry = computations_.find(entry_id_);
        if (entry != computations_.end()) {
            module_.entry = entry->second;
        } else {
            const auto named = std::find_if(module_.computations.begin(), module_.computations.end(),
                                            [&](const XlaComputation& each) { return each.name == entry_name_; });
            if (named == module_.computations.end()) {
                return file_.fail_at(
                    0, "undefined",
                    fmt::format("the module has no computation {}, which should be its entry", in_ticks(entry_name_)));
            }
            module_.entry = static_cast<std::uint32_t>(named - module_.computations.begin());
        }
        if (const auto cycle = put_callees_first(module_)) {
            return file_.fail_at(
                starts_[*cycle], "cycle",
                fmt::format("the computation {} calls itself", in_ticks(module_.computations[*cycle].name)));
        }
        return {};
    }

    ProtoFile file_;
    XlaModule module_;
    FrameTables frames_;
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> schedules_;
    std::unordered_map<std::int64_t, std::uint32_t> computations_;
    std::vector<ProtoCall> calls_;
    std::vector<std::size_t> starts_;
    std::string_view entry_name_;
    std::int64_t entry_id_ = 0;
};

}  // namespace

Result<XlaModule> read_hlo_proto(std::string bytes, const std::string& name) {
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    return HloProtoReader(std::move(kept), name).read();
}

}  // namespace roofline::core
