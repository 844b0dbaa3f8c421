// Two heads under a mask that is an argument; rows that it hides entirely give nothing.
#s = affine_map<(b, i, j) -> (b, i, j)>
#m = affine_map<(b, i, j) -> (i, j)>
#keep = affine_map<(b, i, j) -> (b, i, 0)>
func.func @attention(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %v: tensor<2x4x3xf32>, %mask: tensor<4x4xi1>) -> tensor<2x4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  %e0 = tensor.empty() : tensor<2x3x4xf32>
  %kt = linalg.transpose ins(%k : tensor<2x4x3xf32>) outs(%e0 : tensor<2x3x4xf32>) permutation = [0, 2, 1]
  %e1 = tensor.empty() : tensor<2x4x4xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %qk = linalg.batch_matmul ins(%q, %kt : tensor<2x4x3xf32>, tensor<2x3x4xf32>) outs(%i1 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  %add = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%mask : tensor<4x4xi1>) outs(%e2 : tensor<4x4xf32>) {
  ^bb0(%p: i1, %out: f32):
    %r = arith.select %p, %zero, %lowest : f32
    linalg.yield %r : f32
  } -> tensor<4x4xf32>
  %sc = linalg.generic {indexing_maps = [#s, #m, #s], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%qk, %add : tensor<2x4x4xf32>, tensor<4x4xf32>) outs(%e1 : tensor<2x4x4xf32>) {
  ^bb0(%p: f32, %a: f32, %out: f32):
    %r = arith.addf %p, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x4x4xf32>
  %e3 = tensor.empty() : tensor<2x4x1xf32>
  %i3 = linalg.fill ins(%lowest : f32) outs(%e3 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %mx = linalg.generic {indexing_maps = [#s, #keep], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%sc : tensor<2x4x4xf32>) outs(%i3 : tensor<2x4x1xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %r = arith.maximumf %p, %acc : f32
    linalg.yield %r : f32
  } -> tensor<2x4x1xf32>
  %ex = linalg.generic {indexing_maps = [#s, #keep, #s], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%sc, %mx : tensor<2x4x4xf32>, tensor<2x4x1xf32>) outs(%e1 : tensor<2x4x4xf32>) {
  ^bb0(%p: f32, %t: f32, %out: f32):
    %d = arith.subf %p, %t : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x4x4xf32>
  %i4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %sm = linalg.generic {indexing_maps = [#s, #keep], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%ex : tensor<2x4x4xf32>) outs(%i4 : tensor<2x4x1xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %r = arith.addf %p, %acc : f32
    linalg.yield %r : f32
  } -> tensor<2x4x1xf32>
  %e5 = tensor.empty() : tensor<2x4x4xi1>
  %hid = linalg.generic {indexing_maps = [#s, #s], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%sc : tensor<2x4x4xf32>) outs(%e5 : tensor<2x4x4xi1>) {
  ^bb0(%p: f32, %out: i1):
    %r = arith.cmpf oeq, %p, %lowest : f32
    linalg.yield %r : i1
  } -> tensor<2x4x4xi1>
  %e6 = tensor.empty() : tensor<2x4x1xi1>
  %i6 = linalg.fill ins(%true : i1) outs(%e6 : tensor<2x4x1xi1>) -> tensor<2x4x1xi1>
  %all = linalg.generic {indexing_maps = [#s, #keep], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%hid : tensor<2x4x4xi1>) outs(%i6 : tensor<2x4x1xi1>) {
  ^bb0(%p: i1, %acc: i1):
    %r = arith.andi %p, %acc : i1
    linalg.yield %r : i1
  } -> tensor<2x4x1xi1>
  %w = linalg.generic {indexing_maps = [#s, #keep, #keep, #s], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%ex, %sm, %all : tensor<2x4x4xf32>, tensor<2x4x1xf32>, tensor<2x4x1xi1>) outs(%e1 : tensor<2x4x4xf32>) {
  ^bb0(%p: f32, %t: f32, %none: i1, %out: f32):
    %d = arith.divf %p, %t : f32
    %r = arith.select %none, %zero, %d : f32
    linalg.yield %r : f32
  } -> tensor<2x4x4xf32>
  %e7 = tensor.empty() : tensor<2x4x3xf32>
  %i7 = linalg.fill ins(%zero : f32) outs(%e7 : tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %y = linalg.batch_matmul ins(%w, %v : tensor<2x4x4xf32>, tensor<2x4x3xf32>) outs(%i7 : tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}
