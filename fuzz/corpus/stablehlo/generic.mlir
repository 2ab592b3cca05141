"builtin.module"() <{sym_name = "g"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4, "y"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{replicated}"}, {}], function_type = (tensor<16x32xf32>, tensor<4x3xi32>) -> tensor<16x32xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x32xf32>, %arg1: tensor<4x3xi32>):
    %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>, manual_axes = #sdy<manual_axes{"x", "y"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>}> ({
    ^bb0(%arg2: tensor<4x16xf32>):
      %2 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %3 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%3) : (tensor<f32>) -> ()
      }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
      "sdy.return"(%2) : (tensor<4x16xf32>) -> ()
    }) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %1 = "stablehlo.convolution"(%arg0, %arg0) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[b, f]>, feature_group_count = 1 : i64, padding = dense<> : tensor<0x2xi64>, window_strides = array<i64>}> : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x16xf32>
    %4:2 = "foo.bar"(%0) ({
    }) {x = dense<"0x0102"> : tensor<2xi8>} : (tensor<16x32xf32>) -> (tensor<4x?xf32, #stablehlo.bounds<?, 5>>, tuple<tensor<2xf32>, !stablehlo.token>)
    "func.return"(%0) : (tensor<16x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32} : () -> ()
