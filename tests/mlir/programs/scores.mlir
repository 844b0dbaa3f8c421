// Scores that a constant hides, under a softmax, and numbers that are hidden in the same way and stay.
func.func @scores(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %m = arith.constant dense<[[true, true, false, true], [false, true, true, true], [true, false, true, false], [true, true, false, false]]> : tensor<4x4xi1>
  %lowest = arith.constant dense<-2147483648.0> : tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %s = arith.select %m, %x, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  %w = linalg.softmax dimension(1) ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = arith.select %m, %y, %lowest : tensor<4x4xi1>, tensor<4x4xf32>
  return %w, %t : tensor<4x4xf32>, tensor<4x4xf32>
}
