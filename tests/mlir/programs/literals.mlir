// Constants of every kind: numbers, lists, splats, halves, bits and resources.
#id = affine_map<(i) -> (i)>
func.func @literals(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = arith.constant dense<[1.5, -2.5, 0.25]> : tensor<3xbf16>
  %b = arith.constant dense<[0.5, 1.0, -4.0]> : tensor<3xf16>
  %c = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %d = arith.constant dense<[3, -2, 1]> : tensor<3xi32>
  %g = arith.constant dense_resource<doubles> : tensor<3xf64>
  %h = arith.constant dense_resource<halves> : tensor<3xbf16>
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %a, %b, %c, %d, %g, %h : tensor<3xf32>, tensor<3xbf16>, tensor<3xf16>, tensor<3xi1>, tensor<3xi32>, tensor<3xf64>, tensor<3xbf16>) outs(%e : tensor<3xf32>) {
  ^bb0(%p: f32, %q: bf16, %r: f16, %s: i1, %t: i32, %u: f64, %v: bf16, %out: f32):
    %q1 = arith.extf %q : bf16 to f32
    %r1 = arith.extf %r : f16 to f32
    %s1 = arith.uitofp %s : i1 to f32
    %t1 = arith.sitofp %t : i32 to f32
    %u1 = arith.truncf %u : f64 to f32
    %v1 = arith.extf %v : bf16 to f32
    %0 = arith.mulf %p, %q1 : f32
    %1 = arith.addf %0, %r1 : f32
    %2 = arith.addf %1, %s1 : f32
    %3 = arith.addf %2, %t1 : f32
    %4 = arith.mulf %3, %u1 : f32
    %5 = arith.addf %4, %v1 : f32
    linalg.yield %5 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}
{-#
  dialect_resources: {
    builtin: {
      doubles: "0x08000000000000000000F03F0000000000000040000000000000E0BF",
      halves: "0x02000000C03F80BF0040"
    }
  }
#-}
