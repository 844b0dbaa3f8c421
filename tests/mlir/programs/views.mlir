// Concatenations, slices and reshapes; a slice may drop a mode.
func.func @views(%a: tensor<2x6xf32>, %b: tensor<3x6xf32>) -> (tensor<5x6xf32>, tensor<2x2xf32>, tensor<2x2x3xf32>, tensor<12xf32>, tensor<6xf32>) {
  %c = tensor.concat dim(0) %a, %b : (tensor<2x6xf32>, tensor<3x6xf32>) -> tensor<5x6xf32>
  %s = tensor.extract_slice %b[1, 0] [2, 2] [1, 3] : tensor<3x6xf32> to tensor<2x2xf32>
  %x = tensor.expand_shape %a [[0], [1, 2]] output_shape [2, 2, 3] : tensor<2x6xf32> into tensor<2x2x3xf32>
  %f = tensor.collapse_shape %a [[0, 1]] : tensor<2x6xf32> into tensor<12xf32>
  %r = tensor.extract_slice %b[2, 0] [1, 6] [1, 1] : tensor<3x6xf32> to tensor<6xf32>
  return %c, %s, %x, %f, %r : tensor<5x6xf32>, tensor<2x2xf32>, tensor<2x2x3xf32>, tensor<12xf32>, tensor<6xf32>
}
