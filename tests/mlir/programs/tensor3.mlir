// A sparse tensor of three modes times a vector, along the middle one.
#CSF = #sparse_tensor.encoding<{ map = (i, j, k) -> (k : compressed, i : compressed, j : compressed) }>
#T = affine_map<(i, k, j) -> (i, j, k)>
#v = affine_map<(i, k, j) -> (j)>
#o = affine_map<(i, k, j) -> (k, i)>
func.func @ttv(%t: tensor<3x4x5xf32, #CSF>, %v: tensor<4xf32>) -> tensor<5x3xf32> {
  %zero = arith.constant dense<0.0> : tensor<5x3xf32>
  %r = linalg.generic {indexing_maps = [#T, #v, #o], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%t, %v : tensor<3x4x5xf32, #CSF>, tensor<4xf32>) outs(%zero : tensor<5x3xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %pq = arith.mulf %p, %q : f32
    %next = arith.addf %pq, %sum : f32
    linalg.yield %next : f32
  } -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}
