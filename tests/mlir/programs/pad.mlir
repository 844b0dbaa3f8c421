// Padding is a concatenation with constants.
func.func @pad(%x: tensor<2x3xf32>) -> tensor<3x6xf32> {
  %one = arith.constant 1.0 : f32
  %y = tensor.pad %x low[0, 1] high[1, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<2x3xf32> to tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}
