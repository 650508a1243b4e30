"""Encoder and decoder layers of transformers, and stacks of them.

Weights are what the layers draw under one seed, rounded to multiples of 1/8, so that every format holds them. Of single
layers the first projection of the feed-forward part and the gain of the first normalisation are variables too.
"""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases.layers import DRAWN, drawn
from cases.multi_head_attention import attended

_ROUNDINGS = Tolerance(
    terms=8, reason="normalisations, projections, attention and sums of every layer round one after another"
)
_NEAR = Values(scaled=False)
_EPS = 1e-5
# Of two features a normalisation leaves nothing but signs.
_DIMS, _MLP = 3, 2

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": lambda m, x: m.maximum(x, 0),
    "tanh": lambda m, x: m.tanh(x),
    "sigmoid": lambda m, x: m.sigmoid(x),
}


class _Layers:
    """The mathematics of layers whose weights have names."""

    def __init__(self, m: Any, weights: dict[str, Any], heads: int, activation: str, norm_first: bool) -> None:
        self._m, self._weights = m, weights
        self._heads, self._bent, self._first = heads, _ACTIVATIONS[activation], norm_first

    def norm(self, x: Any, name: str) -> Any:
        return self._m.layer_norm(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], _EPS)

    def _attention(self, x: Any, y: Any, name: str, mask: Any) -> Any:
        parts = ("query_proj", "key_proj", "value_proj", "out_proj")
        weights = [self._weights[f"{name}.{part}.weight"] for part in parts]
        return attended(self._m, x, y, y, weights, None, self._heads, mask)

    def _feed(self, x: Any, name: str) -> Any:
        m, w = self._m, self._weights
        hidden = self._bent(m, m.add(m.matmul(x, w[f"{name}.linear1.weight"].T), w[f"{name}.linear1.bias"]))
        return m.add(m.matmul(hidden, w[f"{name}.linear2.weight"].T), w[f"{name}.linear2.bias"])

    def encode(self, x: Any, name: str, mask: Any) -> Any:
        """One encoder layer."""
        m, attention = self._m, f"{name}.attention"
        if self._first:
            y = self.norm(x, f"{name}.ln1")
            x = m.add(x, self._attention(y, y, attention, mask))
            return m.add(x, self._feed(self.norm(x, f"{name}.ln2"), name))
        x = self.norm(m.add(x, self._attention(x, x, attention, mask)), f"{name}.ln1")
        return self.norm(m.add(x, self._feed(x, name)), f"{name}.ln2")

    def decode(self, x: Any, memory: Any, name: str, mask: Any) -> Any:
        """One decoder layer."""
        m, own, cross = self._m, f"{name}.self_attention", f"{name}.cross_attention"
        if self._first:
            y = self.norm(x, f"{name}.ln1")
            x = m.add(x, self._attention(y, y, own, mask))
            x = m.add(x, self._attention(self.norm(x, f"{name}.ln2"), memory, cross, None))
            return m.add(x, self._feed(self.norm(x, f"{name}.ln3"), name))
        x = self.norm(m.add(x, self._attention(x, x, own, mask)), f"{name}.ln1")
        x = self.norm(m.add(x, self._attention(x, memory, cross, None)), f"{name}.ln2")
        return self.norm(m.add(x, self._feed(x, name)), f"{name}.ln3")


def _numbers(layer: nn.Module) -> dict[str, Any]:
    """The weights of a layer by name, as the reference computes with them."""
    flat: Any = tree_flatten(layer.parameters())
    return {f".{name}": np.array(np.array(weight).tolist(), object) for name, weight in flat}


def _layers(m: Any, weights: dict[str, Any], how: dict[str, Any]) -> tuple[_Layers, Any]:
    mask = "causal" if how["causal"] else None
    return _Layers(m, weights, how["num_heads"], how["activation"], how["norm_first"]), mask


def _made(layer: Any, dtype: mx.Dtype, **how: Any) -> nn.Module:
    """A layer as it is asked; outside training nothing is dropped, whatever the probability."""
    del how["causal"]
    activation = getattr(nn, how.pop("activation"))
    return drawn(lambda: layer(dims=_DIMS, mlp_dims=_MLP, activation=activation, **how), dtype).eval()


def _call(layer: Any, inputs: int, places: tuple[bool, ...]) -> Callable[..., mx.array]:
    """The call of a layer, whose masks are causal at some places, and none at the others."""

    def call(*arrays: mx.array, **how: Any) -> mx.array:
        made = _made(layer, arrays[0].dtype, **how)
        if arrays[inputs:]:
            gain, weight = arrays[inputs:]
            made.update({"ln1": {"weight": gain}, "linear1": {"weight": weight}})
        masks = ("causal" if place and how["causal"] else None for place in places)
        return made(*arrays[:inputs], *masks)

    return call


def _one_encoder(m: Any, x: Any, gain: Any, weight: Any, **how: Any) -> Any:
    weights = _numbers(_made(nn.TransformerEncoderLayer, mx.float32, **how))
    layers, mask = _layers(m, weights | {".ln1.weight": gain, ".linear1.weight": weight}, how)
    return layers.encode(x, "", mask)


