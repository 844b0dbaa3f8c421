// Maxima of windows, every second one, and one row at a fixed place.
#x = affine_map<(i, k) -> (i * 2 + k)>
#k = affine_map<(i, k) -> (k)>
#i = affine_map<(i, k) -> (i)>
func.func @windows(%x: tensor<8xf32>, %y: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<4xf32>) {
  %low = arith.constant dense<0xFF800000> : tensor<3xf32>
  %window = tensor.empty() : tensor<3xf32>
  %m = linalg.generic {indexing_maps = [#x, #k, #i], iterator_types = ["parallel", "reduction"]}
    ins(%x, %window : tensor<8xf32>, tensor<3xf32>) outs(%low : tensor<3xf32>) {
  ^bb0(%p: f32, %unused: f32, %acc: f32):
    %r = arith.maximumf %p, %acc : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %e = tensor.empty() : tensor<4xf32>
  %row = linalg.generic {indexing_maps = [affine_map<(i) -> (1, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%y : tensor<3x4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<4xf32>
  return %m, %row : tensor<3xf32>, tensor<4xf32>
}
