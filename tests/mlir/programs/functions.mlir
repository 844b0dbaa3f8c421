// One function of a number after the other; the operand is positive where it must be.
#id = affine_map<(i) -> (i)>
func.func @functions(%x: tensor<8xf32>, %p: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %minus = arith.constant -0.5 : f32
  %root = arith.constant 1.41421354 : f32
  %cube = arith.constant 3 : i64
  %e = tensor.empty() : tensor<8xf32>
  %r:4 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %p : tensor<8xf32>, tensor<8xf32>) outs(%e, %e, %e, %e : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o0: f32, %o1: f32, %o2: f32, %o3: f32):
    %g0 = arith.divf %a, %root : f32
    %g1 = math.erf %g0 : f32
    %g2 = arith.addf %g1, %one : f32
    %g3 = arith.mulf %g2, %half : f32
    %gelu = arith.mulf %a, %g3 : f32
    %s0 = arith.negf %a : f32
    %s1 = math.exp %s0 : f32
    %s2 = arith.addf %s1, %one : f32
    %sigmoid = arith.divf %one, %s2 : f32
    %silu = arith.mulf %a, %sigmoid : f32
    %t = math.tanh %a : f32
    %r0a = arith.addf %gelu, %silu : f32
    %r0 = arith.addf %r0a, %t : f32
    %l = math.log %b : f32
    %q = math.sqrt %b : f32
    %h = math.powf %b, %half : f32
    %m = math.powf %b, %minus : f32
    %r1a = arith.addf %l, %q : f32
    %r1b = arith.subf %r1a, %h : f32
    %r1 = arith.addf %r1b, %m : f32
    %c0 = arith.cmpf ult, %a, %minus : f32
    %c1 = arith.select %c0, %minus, %a : f32
    %c2 = arith.cmpf ugt, %c1, %half : f32
    %clamp = arith.select %c2, %half, %c1 : f32
    %abs = math.absf %a : f32
    %k = math.fpowi %a, %cube : f32, i64
    %r2a = arith.mulf %clamp, %abs : f32
    %r2 = arith.addf %r2a, %k : f32
    %v = arith.divf %one, %b : f32
    %w = arith.divf %half, %b : f32
    %u0 = arith.maximumf %a, %w : f32
    %u1 = arith.minimumf %u0, %v : f32
    %z0 = arith.cmpf olt, %a, %zero : f32
    %z1 = arith.select %z0, %s0, %a : f32
    %r3 = arith.addf %u1, %z1 : f32
    linalg.yield %r0, %r1, %r2, %r3 : f32, f32, f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
