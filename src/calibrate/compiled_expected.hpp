// The expected time of a program, compiled for many sizes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/expected_program.hpp"

namespace roofline::core {

/// An expected time and its expected relative error: the average of the errors of kernels and collectives, weighted by
/// their times.
struct ExpectedProgramTime {
    double seconds = 0;
    double error = 0;
    double collectives_s = 0;  ///< the part of `seconds` that collectives take
    /// The longest of the times that all kernels together need on the matrix units, on the vector units and in memory.
    double bound_s = 0;
};

/// The expected time of a program, compiled, so that a sweep and a single evaluation use the same code. Kernels run
/// sequentially, and collectives do not overlap with them.
class CompiledExpected {
public:
    /// `models` must have no missing models. `system` is the system that the messages are sent on.
    CompiledExpected(const Program& program, const ProgramAnalysis& analysis, const System& system,
                     const ProgramModels& models, const std::vector<std::string>& swept);

    [[nodiscard]] std::size_t places() const { return places_; }
    /// Does not allocate. `scratch` has places() elements.
    [[nodiscard]] ExpectedProgramTime evaluate(std::span<const double> sizes, std::span<double> scratch) const;

private:
    struct Kernel {
        CompiledKernel compiled;
        KernelFit fit;
        double error = 0;                         ///< at measured sizes
        const CalibratedKernel* other = nullptr;  ///< of ProgramModels::others
        double other_error = 0;                   ///< at measured sizes
        const Growths* growths = nullptr;
        const KernelFit* quantised = nullptr;
        double alike = 1;  ///< number of kernels that are equal but for names
    };
    struct MessageModel {
        ExpectedTime expected;
        /// The input of the model for a single byte; all inputs are proportional to the bytes.
        CollectivePoint point_per_byte;
        double lower_s_per_byte = 0;
        double latency_s = 0;                  ///< lower bound for zero bytes
        std::optional<ExchangeLinks> wires{};  ///< of an expert dispatch or combine
        double choices = 1;                    ///< number of experts per token
    };
    /// Offsets into `messages_`: four values per message.
    enum MessageCount : std::size_t { bytes_place, times_place, row_bytes_place, experts_place, counts_of_message };
    [[nodiscard]] static double seconds(const MessageModel& model, std::span<const double> counts);
    CompiledSums traffic_;
    std::vector<Kernel> kernels_;
    std::vector<MessageModel> message_models_;
    /// Per message its bytes, number of executions and, for expert dispatch, bytes per row and number of experts.
    CompiledSums messages_;
    std::size_t places_ = 0;
};

}  // namespace roofline::core
