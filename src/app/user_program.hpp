// Reads the program of a request and applies the sizes of the request, for all commands that take a program.
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
    std::vector<std::string> notes;  ///< about sizes that override those in the text, and suspicious sums
};

/// Parses --sweep. Errors: an invalid form; more than two axes.
[[nodiscard]] Result<std::vector<SweepAxis>> sweep_axes(const OpRequest& request);

/// Returns the request's program with the sizes of --dims; if `at` has a size for each axis, at that point of the
/// sweep. Errors: there is no program; it lacks a dimension; a dimension has a size and is swept.
[[nodiscard]] Result<UserProgram> read_program(const OpRequest& request, const std::vector<SweepAxis>& axes,
                                               std::span<const std::int64_t> at = {});

/// Parses the values of --mesh, which may be repeated; empty if it is not given. Errors: an invalid form.
[[nodiscard]] Result<std::vector<MeshAxis>> named_mesh(std::span<const std::string> texts);

/// Returns the mesh of --mesh, or else of the program's text, as far as they can be parsed. Errors in them are reported
/// by read_program() and named_mesh().
[[nodiscard]] std::vector<MeshAxis> readable_mesh(const OpRequest& request);

}  // namespace roofline::core
