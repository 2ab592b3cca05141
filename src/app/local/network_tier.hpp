// Converts timed exchanges to a network tier of a machine, with the models of its collectives.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/calibration.hpp"
#include "machine/machine.hpp"
#include "measure/network/time_exchanges.hpp"

namespace roofline::core {

/// The timed exchanges and the ranks that ran them.
struct NetworkTiming {
    std::vector<TimedExchange> timed;
    std::string library;  ///< "Open MPI 4.1.4"
    int ranks = 2;
    int hosts = 1;
    std::string date;
};

/// Returns the name of a library as tables spell it: "openmpi 4.1.4" for "Open MPI 4.1.4".
[[nodiscard]] std::string software_name(const std::string& library);

struct MeasuredNetwork {
    Machine machine;                           ///< with the tier innermost; it replaces a tier of the same name
    std::vector<CalibratedCollective> models;  ///< models of its collectives
    std::vector<double> rates;  ///< by timed exchange: the least bytes/s that a rank's link must carry to explain it
    [[nodiscard]] const NetworkTier& tier() const { return machine.network.front(); }
};

/// Adds the tier to the machine. Its rate is the highest that any timed exchange needs and its latency the shortest
/// that any took, so no measurement is below a bound computed from them. On one host the tier is the memory that the
/// ranks share, and the ranks divide the machine; between hosts it is the network that connects them. Errors: a machine
/// that predictions cannot use.
[[nodiscard]] Result<MeasuredNetwork> with_network(const Machine& machine, const NetworkTiming& timing);

/// Returns the machine's file with its calibration, which replaces that of the same tier in `before`, the text of the
/// existing file.
[[nodiscard]] Result<std::string> machine_file(const MeasuredNetwork& network, const std::string& before,
                                               const std::string& name, const NetworkTiming& timing);

}  // namespace roofline::core
