// Sums, maxima and minima: of rows, of columns, of everything, with other beginnings, by select.
#id = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
#none = affine_map<(i, j) -> ()>
func.func @reductions(%x: tensor<4x6xf32>, %b: tensor<6xf32>) -> (tensor<f32>, tensor<6xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %low = arith.constant dense<-3.40282347E+38> : tensor<4xf32>
  %high = arith.constant dense<0x7F800000> : tensor<6xf32>
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
    ins(%x : tensor<4x6xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %c = linalg.generic {indexing_maps = [#id, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<4x6xf32>) outs(%b : tensor<6xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %q = arith.mulf %p, %p : f32
    %s = arith.subf %acc, %q : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %d = linalg.generic {indexing_maps = [#id, #i], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<4x6xf32>) outs(%low : tensor<4xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %t = arith.cmpf ogt, %acc, %p : f32
    %r = arith.select %t, %acc, %p : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %e = linalg.generic {indexing_maps = [#id, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<4x6xf32>) outs(%high : tensor<6xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %r = arith.minimumf %p, %acc : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  %f = linalg.reduce {arith.maximumf} ins(%x : tensor<4x6xf32>) outs(%half : tensor<4xf32>) dimensions = [1]
  return %a, %c, %d, %e, %f : tensor<f32>, tensor<6xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>
}
