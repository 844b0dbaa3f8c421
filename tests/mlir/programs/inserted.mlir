// A concatenation as other exporters write it: parts put into an empty tensor, one after the other.
func.func @inserted(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>, %c: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  %e = tensor.empty() : tensor<4x3xf32>
  %0 = tensor.insert_slice %a into %e[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x3xf32>
  %1 = tensor.insert_slice %b into %0[2, 0] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<4x3xf32>
  %2 = tensor.insert_slice %c into %1[3, 0] [1, 3] [1, 1] : tensor<3xf32> into tensor<4x3xf32>
  %z = arith.constant dense<1.0> : tensor<3x4xf32>
  %3 = tensor.insert_slice %a into %z[1, 1] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<3x4xf32>
  return %2, %3 : tensor<4x3xf32>, tensor<3x4xf32>
}
