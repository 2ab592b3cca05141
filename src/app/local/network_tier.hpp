// Timed exchanges as a tier of a machine, with the laws of its collectives.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/calibration.hpp"
#include "machine/machine.hpp"
#include "measure/network/time_exchanges.hpp"

namespace roofline::core {

/// What was timed, and between whom.
struct NetworkTiming {
    std::vector<TimedExchange> timed;
    std::string library;  ///< "Open MPI 4.1.4"
    int ranks = 2;
    int hosts = 1;
    std::string date;
};

/// "openmpi 4.1.4": the library as tables name it.
[[nodiscard]] std::string software_name(const std::string& library);

struct MeasuredNetwork {
    Machine machine;                  ///< with the tier, innermost, in the place of one of the same name
    std::vector<CalibratedLaw> laws;  ///< of its collectives
    std::vector<double> rates;  ///< by timed exchange: bytes/s that a rank's way in or out must carry at the least
    [[nodiscard]] const NetworkTier& tier() const { return machine.network.front(); }
};

/// The tier that no timed exchange was faster than: its rate is the highest that any of them needs, its latency the shortest
/// that any took; so no measurement is below a bound made of them. On one host it is memory that the ranks share, and they
/// divide the machine; between hosts it is whatever joins these. Errors: a machine that cannot be priced.
[[nodiscard]] Result<MeasuredNetwork> with_network(const Machine& machine, const NetworkTiming& timing);

/// The machine's file with its constants, in the place of those that `before` has for the same tier; `before` is the file's text
/// so far.
[[nodiscard]] Result<std::string> machine_file(const MeasuredNetwork& network, const std::string& before,
                                               const std::string& name, const NetworkTiming& timing);

}  // namespace roofline::core