def _one_decoder(m: Any, x: Any, memory: Any, gain: Any, weight: Any, **how: Any) -> Any:
    weights = _numbers(_made(nn.TransformerDecoderLayer, mx.float32, **how))
    layers, mask = _layers(m, weights | {".ln1.weight": gain, ".linear1.weight": weight}, how)
    return layers.decode(x, memory, "", mask)


def _encoder(m: Any, x: Any, **how: Any) -> Any:
    layers, mask = _layers(m, _numbers(_made(nn.TransformerEncoder, mx.float32, **how)), how)
    for place in range(how["num_layers"]):
        x = layers.encode(x, f".layers.{place}", mask)
    return layers.norm(x, ".ln")


def _decoder(m: Any, x: Any, memory: Any, **how: Any) -> Any:
    layers, mask = _layers(m, _numbers(_made(nn.TransformerDecoder, mx.float32, **how)), how)
    for place in range(how["num_layers"]):
        x = layers.decode(x, memory, f".layers.{place}", mask)
    return layers.norm(x, ".ln")


def _transformer(m: Any, src: Any, tgt: Any, **how: Any) -> Any:
    layers, mask = _layers(m, _numbers(_made(nn.Transformer, mx.float32, **how)), how)
    for place in range(how["num_encoder_layers"]):
        src = layers.encode(src, f".encoder.layers.{place}", None)
    memory = layers.norm(src, ".encoder.ln")
    for place in range(how["num_decoder_layers"]):
        tgt = layers.decode(tgt, memory, f".decoder.layers.{place}", mask)
    return layers.norm(tgt, ".decoder.ln")


_LAYER: dict[str, tuple[Any, ...]] = {
    "num_heads": (1, 3),
    "dropout": (0.0, 0.5, 0.25),
    "activation": ("relu", "tanh", "sigmoid"),
    "norm_first": (True, False),
    "causal": (False, True),
}
_STACK: dict[str, tuple[Any, ...]] = {**_LAYER, "checkpoint": (False, True)}
_DEEP = {"num_layers": (1, 2), **_STACK}
_DEEPER = {"num_encoder_layers": (1, 2), "num_decoder_layers": (1, 2), **_STACK}
_WEIGHTS: tuple[Shapes, ...] = (((_DIMS,), (_MLP, _DIMS)),)


def _text(name: str, parameters: dict[str, Any], arguments: tuple[str, ...], masks: str) -> str:
    given = ", ".join(
        f"{key}=" + ("nn." * (key == "activation")) + f"{{{key}}}" for key in parameters if key != "causal"
    )
    made = DRAWN.format(f"{name}(dims={_DIMS}, mlp_dims={_MLP}, {given})", f"{arguments[0]}.dtype") + ".eval()"
    if name.endswith("Layer"):
        made += ".update({{'ln1': {{'weight': gain}}, 'linear1': {{'weight': weight}}}})"
    return f"{made}({', '.join(arguments)}, {masks})"


def _operation(
    layer: Any, arguments: tuple[str, ...], body: Callable[..., Any], parameters: dict[str, Any], *places: bool
) -> Operation:
    name, inputs = f"nn.{layer.__name__}", len(arguments)
    single = name.endswith("Layer")
    more = ("gain", "weight") if single else ()
    shapes = [((1, 2, _DIMS),) * inputs, ((2, 1, _DIMS),) * inputs]
    masks = ", ".join("'causal' if {causal} else None" if place else "None" for place in places)
    return Operation(
        name=name,
        arguments=(*arguments, *more),
        call=_call(layer, inputs, places),
        body=body,
        shapes=tuple((*x, *_WEIGHTS[0]) if single else x for x in shapes),
        parameters=parameters,
        values=dict.fromkeys((*arguments, *more), _NEAR),
        tolerance=_ROUNDINGS,
        orders=1,
        mapped=single,
        slow=True,
        note="" if single else "Mapping is asked of the layers by themselves.",
        text=_text(name, parameters, arguments, masks),
    )


def _custom(src: mx.array, tgt: mx.array, custom_encoder: str, custom_decoder: str) -> mx.array:
    encode, decode = getattr(mx, custom_encoder), getattr(mx, custom_decoder)
    layer = nn.Transformer(
        2, 1, custom_encoder=lambda s, _: encode(s), custom_decoder=lambda t, memory, *_: decode(t, memory)
    )
    return layer(src, tgt, None, None, None)


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
        text="nn.Transformer(2, 1, custom_encoder=lambda s, _: mx.{custom_encoder}(s), "
        "custom_decoder=lambda t, m, *_: mx.{custom_decoder}(t, m))(src, tgt, None, None, None)",
    ),
    _operation(nn.TransformerEncoderLayer, ("x",), _one_encoder, _LAYER, True),
    _operation(nn.TransformerDecoderLayer, ("x", "memory"), _one_decoder, _LAYER, True, False),
    _operation(nn.TransformerEncoder, ("x",), _encoder, _DEEP, True),
    _operation(nn.TransformerDecoder, ("x", "memory"), _decoder, _DEEP, True, False),
    _operation(nn.Transformer, ("src", "tgt"), _transformer, _DEEPER, False, True, False),
)
