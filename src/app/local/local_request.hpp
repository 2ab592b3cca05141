// What is asked of this machine: to measure it, and to run a program on it. Unlike a Request, answering it takes time and hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/request.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

/// How long a measurement may take: about ten seconds, a minute, or as long as it takes to be sure.
enum class Effort : std::uint8_t { quick, normal, thorough };

/// `roofline measure`
/// Seconds that no exchange of a sound job lasts.
constexpr double rank_timeout = 300;

struct MeasureRequest {
    enum class Part : std::uint8_t { cpu, network, gpu };
    Part part = Part::cpu;
    Effort effort = Effort::normal;
    std::string output;                    ///< the machine file to write; "" for the one that `--on this` reads
    std::string date;                      ///< "2026-01-31"
    std::optional<NamedText> before{};     ///< that machine file as it is now, where there is one
    double rank_timeout_s = rank_timeout;  ///< of an exchange between ranks, which ends the job
    bool replace = false;                  ///< a quick measurement may replace a full one
};

/// `roofline run`
struct RunRequest {
    OpRequest op;  ///< what is run, and against which machine's prediction
    Effort effort = Effort::normal;
    int threads = 0;                       ///< 0: one for each core
    double rank_timeout_s = rank_timeout;  ///< of an exchange between ranks, which ends the job
    PlotKind plot = PlotKind::none;
    bool on_gpu = false;          ///< instead of the processor
    std::string gpu_libraries{};  ///< where NVIDIA's are; "" for where the system has them
};

using AnyLocalRequest = std::variant<MeasureRequest, RunRequest>;

struct LocalRequest {
    AnyLocalRequest what;
    Format format = Format::text;
    bool color = false;
};

/// Answers it. Exit codes beside those of handle(): 3 the hardware, or a library for it, is absent; 130 interrupted.
[[nodiscard]] Response handle_local(const LocalRequest& request, Progress& progress);

[[nodiscard]] Result<Response> handle(const MeasureRequest& request, Format format, bool color, Progress& progress);
[[nodiscard]] Result<Response> handle(const RunRequest& request, Format format, bool color, Progress& progress);

}  // namespace roofline::core
