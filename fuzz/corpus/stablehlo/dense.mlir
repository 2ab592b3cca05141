module @dense attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %w: tensor<8x8xbf16>) -> (tensor<16x8xbf16> {jax.result_info = ""}) {
    %cst = stablehlo.constant dense<[[1.0, 2.0], [3.0, 0x7F80]]> : tensor<2x2xbf16>
    %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xbf16>, tensor<8x8xbf16>) -> tensor<16x8xbf16> loc(#loc2)
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<16x8xbf16>
    %2 = call @relu(%1) : (tensor<16x8xbf16>) -> tensor<16x8xbf16>
    %3 = stablehlo.slice %2 [0:16:2, 0:8] : (tensor<16x8xbf16>) -> tensor<8x8xbf16>
    %4 = stablehlo.custom_call @Thing(%3) {backend_config = "{\22k\22: 1}", api_version = 1 : i32} : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
    return %2 : tensor<16x8xbf16> loc(#loc)
  } loc(#loc)
  func.func private @relu(%a: tensor<16x8xbf16>) -> tensor<16x8xbf16> {
    %z = stablehlo.constant dense<0.0> : tensor<bf16>
    %0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<bf16>) -> tensor<16x8xbf16>
    %1 = stablehlo.maximum %a, %0 : tensor<16x8xbf16>
    return %1 : tensor<16x8xbf16>
  }
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("net.py":7:3 to :9)
#loc2 = loc("jit(f)/dot"(callsite(#loc1 at fused["a", #loc])))
