#include "import/profile/rocprof_json.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <map>
#include <utility>
#include <vector>

#include "import/profile/event_rows.hpp"

namespace roofline::core {

namespace {

namespace ondemand = simdjson::ondemand;

/// A record of the trace; which fields it has depends on its kind.
struct RocprofRecord {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t thread = 0;
    std::int64_t correlation = no_link;
    std::int64_t device = 0;  ///< handle of an agent
    std::int64_t source = 0;  ///< likewise
    std::int64_t queue = 0;
    std::int64_t kernel = 0;  ///< in the list of kernels
    std::int64_t bytes = 0;
};

struct RocprofAgent {
    bool device = false;
    std::int64_t number = 0;
    std::string name{};
};

/// Names of agents and kernels stand before or after the records that use them, so records are kept until the end.
class RocprofJsonReader {
public:
    RocprofJsonReader(std::string text, const std::string& name)
        : text_(std::move(text)), name_(name), rows_(name, "rocprofv3") {}

    Result<RecordedProfile> run() {
        text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
        ondemand::document document;
        ondemand::object root;
        if (parser_.iterate(text_.data(), text_.size(), text_.capacity()).get(document) != simdjson::SUCCESS ||
            document.get_object().get(root) != simdjson::SUCCESS) {
            return bad();
        }
        for (auto member : root) {
            std::string_view key;
            ondemand::value value;
            if (member.unescaped_key().get(key) != simdjson::SUCCESS) return bad();
            if (member.value().get(value) != simdjson::SUCCESS) return bad();
            if (key == "rocprofiler-sdk-tool" && !read_tools(value)) return full_ ? rows_.too_many() : bad();
        }
        put_records();
        return rows_.finish("record with rocprofv3 --kernel-trace --memory-copy-trace --hip-trace --marker-trace");
    }

private:
    [[nodiscard]] tl::unexpected<Error> bad() const {
        return fail("bad_trace", fmt::format("{}: this is not JSON of rocprofv3, or not all of it", name_),
                    "the file may be cut off: record it again, or give kernel_trace.csv");
    }

    /// Calls `read` with the key and the value of each member. False for what is no object.
    template <class Read>
    static bool members(ondemand::value& value, Read read) {
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) return false;
        for (auto member : object) {
            std::string_view key;
            ondemand::value item;
            if (member.unescaped_key().get(key) != simdjson::SUCCESS) return false;
            if (member.value().get(item) != simdjson::SUCCESS) return false;
            if (!read(key, item)) return false;
        }
        return true;
    }
    template <class Read>
    static bool items(ondemand::value& value, Read read) {
        ondemand::array array;
        if (value.get_array().get(array) != simdjson::SUCCESS) return false;
        for (auto each : array) {
            ondemand::value item;
            if (each.get(item) != simdjson::SUCCESS || !read(item)) return false;
        }
        return true;
    }

    static bool read_number(ondemand::value& value, std::int64_t& into) {
        if (value.get_int64().get(into) == simdjson::SUCCESS) return true;
        std::uint64_t large = 0;  // handles fill 64 bits
        if (value.get_uint64().get(large) != simdjson::SUCCESS) return false;
        into = static_cast<std::int64_t>(large);
        return true;
    }
    static bool read_string(ondemand::value& value, std::string& into) {
        std::string_view text;
        if (value.get_string().get(text) != simdjson::SUCCESS) return false;
        into = text;
        return true;
    }
    static bool read_handle(ondemand::value& value, std::int64_t& into) {
        return members(value, [&](std::string_view key, ondemand::value& item) {
            return key != "handle" || read_number(item, into);
        });
    }

    bool read_tools(ondemand::value& value) {
        ondemand::json_type type{};
        if (value.type().get(type) != simdjson::SUCCESS) return false;
        if (type != ondemand::json_type::array) return read_tool(value);
        return items(value, [&](ondemand::value& tool) { return read_tool(tool); });
    }

    bool read_tool(ondemand::value& value) {
        return members(value, [&](std::string_view key, ondemand::value& item) {
            if (key == "agents") return items(item, [&](ondemand::value& each) { return read_agent(each); });
            if (key == "kernel_symbols") return items(item, [&](ondemand::value& each) { return read_kernel(each); });
            if (key == "strings") return read_strings(item);
            if (key == "buffer_records") return read_records(item);
            return true;
        });
    }

    bool read_agent(ondemand::value& value) {
        RocprofAgent agent;
        std::int64_t handle = 0;
        std::int64_t type = 0;
        std::string product;
        std::string model;
        const bool right = members(value, [&](std::string_view key, ondemand::value& item) {
            if (key == "id") return read_handle(item, handle);
            if (key == "type") return read_number(item, type);
            if (key == "node_id") return read_number(item, agent.number);
            if (key == "name") return read_string(item, agent.name);
            if (key == "product_name") return read_string(item, product);
            if (key == "model_name") return read_string(item, model);
            return true;
        });
        if (!model.empty()) agent.name = model;
        if (!product.empty()) agent.name = product;
        constexpr std::int64_t gpu = 2;
        agent.device = type == gpu;
        agents_[handle] = std::move(agent);
        return right;
    }

