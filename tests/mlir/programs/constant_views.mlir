// Views of constants are constants.
func.func @views(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = arith.constant dense<7.0> : tensor<1x3xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  %s = tensor.extract_slice %c[0, 1] [2, 2] [2, 1] : tensor<3x3xf32> to tensor<2x2xf32>
  %f = tensor.collapse_shape %s [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %w = linalg.broadcast ins(%f : tensor<4xf32>) outs(%e : tensor<4x2xf32>) dimensions = [1]
  %y = linalg.mul ins(%x, %w : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
