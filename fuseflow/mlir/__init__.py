"""Programs from MLIR: linalg on tensors, as PyTorch models are exported to it."""
