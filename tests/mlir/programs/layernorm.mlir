// Mean and variance of rows, the variance in f64 as exports have it.
#id = affine_map<(i, j) -> (i, j)>
#keep = affine_map<(i, j) -> (i, 0)>
#row = affine_map<(i, j) -> (j)>
func.func @layernorm(%x: tensor<3x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %eight = arith.constant 8.0 : f32
  %eight64 = arith.constant 8.0 : f64
  %eps = arith.constant 0.0625 : f64
  %e0 = tensor.empty() : tensor<3x1xf32>
  %e1 = tensor.empty() : tensor<3x1xf64>
  %e2 = tensor.empty() : tensor<3x8xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %i1 = linalg.fill ins(%zero64 : f64) outs(%e1 : tensor<3x1xf64>) -> tensor<3x1xf64>
  %sum = linalg.generic {indexing_maps = [#id, #keep], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<3x8xf32>) outs(%i0 : tensor<3x1xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %r = arith.addf %p, %acc : f32
    linalg.yield %r : f32
  } -> tensor<3x1xf32>
  %c = linalg.generic {indexing_maps = [#id, #keep, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %sum : tensor<3x8xf32>, tensor<3x1xf32>) outs(%e2 : tensor<3x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.divf %q, %eight : f32
    %r = arith.subf %p, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x8xf32>
  %var = linalg.generic {indexing_maps = [#id, #keep], iterator_types = ["parallel", "reduction"]}
    ins(%c : tensor<3x8xf32>) outs(%i1 : tensor<3x1xf64>) {
  ^bb0(%p: f32, %acc: f64):
    %w = arith.extf %p : f32 to f64
    %q = arith.mulf %w, %w : f64
    %r = arith.addf %q, %acc : f64
    linalg.yield %r : f64
  } -> tensor<3x1xf64>
  %y = linalg.generic {indexing_maps = [#id, #keep, #row, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%c, %var, %g, %b : tensor<3x8xf32>, tensor<3x1xf64>, tensor<8xf32>, tensor<8xf32>) outs(%e2 : tensor<3x8xf32>) {
  ^bb0(%p: f32, %v: f64, %gain: f32, %bias: f32, %out: f32):
    %m = arith.divf %v, %eight64 : f64
    %s = arith.addf %m, %eps : f64
    %t = arith.truncf %s : f64 to f32
    %u = math.rsqrt %t : f32
    %q = arith.mulf %p, %u : f32
    %h = arith.mulf %q, %gain : f32
    %r = arith.addf %h, %bias : f32
    linalg.yield %r : f32
  } -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
