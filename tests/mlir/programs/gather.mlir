// Rows at constant places.
#id = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
func.func @gather(%x: tensor<4x3xf32>) -> tensor<5x3xf32> {
  %at = arith.constant dense<[3, 0, 0, 2, 1]> : tensor<5xi64>
  %e = tensor.empty() : tensor<5x3xf32>
  %y = linalg.generic {indexing_maps = [#i, #id], iterator_types = ["parallel", "parallel"]}
    ins(%at : tensor<5xi64>) outs(%e : tensor<5x3xf32>) {
  ^bb0(%p: i64, %out: f32):
    %r = arith.index_cast %p : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%r, %j] : tensor<4x3xf32>
    linalg.yield %v : f32
  } -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}
