// A chain of two products that continues a given sum.
func.func @chain(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<6x3xf32>, %d: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  %ab = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
  %abc = linalg.matmul ins(%ab, %c : tensor<4x6xf32>, tensor<6x3xf32>) outs(%d : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %abc : tensor<4x3xf32>
}
