// The program that a user wrote, with what the request says about its sizes: read here for every command that takes
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "base/result.hpp"
#include "bound/sweep.hpp"
#include "program/program.hpp"

namespace roofline::core {

struct UserProgram {
    Program program;
    std::vector<std::string> notes;  ///< sizes that overrule the text's, sums that may be slips
};

/// What --sweep says. Errors: no such form, more than two.
[[nodiscard]] Result<std::vector<SweepAxis>> sweep_axes(const OpRequest& request);

/// The request's program with the sizes of --dims, and at one point of its sweep where `at` has a size for each axis.
/// Errors: no program, a dimension that it lacks, one that has a size and is swept.
[[nodiscard]] Result<UserProgram> read_program(const OpRequest& request, const std::vector<SweepAxis>& axes,
                                               std::span<const std::int64_t> at = {});

/// What --mesh says, given once or more often; empty where it is not given. Errors: no such form.
[[nodiscard]] Result<std::vector<MeshAxis>> named_mesh(std::span<const std::string> texts);

/// The mesh of --mesh, else of the program's text, as far as they can be read: read_program() and named_mesh() have the
/// errors.
[[nodiscard]] std::vector<MeshAxis> readable_mesh(const OpRequest& request);

}  // namespace roofline::core
