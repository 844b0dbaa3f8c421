// y = A x, A in CSR.
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
func.func @spmv(%a: tensor<6x5xf32, #CSR>, %x: tensor<5xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6xf32>) -> tensor<6xf32>
  %y = linalg.matvec ins(%a, %x : tensor<6x5xf32, #CSR>, tensor<5xf32>)
    outs(%init : tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
