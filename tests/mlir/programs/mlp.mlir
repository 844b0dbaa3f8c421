// Two layers with bias and relu; the weights are constants that are transposed while reading.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @mlp(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense_resource<weights> : tensor<4x2xf32>
  %b = arith.constant dense<[0.5, -0.25, 0.0, 1.0]> : tensor<4xf32>
  %v = arith.constant dense<[[1.0, -1.0], [0.5, 2.0], [-0.5, 0.25], [3.0, -2.0]]> : tensor<4x2xf32>
  %e0 = tensor.empty() : tensor<2x4xf32>
  %wt = linalg.transpose ins(%w : tensor<4x2xf32>) outs(%e0 : tensor<2x4xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<3x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %xw = linalg.matmul ins(%x, %wt : tensor<3x2xf32>, tensor<2x4xf32>) outs(%z1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%xw, %b : tensor<3x4xf32>, tensor<4xf32>) outs(%e1 : tensor<3x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    %c = arith.cmpf ugt, %s, %zero : f32
    %r = arith.select %c, %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<3x4xf32>
  %e2 = tensor.empty() : tensor<3x2xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %y = linalg.matmul ins(%h, %v : tensor<3x4xf32>, tensor<4x2xf32>) outs(%z2 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F000000400000004000000000000080BF0000803F0000003F000000BF"
    }
  }
#-}
