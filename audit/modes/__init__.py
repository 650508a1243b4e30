"""How MLX is asked for a derivative. Together with `patches`, the only place where the engine imports mlx.

MLX's convention for complex numbers: a cotangent is the gradient with respect to the pair of reals, so that
``Re sum conj(w) * jvp(v) == Re sum conj(vjp(w)) * v`` (tested with z, conj(z) and z**2).
"""

from audit.modes.arrays import DTYPES, from_mlx, to_mlx
from audit.modes.ask import Got, ask, labels
from audit.modes.derivative import differentiated

__all__ = ["DTYPES", "Got", "ask", "differentiated", "from_mlx", "labels", "to_mlx"]
