// Requests that concern this machine: measuring it, and running a program on it. Unlike a Request, they take time and
// hardware.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/request.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// How long a measurement may take: about ten seconds, about a minute, or as long as it needs to be certain.
enum class Effort : std::uint8_t { quick, normal, thorough };

/// Upper limit, in seconds, for an exchange in a healthy job.
constexpr double rank_timeout = 300;

struct MeasureRequest {
    enum class Part : std::uint8_t { cpu, network, gpu };
    Part part = Part::cpu;
    Effort effort = Effort::normal;
    std::string output;                    ///< the machine file to write; "" for the one that `--on this` reads
    std::string date;                      ///< "2026-01-31"
    std::optional<NamedText> before{};     ///< the current content of that machine file, if it exists
    double rank_timeout_s = rank_timeout;  ///< limit for an exchange between ranks; a longer one ends the job
    bool replace = false;                  ///< a quick measurement may replace a full one
};

/// A request of `roofline run`.
struct RunRequest {
    OpRequest op;  ///< the program, and the machine whose prediction it is compared with
    Effort effort = Effort::normal;
    int threads = 0;                       ///< 0: one per core
    double rank_timeout_s = rank_timeout;  ///< limit for an exchange between ranks; a longer one ends the job
    PlotKind plot = PlotKind::none;
    bool page = false;            ///< a report, too
    bool on_gpu = false;          ///< run on the GPU instead of the processor
    std::string gpu_libraries{};  ///< folder of NVIDIA's libraries; "" for the system's paths
};

/// A search for plans in several processes: each rank searches a part.
struct PlanRanksRequest {
    PlanRequest plan;
};

/// Serves the page to this machine's browser until it is interrupted.
struct PageServerRequest {
    int port = 0;        ///< 0: any free one
    std::string file{};  ///< the page; "" for that beside the program, or of its installation
    bool open = true;    ///< in the user's browser
    std::function<Result<std::string>(const std::string&)> read{};  ///< reads a file
    std::function<Status(const std::string&)> say{};                ///< prints at once
};

using AnyLocalRequest = std::variant<MeasureRequest, RunRequest, PlanRanksRequest, PageServerRequest>;

struct LocalRequest {
    AnyLocalRequest what;
    Format format = Format::text;
    bool color = false;
};

/// Handles the request. Exit codes in addition to those of handle(): 3 if the hardware, or a library for it, is absent;
/// 130 if interrupted.
[[nodiscard]] Response handle_local(const LocalRequest& request, Progress& progress);

[[nodiscard]] Result<Response> handle(const MeasureRequest& request, Format format, bool color, Progress& progress);
[[nodiscard]] Result<Response> handle(const RunRequest& request, Format format, bool color, Progress& progress);
[[nodiscard]] Result<Response> handle(const PlanRanksRequest& request, Format format, bool color, Progress& progress);
/// Errors: code `absent` if the page or the module that serves it is missing; a port that is in use.
[[nodiscard]] Result<Response> handle(const PageServerRequest& request, Format format, bool color, Progress& progress);

}  // namespace roofline::core
