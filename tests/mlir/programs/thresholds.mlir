// Selections by comparisons of what is computed, and one as numbers.
func.func @thresholds(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %half = arith.constant dense<0.5> : tensor<3x4xf32>
  %two = arith.constant dense<2.0> : tensor<3x4xf32>
  %minus = arith.constant dense<-1.0> : tensor<3x4xf32>
  %c0 = arith.cmpf ogt, %x, %half : tensor<3x4xf32>
  %r0 = arith.select %c0, %y, %x : tensor<3x4xi1>, tensor<3x4xf32>
  %c1 = arith.cmpf ole, %x, %y : tensor<3x4xf32>
  %r1 = arith.select %c1, %two, %y : tensor<3x4xi1>, tensor<3x4xf32>
  %c2 = arith.cmpf oeq, %x, %y : tensor<3x4xf32>
  %r2 = arith.select %c2, %x, %minus : tensor<3x4xi1>, tensor<3x4xf32>
  %c3 = arith.cmpf olt, %x, %y : tensor<3x4xf32>
  %r3 = arith.uitofp %c3 : tensor<3x4xi1> to tensor<3x4xf32>
  return %r0, %r1, %r2, %r3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
