// A matrix in blocks of 2 x 3, each dense.
#BSR = #sparse_tensor.encoding<{
  map = (i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed, i mod 2 : dense, j mod 3 : dense)
}>
func.func @blocks(%a: tensor<4x6xf32, #BSR>, %x: tensor<6xf32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %y = linalg.matvec ins(%a, %x : tensor<4x6xf32, #BSR>, tensor<6xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
