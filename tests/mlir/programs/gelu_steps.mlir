// A gelu whose every operation is one of its own.
func.func @gelu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = arith.constant dense<0.707106769> : tensor<2x3xf32>
  %one = arith.constant dense<1.0> : tensor<2x3xf32>
  %half = arith.constant dense<0.5> : tensor<2x3xf32>
  %a = arith.mulf %x, %s : tensor<2x3xf32>
  %b = math.erf %a : tensor<2x3xf32>
  %c = arith.addf %b, %one : tensor<2x3xf32>
  %d = arith.mulf %c, %x : tensor<2x3xf32>
  %e = arith.mulf %d, %half : tensor<2x3xf32>
  return %e : tensor<2x3xf32>
}
