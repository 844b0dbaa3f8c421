// Selections by arguments: kept, hidden, both at once, and one of two.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @masks(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>, %m: tensor<4x5xi1>, %n: tensor<5xi8>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %two = arith.constant 2.0 : f32
  %zero = arith.constant 0 : i8
  %e = tensor.empty() : tensor<4x5xf32>
  %r:4 = linalg.generic {indexing_maps = [#id, #id, #id, #row, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y, %m, %n : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xi1>, tensor<5xi8>)
    outs(%e, %e, %e, %e : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  ^bb0(%p: f32, %q: f32, %a: i1, %c: i8, %o0: f32, %o1: f32, %o2: f32, %o3: f32):
    %b = arith.cmpi ne, %c, %zero : i8
    %both = arith.andi %a, %b : i1
    %one = arith.ori %a, %b : i1
    %r0 = arith.select %a, %p, %two : f32
    %r1 = arith.select %b, %two, %p : f32
    %r2 = arith.select %both, %p, %two : f32
    %r3 = arith.select %one, %p, %two : f32
    linalg.yield %r0, %r1, %r2, %r3 : f32, f32, f32, f32
  } -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}
