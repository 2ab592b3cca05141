// Sweeps of a machine's figures by --sweep, in every command that prices something.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/figure_sweep.hpp"

namespace roofline::core {

/// Whether one of the sweeps is of a figure of the machine rather than of a size.
[[nodiscard]] bool sweeps_figures(const std::vector<std::string>& sweeps);

/// Answers a request with sweeps, at least one of which is of a figure or, of a model, of a size. At each point it is
/// the ordinary answer with --set and the sizes. Errors: more than two axes; those of parse_figure_range() and
/// parse_sweep(); a size that the command does not have; more points than are answered, with their number; those of the
/// command if no point has an answer.
[[nodiscard]] Result<Response> swept_response(const OpRequest& request, Format format);
[[nodiscard]] Result<Response> swept_response(const TrainRequest& request, Format format);
[[nodiscard]] Result<Response> swept_response(const ServeRequest& request, Format format);
[[nodiscard]] Result<Response> swept_response(const PlanRequest& request, Format format);
[[nodiscard]] Result<Response> swept_response(const ServePlanRequest& request, Format format);

/// Returns what a sweep tells of a request about one machine: of a program its time, of training that of a step, of
/// serving that of an output token; of a search for servers the rate is tokens/s per chip, or for the least cost tokens
/// per USD. Errors: those of the command; sizes that are not known; a search that was
/// interrupted.
[[nodiscard]] Result<SweptAnswer> swept_answer(const OpRequest& request);
[[nodiscard]] Result<SweptAnswer> swept_answer(const TrainRequest& request);
[[nodiscard]] Result<SweptAnswer> swept_answer(const ServeRequest& request);
[[nodiscard]] Result<SweptAnswer> swept_answer(const PlanRequest& request);
[[nodiscard]] Result<SweptAnswer> swept_answer(const ServePlanRequest& request);

}  // namespace roofline::core
