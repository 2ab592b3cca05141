// Collectives that are written: programs of one chip, such as compilers make, say what it exchanges with others.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "program/collective_info.hpp"
#include "program/program.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// Returns the collective of a function such as all_reduce[X](x); nothing for any other function.
[[nodiscard]] std::optional<CollectiveKind> written_collective(std::string_view function);

/// Gives the messages of statements their bytes and numbers once the mesh is known. Errors: no mesh; an axis that it
/// lacks; a program that is sharded as well, for which collectives are derived; counts beyond 63 bits.
[[nodiscard]] Status finish_collectives(const Source& source, Program& program);

}  // namespace roofline::core
