"""Kernels that train: written here, and audited by the same engine as MLX's own operations."""
