// A masked fill by an argument of numbers, and a mask that multiplies.
#id = affine_map<(i, j) -> (i, j)>
func.func @fill(%x: tensor<3x4xf32>, %m: tensor<3x4xf32>, %d: tensor<3x4xi1>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0 : f32
  %e = tensor.empty() : tensor<3x4xf32>
  %e1 = tensor.empty() : tensor<3x4xi1>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%m : tensor<3x4xf32>) outs(%e1 : tensor<3x4xi1>) {
  ^bb0(%p: f32, %out: i1):
    %r = arith.cmpf oeq, %p, %zero : f32
    linalg.yield %r : i1
  } -> tensor<3x4xi1>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%n, %x : tensor<3x4xi1>, tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%p: i1, %q: f32, %out: f32):
    %r = arith.select %p, %low, %q : f32
    linalg.yield %r : f32
  } -> tensor<3x4xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%d, %x : tensor<3x4xi1>, tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%p: i1, %q: f32, %out: f32):
    %f = arith.uitofp %p : i1 to f32
    %r = arith.mulf %f, %q : f32
    linalg.yield %r : f32
  } -> tensor<3x4xf32>
  return %a, %b : tensor<3x4xf32>, tensor<3x4xf32>
}
