// Reads StableHLO text, as `jax.jit(f).lower(...).as_text()`, torch-xla and `stablehlo-opt` write it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Reads a module, or functions without one, in the pretty syntax, the generic one, or both mixed; the text may have
/// locations. It becomes what XLA's own export makes of it: opcodes and attributes of HLO (`dot` with
/// `lhs_contracting_dims={1}`, `window={size=3x3}`), functions and regions as computations. The entry is the function
/// `@main`, or else the first public one. What HLO has no word for is kept as follows.
///
/// - `while`: its variables are one tuple, even if there is only one; values of outer regions that condition or body
///   use follow as more parts of it. Each branch of `case` and `if` has one parameter: the tuple of what it uses from
///   outside. Other regions get such values as parameters after their own, and the operation as its last operands: the
///   attribute `captured=N` says how many. Constants of outer regions are repeated inside instead.
/// - Several results are a tuple; `%0#1` is a `get-tuple-element` named `0#1`.
/// - Constants: `literal` is what stands inside of `dense<...>`; one number fills an array of any shape.
/// - `mhlo.sharding` is `sharding={...}`. `sdy.sharding` and `mhlo.frontend_attributes` are in
///   `frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"x\"}, {}]>"}`; shardings of a function's results
///   stand on a custom call "xla.sdy.FuncResultSharding" around each. `sdy.mesh` is the module's
///   `frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=4]>}}`.
/// - `sdy.sharding_constraint` is a custom call "Sharding". `sdy.manual_computation` is a `call` of the body, which
///   has the shapes of one device, between custom calls "xla.sdy.GlobalToLocalShape" and "xla.sdy.LocalToGlobalShape",
///   with `xla.sdy.in_shardings`, `out_shardings` and `manual_axes` in their frontend attributes. `sdy.all_reduce` and
///   the other collectives of Shardy, and `sdy.reshard`, keep their full name as opcode, with the attributes `axes`
///   (`params` of all_to_all), `out_sharding`, and `sharding` of reshard, as Shardy writes them.
/// - `all_to_all` has the dimension that is split as `dimensions={0}`, and `concat_dimension` and `split_count`, from
///   which XLA makes a reshape and a transpose.
/// - Composites are calls with `is_composite=true` and `composite.name` in their frontend attributes.
/// - Operations that HLO lacks, of any dialect, keep their full name as opcode ("chlo.lgamma", "stablehlo.einsum") and
///   their attributes as MLIR writes them; so do attributes that HLO lacks. At the top of a module they are attributes
///   of the module.
///
/// `name` stands in messages. Errors, with their place: MLIR bytecode and VHLO (the hint says what to ask for); text
/// that is no StableHLO or cut off; values, functions and locations that are not defined or defined twice; functions
/// that call each other in a circle; jumps between blocks; dimensions without a size or a bound; shapes that cannot be
/// counted; regions, brackets and locations nested deeper than 256 levels; several modules.
[[nodiscard]] Result<XlaModule> read_stablehlo_text(std::string text, const std::string& name);

}  // namespace roofline::core
