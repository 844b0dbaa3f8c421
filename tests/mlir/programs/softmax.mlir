// A softmax of rows: the maximum comes with its place, which nobody reads.
#id = affine_map<(i, j) -> (i, j)>
#keep = affine_map<(i, j) -> (i, 0)>
#drop = affine_map<(i, j) -> (i)>
func.func @softmax(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i64
  %e0 = tensor.empty() : tensor<4xf32>
  %e1 = tensor.empty() : tensor<4xi64>
  %e2 = tensor.empty() : tensor<4x6xf32>
  %e3 = tensor.empty() : tensor<4x1xf32>
  %i0 = linalg.fill ins(%lowest : f32) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %i1 = linalg.fill ins(%none : i64) outs(%e1 : tensor<4xi64>) -> tensor<4xi64>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %m:2 = linalg.generic {indexing_maps = [#id, #drop, #drop], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<4x6xf32>) outs(%i0, %i1 : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%p: f32, %max: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %larger = arith.maximumf %p, %max : f32
    %new = arith.cmpf ogt, %p, %max : f32
    %place = arith.select %new, %k, %at : i64
    linalg.yield %larger, %place : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  %mx = tensor.expand_shape %m#0 [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %e = linalg.generic {indexing_maps = [#id, #keep, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mx : tensor<4x6xf32>, tensor<4x1xf32>) outs(%e2 : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %d = arith.subf %p, %q : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#id, #keep], iterator_types = ["parallel", "reduction"]}
    ins(%e : tensor<4x6xf32>) outs(%i3 : tensor<4x1xf32>) {
  ^bb0(%p: f32, %sum: f32):
    %r = arith.addf %p, %sum : f32
    linalg.yield %r : f32
  } -> tensor<4x1xf32>
  %y = linalg.generic {indexing_maps = [#id, #keep, #id], iterator_types = ["parallel", "parallel"]}
    ins(%e, %s : tensor<4x6xf32>, tensor<4x1xf32>) outs(%e2 : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %r = arith.divf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
