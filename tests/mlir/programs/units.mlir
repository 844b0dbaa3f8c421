// Modes of size 1: read at 0, come and go, and broadcast.
#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (i, 0)>
#row = affine_map<(i, j) -> (0, j)>
func.func @units(%a: tensor<3x1xf32>, %b: tensor<1x4xf32>, %c: tensor<1x1xf32>) -> (tensor<3x4xf32>, tensor<f32>) {
  %e = tensor.empty() : tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [#col, #row, affine_map<(i, j) -> (0, 0)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b, %c : tensor<3x1xf32>, tensor<1x4xf32>, tensor<1x1xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32, %out: f32):
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %s : f32
    linalg.yield %u : f32
  } -> tensor<3x4xf32>
  %d = tensor.collapse_shape %c [] : tensor<1x1xf32> into tensor<f32>
  return %r, %d : tensor<3x4xf32>, tensor<f32>
}
