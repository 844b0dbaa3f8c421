// A layer of a graph network, relu(A X W): A is sparse, W is known.
#csr = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

func.func @layer(%A: tensor<6x8xf32, #csr>, %X: tensor<8x5xf32>) -> tensor<6x2xf32> {
  %zero = arith.constant 0.0 : f32
  %W = arith.constant dense<[[1.0, 0.5], [0.0, -1.0], [2.0, 0.25], [-0.5, 1.0], [1.5, 0.0]]>
      : tensor<5x2xf32>
  %e1 = tensor.empty() : tensor<8x2xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x2xf32>) -> tensor<8x2xf32>
  %XW = linalg.matmul ins(%X, %W : tensor<8x5xf32>, tensor<5x2xf32>)
      outs(%f1 : tensor<8x2xf32>) -> tensor<8x2xf32>
  %e2 = tensor.empty() : tensor<6x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x2xf32>) -> tensor<6x2xf32>
  %AXW = linalg.matmul ins(%A, %XW : tensor<6x8xf32, #csr>, tensor<8x2xf32>)
      outs(%f2 : tensor<6x2xf32>) -> tensor<6x2xf32>
  %relu = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%AXW : tensor<6x2xf32>) outs(%e2 : tensor<6x2xf32>) {
  ^bb0(%x: f32, %out: f32):
    %y = arith.maximumf %x, %zero : f32
    linalg.yield %y : f32
  } -> tensor<6x2xf32>
  return %relu : tensor<6x2xf32>
}
