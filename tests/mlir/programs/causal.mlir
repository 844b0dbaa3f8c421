// A mask that follows from the loops, one from an iota, and one that is added: all constant.
#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (i, 0)>
#row = affine_map<(i, j) -> (0, j)>
func.func @causal(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sle, %j, %i : index
    %r = arith.select %c, %p, %lowest : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %e1 = tensor.empty() : tensor<4xi64>
  %iota = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e1 : tensor<4xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %r = arith.index_cast %i : index to i64
    linalg.yield %r : i64
  } -> tensor<4xi64>
  %c = tensor.expand_shape %iota [[0, 1]] output_shape [4, 1] : tensor<4xi64> into tensor<4x1xi64>
  %r = tensor.expand_shape %iota [[0, 1]] output_shape [1, 4] : tensor<4xi64> into tensor<1x4xi64>
  %e2 = tensor.empty() : tensor<4x4xi1>
  %above = linalg.generic {indexing_maps = [#row, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%r, %c : tensor<1x4xi64>, tensor<4x1xi64>) outs(%e2 : tensor<4x4xi1>) {
  ^bb0(%p: i64, %q: i64, %out: i1):
    %t = arith.cmpi sgt, %p, %q : i64
    linalg.yield %t : i1
  } -> tensor<4x4xi1>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%above, %x : tensor<4x4xi1>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: i1, %q: f32, %out: f32):
    %t = arith.select %p, %lowest, %q : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  %m = arith.constant dense<[[0.0, -1.0e9, 0.0, 0.0], [0.0, 0.0, 0.0, -1.0e9], [-1.0e9, -1.0e9, -1.0e9, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %d = linalg.add ins(%x, %m : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b, %d : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
