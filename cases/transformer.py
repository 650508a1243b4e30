"""Encoder and decoder layers of transformers, and stacks of them.

All weights are fixed numbers of few digits. Of single layers the first projection of the feed-forward part and the gain
of the first normalisation are variables like the input.
"""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.multi_head_attention import attended

_ROUNDINGS = Tolerance(
    terms=8, reason="normalisations, projections, attention and sums of every layer round one after another"
)
_NEAR = Values(scaled=False)
_EPS = 1e-5


def _numbers(*shape: int, start: int) -> np.ndarray:
    """Numbers of few digits and either sign."""
    return (((np.arange(np.prod(shape)) + start) * 7) % 11 - 5).reshape(shape) / 8


def _fixed(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The numbers of the weight of that name within a layer."""
    if ".weight" in name and "ln" in name:
        return 1 + np.abs(_numbers(*shape, start=len(name)))
    return _numbers(*shape, start=sum(map(ord, name)))


def _set(module: nn.Module, gain: mx.array, weight: mx.array, prefix: str = "") -> None:
    """Give a layer its weights: `gain` to ln1, `weight` to linear1, fixed ones to the rest."""
    for name, child in module.children().items():
        if isinstance(child, list):
            for layer in child:
                _set(layer, gain, weight)
        elif isinstance(child, nn.Module):
            _set(child, gain, weight, f"{prefix}{name}." if prefix or not _is_stack(name) else "")
    for name in ("weight", "bias"):
        if name in module:
            full = prefix + name
            numbers = _fixed(full, module[name].shape)
            given = {"ln1.weight": gain, "linear1.weight": weight}.get(full)
            module[name] = mx.array(numbers.astype(np.float32)).astype(gain.dtype) if given is None else given


def _is_stack(name: str) -> bool:
    return name in ("encoder", "decoder")


class _Weights:
    """The same weights for the body of a function."""

    def __init__(self, m: Any, gain: Any, weight: Any) -> None:
        self._m, self._gain, self._weight = m, gain, weight

    def __call__(self, name: str, *shape: int) -> Any:
        given = {"ln1.weight": self._gain, "linear1.weight": self._weight}.get(name)
        return np.array(_fixed(name, shape).tolist(), object) if given is None else given

    def norm(self, x: Any, name: str) -> Any:
        dims = x.shape[-1]
        return self._m.layer_norm(x, self(f"{name}.weight", dims), self(f"{name}.bias", dims), _EPS)

    def linear(self, x: Any, name: str, outputs: int) -> Any:
        m = self._m
        return m.add(m.matmul(x, self(f"{name}.weight", outputs, x.shape[-1]).T), self(f"{name}.bias", outputs))

    def attention(self, x: Any, y: Any, name: str, heads: int, mask: Any) -> Any:
        dims = x.shape[-1]
        parts = ("query_proj", "key_proj", "value_proj", "out_proj")
        weights = [self(f"{name}.{part}.weight", dims, dims) for part in parts]
        return attended(self._m, x, y, y, weights, None, heads, mask)


_ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu": (nn.relu, lambda m, x: m.maximum(x, 0)),
    "tanh": (nn.tanh, lambda m, x: m.tanh(x)),
    "sigmoid": (nn.sigmoid, lambda m, x: m.sigmoid(x)),
}


def _feed(w: _Weights, m: Any, x: Any, activation: str, first: str, second: str) -> Any:
    hidden = _ACTIVATIONS[activation][1](m, w.linear(x, first, w(f"{first}.weight").shape[0]))
    return w.linear(hidden, second, x.shape[-1])


def _encoder_layer(w: _Weights, m: Any, x: Any, heads: int, mask: Any, activation: str, norm_first: bool) -> Any:
    if norm_first:
        y = w.norm(x, "ln1")
        x = m.add(x, w.attention(y, y, "attention", heads, mask))
        return m.add(x, _feed(w, m, w.norm(x, "ln2"), activation, "linear1", "linear2"))
    x = w.norm(m.add(x, w.attention(x, x, "attention", heads, mask)), "ln1")
    return w.norm(m.add(x, _feed(w, m, x, activation, "linear1", "linear2")), "ln2")


def _decoder_layer(
    w: _Weights, m: Any, x: Any, memory: Any, heads: int, mask: Any, activation: str, norm_first: bool
) -> Any:
    if norm_first:
        y = w.norm(x, "ln1")
        x = m.add(x, w.attention(y, y, "self_attention", heads, mask))
        x = m.add(x, w.attention(w.norm(x, "ln2"), memory, "cross_attention", heads, None))
        return m.add(x, _feed(w, m, w.norm(x, "ln3"), activation, "linear1", "linear2"))
    x = w.norm(m.add(x, w.attention(x, x, "self_attention", heads, mask)), "ln1")
    x = w.norm(m.add(x, w.attention(x, memory, "cross_attention", heads, None)), "ln2")
    return w.norm(m.add(x, _feed(w, m, x, activation, "linear1", "linear2")), "ln3")


_GAIN, _WEIGHT = np.array([1.25, 0.75, 1.5]), _numbers(2, 3, start=1)


def _shared(dtype: mx.Dtype) -> tuple[mx.array, mx.array]:
    return mx.array(_GAIN.astype(np.float32)).astype(dtype), mx.array(_WEIGHT.astype(np.float32)).astype(dtype)


def _with_shared(body: Callable[..., Any]) -> Callable[..., Any]:
    gain, weight = (np.array(numbers.tolist(), object) for numbers in (_GAIN, _WEIGHT))
    return lambda m, *arrays, **parameters: body(m, *arrays, gain, weight, **parameters)


def _call(layer: Any, inputs: int, *masks: Any) -> Callable[..., mx.array]:
    def call(*arrays: mx.array, activation: str, mask: Any, **parameters: Any) -> mx.array:
        gain, weight = arrays[inputs:] or _shared(arrays[0].dtype)
        sizes = {"dims": gain.shape[0], "mlp_dims": weight.shape[0], "activation": _ACTIVATIONS[activation][0]}
        made = layer(**sizes, **parameters)
        # Outside training nothing is dropped, whatever the probability.
        made.eval()
        _set(made, gain, weight)
        return made(*arrays[:inputs], *(mask if one == "mask" else one for one in masks))

    return call


def _one_encoder(m: Any, x: Any, gain: Any, weight: Any, num_heads: int, dropout: float, **how: Any) -> Any:  # noqa: ARG001
    return _encoder_layer(_Weights(m, gain, weight), m, x, num_heads, **how)


def _one_decoder(
    m: Any,
    x: Any,
    memory: Any,
    gain: Any,
    weight: Any,
    num_heads: int,
    dropout: float,  # noqa: ARG001
    **how: Any,
) -> Any:
    return _decoder_layer(_Weights(m, gain, weight), m, x, memory, num_heads, **how)


def _encoder(
    m: Any,
    x: Any,
    gain: Any,
    weight: Any,
    num_layers: int,
    num_heads: int,
    dropout: float,
    checkpoint: bool,
    **how: Any,
) -> Any:
    del dropout, checkpoint
    w = _Weights(m, gain, weight)
    for _ in range(num_layers):
        x = _encoder_layer(w, m, x, num_heads, **how)
    return w.norm(x, "ln")


def _decoder(
    m: Any,
    x: Any,
    memory: Any,
    gain: Any,
    weight: Any,
    num_layers: int,
    num_heads: int,
    dropout: float,
    checkpoint: bool,
    **how: Any,
) -> Any:
    del dropout, checkpoint
    w = _Weights(m, gain, weight)
    for _ in range(num_layers):
        x = _decoder_layer(w, m, x, memory, num_heads, **how)
    return w.norm(x, "ln")


def _transformer(
    m: Any,
    src: Any,
    tgt: Any,
    gain: Any,
    weight: Any,
    num_encoder_layers: int,
    num_decoder_layers: int,
    mask: Any,
    **how: Any,
) -> Any:
    memory = _encoder(m, src, gain, weight, num_encoder_layers, mask=None, **how)
    return _decoder(m, tgt, memory, gain, weight, num_decoder_layers, mask=mask, **how)


_LAYER: dict[str, tuple[Any, ...]] = {
    "num_heads": (1, 3),
    "dropout": (0.0, 0.5, 0.25),
    "activation": ("relu", "tanh", "sigmoid"),
    "norm_first": (True, False),
    "mask": (None, "causal"),
}
_STACK: dict[str, tuple[Any, ...]] = {"num_layers": (1, 2), **_LAYER, "checkpoint": (False, True)}
_WITH = " with given weights"


def _operation(name: str, arguments: tuple[str, ...], call: Any, body: Any, parameters: Any) -> Operation:
    inputs, single = len(arguments), name.endswith("Layer")
    more = ("gain", "weight") if single else ()
    shapes = [((1, 2, 3),) * inputs, ((2, 1, 3),) * inputs]
    if single:
        shapes = [(*x, *weights) for x, weights in zip(shapes, (((3,), (2, 3)), ((3,), (12, 3))), strict=True)]
    return Operation(
        name=name,
        arguments=(*arguments, *more),
        call=call,
        body=body if single else _with_shared(body),
        shapes=tuple(shapes),
        parameters=parameters,
        values=dict.fromkeys((*arguments, *more), _NEAR),
        tolerance=_ROUNDINGS,
        orders=1,
        mapped=single,
        slow=True,
        note="" if single else "Mapping is asked of the layers by themselves.",
        text=f"{name}(...)({', '.join(arguments)}){_WITH}",
    )


class _Simple(nn.Module):
    """A module of no weights in the place of an encoder or a decoder, whose masks it does not look at."""

    def __init__(self, function: Callable[..., mx.array], arrays: int) -> None:
        super().__init__()
        self._function, self._arrays = function, arrays

    def __call__(self, *given: Any) -> mx.array:
        return self._function(*given[: self._arrays])


def _custom(src: mx.array, tgt: mx.array, custom_encoder: str, custom_decoder: str) -> mx.array:
    encoder, decoder = _Simple(getattr(mx, custom_encoder), 1), _Simple(getattr(mx, custom_decoder), 2)
    return nn.Transformer(2, 1, custom_encoder=encoder, custom_decoder=decoder)(src, tgt, None, None, None)


OPERATIONS = (
    Operation(
        name="nn.Transformer[custom]",
        arguments=("src", "tgt"),
        call=_custom,
        body=lambda m, src, tgt, custom_encoder, custom_decoder: getattr(m, custom_decoder)(
            tgt, getattr(m, custom_encoder)(src)
        ),
        shapes=(((1, 2, 2), (1, 2, 2)),),
        parameters={"custom_encoder": ("tanh", "square"), "custom_decoder": ("multiply", "subtract")},
        values={"src": _NEAR, "tgt": _NEAR},
        tolerance=Tolerance(terms=2, reason="two functions round one after the other"),
        text="nn.Transformer(2, 1, custom_encoder=mx.{custom_encoder}, custom_decoder=mx.{custom_decoder}), as modules",
    ),
    _operation(
        "nn.TransformerEncoderLayer", ("x",), _call(nn.TransformerEncoderLayer, 1, "mask"), _one_encoder, _LAYER
    ),
    _operation(
        "nn.TransformerDecoderLayer",
        ("x", "memory"),
        _call(nn.TransformerDecoderLayer, 2, "mask", None),
        _one_decoder,
        _LAYER,
    ),
    _operation("nn.TransformerEncoder", ("x",), _call(nn.TransformerEncoder, 1, "mask"), _encoder, _STACK),
    _operation(
        "nn.TransformerDecoder", ("x", "memory"), _call(nn.TransformerDecoder, 2, "mask", None), _decoder, _STACK
    ),
    _operation(
        "nn.Transformer",
        ("src", "tgt"),
        _call(nn.Transformer, 2, None, "mask", None),
        _transformer,
        {
            "num_encoder_layers": (1, 2),
            "num_decoder_layers": (1, 2),
            **{key: value for key, value in _STACK.items() if key != "num_layers"},
        },
    ),
)