    bool read_kernel(ondemand::value& value) {
        std::int64_t id = 0;
        std::string symbol;
        std::string formatted;
        const bool right = members(value, [&](std::string_view key, ondemand::value& item) {
            if (key == "kernel_id") return read_number(item, id);
            if (key == "kernel_name") return read_string(item, symbol);
            if (key == "formatted_kernel_name") return read_string(item, formatted);
            return true;
        });
        kernels_[id] = formatted.empty() ? symbol : formatted;
        return right;
    }

    // A map is a list of pairs of key and value.
    bool read_strings(ondemand::value& value) {
        return members(value, [&](std::string_view key, ondemand::value& list) {
            if (key != "marker_api") return true;
            return items(list, [&](ondemand::value& pair) {
                std::int64_t number = 0;
                std::string message;
                const bool right = members(pair, [&](std::string_view part, ondemand::value& item) {
                    if (part == "key") return read_number(item, number);
                    if (part == "value") return read_string(item, message);
                    return true;
                });
                messages_[number] = std::move(message);
                return right;
            });
        });
    }

    bool read_records(ondemand::value& value) {
        return members(value, [&](std::string_view key, ondemand::value& list) {
            if (key == "kernel_dispatch") return read_list(list, dispatches_);
            if (key == "memory_copy") return read_list(list, copies_);
            if (key == "hip_api") return read_list(list, calls_);
            if (key == "marker_api") return read_list(list, markers_);
            return true;
        });
    }

    bool read_list(ondemand::value& list, std::vector<RocprofRecord>& into) {
        return items(list, [&](ondemand::value& item) {
            constexpr std::size_t most = 50'000'000;
            full_ = dispatches_.size() + copies_.size() + calls_.size() + markers_.size() >= most;
            RocprofRecord record;
            if (full_ || !read_record(item, record)) return false;
            into.push_back(record);
            return true;
        });
    }

    static bool read_record(ondemand::value& value, RocprofRecord& record) {
        return members(value, [&](std::string_view key, ondemand::value& item) {
            if (key == "start_timestamp") return read_number(item, record.start_ns);
            if (key == "end_timestamp") return read_number(item, record.end_ns);
            if (key == "thread_id") return read_number(item, record.thread);
            if (key == "bytes") return read_number(item, record.bytes);
            if (key == "dst_agent_id") return read_handle(item, record.device);
            if (key == "src_agent_id") return read_handle(item, record.source);
            if (key == "correlation_id") return read_correlation(item, record.correlation);
            if (key == "dispatch_info") return read_dispatch(item, record);
            return true;
        });
    }

    static bool read_correlation(ondemand::value& value, std::int64_t& into) {
        return members(value, [&](std::string_view key, ondemand::value& item) {
            return key != "internal" || read_number(item, into);
        });
    }

    static bool read_dispatch(ondemand::value& value, RocprofRecord& record) {
        return members(value, [&](std::string_view key, ondemand::value& item) {
            if (key == "agent_id") return read_handle(item, record.device);
            if (key == "queue_id") return read_handle(item, record.queue);
            if (key == "kernel_id") return read_number(item, record.kernel);
            return true;
        });
    }

    void put_records() {
        for (const auto& [handle, agent] : agents_) {
            if (agent.device) rows_.name_device(agent.number, agent.name);
        }
        const auto agent_of = [&](std::int64_t handle) {
            const auto found = agents_.find(handle);
            return found == agents_.end() ? RocprofAgent{false, handle, ""} : found->second;
        };
        for (const RocprofRecord& record : dispatches_) {
            const auto kernel = kernels_.find(record.kernel);
            EventRow row{record.start_ns, record.end_ns};
            row.name = kernel == kernels_.end() ? std::string_view() : std::string_view(kernel->second);
            row.device = agent_of(record.device).number;
            row.stream = record.queue;
            row.correlation = record.correlation;
            rows_.add(row);
        }
        for (const RocprofRecord& record : copies_) {
            const RocprofAgent from = agent_of(record.source);
            const RocprofAgent to = agent_of(record.device);
            EventRow row{record.start_ns, record.end_ns};
            row.name = copy_name(from.device, to.device, from.number == to.number);
            row.device = to.device ? to.number : from.number;
            row.stream = copy_stream;
            row.work = DeviceWork::copy;
            row.bytes = record.bytes;
            row.correlation = record.correlation;
            rows_.add(row);
        }
        for (const RocprofRecord& record : calls_) {
            rows_.add_launch(record.start_ns, record.end_ns, record.correlation, record.thread);
        }
        for (const RocprofRecord& record : markers_) {
            const auto message = messages_.find(record.correlation);
            if (message != messages_.end()) rows_.add_range(record.start_ns, record.end_ns, message->second);
        }
    }

    std::string text_;
    const std::string& name_;
    ondemand::parser parser_;
    EventRows rows_;
    std::map<std::int64_t, RocprofAgent> agents_;   ///< by handle
    std::map<std::int64_t, std::string> kernels_;   ///< by id
    std::map<std::int64_t, std::string> messages_;  ///< of rocTX, by correlation
    std::vector<RocprofRecord> dispatches_, copies_, calls_, markers_;
    bool full_ = false;
};

}  // namespace

bool is_rocprof_json(std::string_view beginning) {
    return beginning.find("\"rocprofiler-sdk-tool\"") != std::string_view::npos;
}

Result<RecordedProfile> read_rocprof_json(std::string text, const std::string& name) {
    return RocprofJsonReader(std::move(text), name).run();
}

}  // namespace roofline::core
