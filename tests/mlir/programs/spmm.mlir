// C = A B, A in CSC, the loops written out.
#CSC = #sparse_tensor.encoding<{ map = (i, j) -> (j : dense, i : compressed) }>
#A = affine_map<(i, j, k) -> (i, k)>
#B = affine_map<(i, j, k) -> (k, j)>
#C = affine_map<(i, j, k) -> (i, j)>
func.func @spmm(%a: tensor<6x5xf32, #CSC>, %b: tensor<5x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<6x4xf32>
  %c = linalg.generic {indexing_maps = [#A, #B, #C], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<6x5xf32, #CSC>, tensor<5x4xf32>) outs(%zero : tensor<6x4xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %pq = arith.mulf %p, %q : f32
    %next = arith.addf %sum, %pq : f32
    linalg.yield %next : f32
  } -> tensor<6x4xf32>
  return %c : tensor<6x4xf32>
}
