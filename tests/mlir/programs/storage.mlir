// Casts between encodings change how tensors are stored, not what they are.
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
#CSC = #sparse_tensor.encoding<{ map = (i, j) -> (j : dense, i : compressed) }>
func.func @storage(%a: tensor<4x4xf32>, %b: tensor<4x4xf32, #CSR>) -> (tensor<4x4xf32, #CSR>, tensor<4x4xf32, #CSC>) {
  %empty = tensor.empty() : tensor<4x4xf32>
  %bd = tensor.cast %b : tensor<4x4xf32, #CSR> to tensor<4x4xf32>
  %p = linalg.mul ins(%a, %bd : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %pc = sparse_tensor.convert %p : tensor<4x4xf32> to tensor<4x4xf32, #CSR>
  %bc = sparse_tensor.convert %b : tensor<4x4xf32, #CSR> to tensor<4x4xf32, #CSC>
  return %pc, %bc : tensor<4x4xf32, #CSR>, tensor<4x4xf32, #CSC>
}
