// One tensor where a mask is, and another elsewhere.
func.func @between(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>, %m: tensor<4x5xi1>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %true = arith.constant dense<true> : tensor<4x5xi1>
  %n = arith.xori %m, %true : tensor<4x5xi1>
  %r0 = arith.select %m, %x, %y : tensor<4x5xi1>, tensor<4x5xf32>
  %r1 = arith.select %n, %x, %y : tensor<4x5xi1>, tensor<4x5xf32>
  return %r0, %r1 : tensor<4x5xf32>, tensor<4x5xf32>
}
