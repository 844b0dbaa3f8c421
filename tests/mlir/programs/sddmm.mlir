// D = S * (A B): a sampled product, the sample in coordinates.
#COO = #sparse_tensor.encoding<{ map = (i, j) -> (i : compressed(nonunique), j : singleton(soa)) }>
func.func @sddmm(%s: tensor<6x5xf32, #COO>, %a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32, #COO> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x5xf32>) -> tensor<6x5xf32>
  %ab = linalg.matmul ins(%a, %b : tensor<6x4xf32>, tensor<4x5xf32>) outs(%init : tensor<6x5xf32>) -> tensor<6x5xf32>
  %out = tensor.empty() : tensor<6x5xf32, #COO>
  %d = linalg.mul ins(%s, %ab : tensor<6x5xf32, #COO>, tensor<6x5xf32>)
    outs(%out : tensor<6x5xf32, #COO>) -> tensor<6x5xf32, #COO>
  return %d : tensor<6x5xf32, #COO>
}
