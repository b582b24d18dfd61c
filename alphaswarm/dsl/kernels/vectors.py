"""Explicit SIMD vectors for numba, through its public extension interface.

A `Vector` is one register-sized value of `LANES` floats, integers or truths. Kernels keep vectors in local
variables, combine them with ordinary operators and reach memory by address. LLVM maps every operation to
instructions of the host, where its own vectoriser would give up on a loop over many arrays.

Two float types occur: values are *stored* as float32 or float64, and summed *wide*, as float64. Which type is
stored is said by a kernel's argument `kind`, a null pointer to it: numba compiles a kernel once for each.

Arithmetic is strict: no reassociation, no contraction other than an explicit `fma`, NaN and the sign of zero
are kept.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = [
    "LANES",
    "Vector",
    "absolute",
    "any_true",
    "bits",
    "clamp",
    "copy_value",
    "double_at",
    "fill",
    "fill_wide",
    "float_at",
    "floor",
    "fma",
    "from_bits",
    "instruction",
    "int32_at",
    "int_at",
    "integers",
    "invert",
    "itemsize",
    "key_of",
    "load",
    "load_bytes",
    "load_wide",
    "narrow",
    "ones",
    "rint",
    "select",
    "shift_left",
    "shift_right",
    "sqrt",
    "store",
    "store_double",
    "store_first",
    "store_float",
    "store_int32",
    "store_wide",
    "to_float",
    "to_int",
    "wide",
]


def instruction(define: Callable[..., Any]) -> Callable[..., Any]:
    """A function for kernels that stands for LLVM instructions: `define` gives its signature and how to lower it."""
    compiled: Callable[..., Any] = intrinsic(define)
    return compiled


# Stocks that one vector holds: a register of 512 bits has 16 float32.
LANES = 16 if binding.get_host_cpu_features().get("avx512f", False) else 8

_ELEMENTS: dict[types.Type, ir.Type] = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
    types.int64: ir.IntType(64),
    types.boolean: ir.IntType(1),
}


class Vector(types.Type):
    """`LANES` values of one element type; of booleans it is a mask."""

    def __init__(self, element: Any) -> None:
        self.element: Any = element
        super().__init__(name=f"vector({element} x {LANES})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, ir.VectorType(_ELEMENTS[kind.element], LANES))  # type: ignore[no-untyped-call]  # of numba


F32, F64 = Vector(types.float32), Vector(types.float64)
I32, I64 = Vector(types.int32), Vector(types.int64)
MASK = Vector(types.boolean)
_FLOATS, _INTEGERS = (F32, F64), (I32, I64)
_SAME_SIZE = {F32: I32, F64: I64}

Lower = Callable[[Any, Any, Any, Any], Any]


def _operator(function: Any, accepted: tuple[Vector, ...], result: Vector | None, lower: Lower) -> None:
    """Teach numba `function` on two vectors of one type, or on one vector for a unary function."""

    @infer_global(function)
    class _Typing(AbstractTemplate):
        def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
            if not kws and args and args[0] in accepted and all(one == args[0] for one in args):
                return signature(result or args[0], *args)
            return None

    for kind in accepted:
        arity = 1 if function is operator.neg or function is operator.invert else 2
        lower_builtin(function, *[kind] * arity)(lower)


def _binary(name: str) -> Lower:
    return lambda _context, builder, _signature, args: getattr(builder, name)(*args)


def _comparison(sign: str) -> Lower:
    def lower(_context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if sig.args[0] in _INTEGERS:
            return builder.icmp_signed(sign, *args)
        # like IEEE: a comparison with NaN is false, except "not equal"
        return (builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered)(sign, *args)

    return lower


def _either(floats: str, integers: str) -> Lower:
    def lower(_context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, floats if sig.args[0] in _FLOATS else integers)(*args)

    return lower


_operator(operator.add, _FLOATS + _INTEGERS, None, _either("fadd", "add"))
_operator(operator.sub, _FLOATS + _INTEGERS, None, _either("fsub", "sub"))
_operator(operator.mul, _FLOATS, None, _binary("fmul"))
_operator(operator.truediv, _FLOATS, None, _binary("fdiv"))
_operator(operator.and_, (MASK, *_INTEGERS), None, _binary("and_"))
_operator(operator.or_, (MASK, *_INTEGERS), None, _binary("or_"))
_operator(operator.xor, (MASK, *_INTEGERS), None, _binary("xor"))
for _function, _sign in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
    (operator.ne, "!="),
):
    _operator(_function, _FLOATS + _INTEGERS, MASK, _comparison(_sign))


def _stored(kind: Any) -> Vector:
    """The vector type that a kernel's argument `kind` stands for."""
    return Vector(kind.dtype)


def _pointer(builder: Any, address: Any, pointee: ir.Type) -> Any:
    return builder.inttoptr(address, pointee.as_pointer())


def _read(context: Any, builder: Any, kind: Vector, address: Any) -> Any:
    data = context.get_data_type(kind)
    value = builder.load(_pointer(builder, address, data))
    value.align = kind.element.bitwidth // 8
    return value


def _write(builder: Any, kind: Vector, address: Any, value: Any) -> None:
    stored = builder.store(value, _pointer(builder, address, value.type))
    stored.align = kind.element.bitwidth // 8


def _splat(builder: Any, kind: Vector, value: Any) -> Any:
    data = ir.VectorType(_ELEMENTS[kind.element], LANES)
    first = builder.insert_element(ir.Constant(data, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(data, ir.Undefined), zeros)


def _cast(builder: Any, value: Any, of: Any, to: Any) -> Any:
    """A scalar or vector float as another float type."""
    if of == to:
        return value
    data = _ELEMENTS[to] if not isinstance(value.type, ir.VectorType) else ir.VectorType(_ELEMENTS[to], LANES)
    return builder.fpext(value, data) if to == types.float64 else builder.fptrunc(value, data)


@instruction
def itemsize(_typing: Any, kind: Any) -> Any:
    """Bytes of one stored value: a constant in the compiled kernel."""
    size = kind.dtype.bitwidth // 8

    def lower(_context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
        return ir.Constant(ir.IntType(64), size)

    return types.int64(kind), lower


@instruction
def load(_typing: Any, kind: Any, address: Any) -> Any:
    """The stored vector at `address`."""
    vector = _stored(kind)
    return vector(kind, address), lambda context, builder, _signature, args: _read(context, builder, vector, args[1])


@instruction
def load_wide(_typing: Any, address: Any) -> Any:
    """The wide vector at `address` of a kernel's own scratch."""
    return F64(address), lambda context, builder, _signature, args: _read(context, builder, F64, args[0])


@instruction
def store(_typing: Any, kind: Any, address: Any, value: Any) -> Any:
    """Write a vector at `address`, rounded to what is stored."""
    vector = _stored(kind)

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        _write(builder, vector, args[1], _cast(builder, args[2], value.element, vector.element))
        return context.get_dummy_value()

    return types.void(kind, address, value), lower


@instruction
def store_wide(_typing: Any, address: Any, value: Any) -> Any:
    """Write a wide vector at `address` of a kernel's own scratch."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        _write(builder, F64, args[0], args[1])
        return context.get_dummy_value()

    return types.void(address, value), lower


@instruction
def load_bytes(_typing: Any, address: Any) -> Any:
    """Mask of `LANES` bytes at `address`: true where not 0."""

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        data = ir.VectorType(ir.IntType(8), LANES)
        value = builder.load(_pointer(builder, args[0], data))
        value.align = 1
        return builder.icmp_unsigned("!=", value, ir.Constant(data, [0] * LANES))

    return MASK(address), lower


@instruction
def wide(_typing: Any, value: Any) -> Any:
    """A stored vector as float64."""
    return F64(value), lambda _context, builder, _signature, args: _cast(builder, args[0], value.element, types.float64)


@instruction
def narrow(_typing: Any, kind: Any, value: Any) -> Any:
    """A wide vector rounded to what is stored."""
    vector = _stored(kind)
    return vector(kind, value), lambda _context, builder, _signature, args: _cast(
        builder, args[1], value.element, vector.element
    )


@instruction
def fill(_typing: Any, kind: Any, _value: Any) -> Any:
    """A stored vector with one float64 number in every lane."""
    vector = _stored(kind)

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _splat(builder, vector, _cast(builder, args[1], types.float64, vector.element))

    return vector(kind, types.float64), lower


@instruction
def fill_wide(_typing: Any, _value: Any) -> Any:
    """A wide vector with one number in every lane."""
    return F64(types.float64), lambda _context, builder, _signature, args: _splat(builder, F64, args[0])


@instruction
def integers(_typing: Any, like: Any, _value: Any) -> Any:
    """A vector of integers, of the size of the floats in `like`, with one number in every lane."""
    vector = _SAME_SIZE.get(like, like)

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        narrowed = args[1] if vector == I64 else builder.trunc(args[1], ir.IntType(32))
        return _splat(builder, vector, narrowed)

    return vector(like, types.int64), lower


@instruction
def ones(_typing: Any, mask: Any, like: Any) -> Any:
    """-1 where the mask is true, else 0, as integers of the size of the floats in `like`: subtract it to count."""
    vector = _SAME_SIZE[like]
    return vector(mask, like), lambda context, builder, _signature, args: builder.sext(
        args[0], context.get_data_type(vector)
    )


@instruction
def select(_typing: Any, mask: Any, yes: Any, no: Any) -> Any:
    """`yes` where the mask is true, else `no`."""
    return yes(mask, yes, no), lambda _context, builder, _signature, args: builder.select(*args)


@instruction
def invert(_typing: Any, mask: Any) -> Any:
    """True where the mask is false."""
    return MASK(mask), lambda _context, builder, _signature, args: builder.not_(args[0])


@instruction
def clamp(_typing: Any, x: Any, _low: Any, _high: Any) -> Any:
    """Integers cut to between two others."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        data = context.get_data_type(x)
        kind, suffix = ir.FunctionType(data, [data, data]), f"v{LANES}i{x.element.bitwidth}"
        value, low, high = args
        for name, bound in (("smin", high), ("smax", low)):
            function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
            value = builder.call(function, [value, bound])
        return value

    return x(x, x, x), lower


@instruction
def any_true(_typing: Any, mask: Any) -> Any:
    """Whether any lane of the mask is true."""

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        data = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], data), ir.Constant(data, 0))

    return types.boolean(mask), lower


def _llvm(name: str, arity: int) -> Any:
    """A function of float vectors that LLVM knows by `name`."""

    def call(_typing: Any, *args: Any) -> Any:
        def lower(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            data = context.get_data_type(args[0])
            kind = ir.FunctionType(data, [data] * arity)
            suffix = f"v{LANES}f{args[0].element.bitwidth}"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}"), list(values)
            )

        return args[0](*args), lower

    return call


@instruction
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """A times b plus c, rounded once."""
    return _llvm("fma", 3)(typing, a, b, c)


@instruction
def sqrt(typing: Any, x: Any) -> Any:
    """Square root; NaN below 0."""
    return _llvm("sqrt", 1)(typing, x)


@instruction
def floor(typing: Any, x: Any) -> Any:
    """Largest whole number not above."""
    return _llvm("floor", 1)(typing, x)


@instruction
def rint(typing: Any, x: Any) -> Any:
    """Nearest whole number, halves to even."""
    return _llvm("rint", 1)(typing, x)


@instruction
def absolute(typing: Any, x: Any) -> Any:
    """Without its sign."""
    return _llvm("fabs", 1)(typing, x)


@instruction
def bits(_typing: Any, x: Any) -> Any:
    """The pattern of a float as an integer."""
    vector = _SAME_SIZE[x]
    return vector(x), lambda context, builder, _signature, args: builder.bitcast(args[0], context.get_data_type(vector))


@instruction
def from_bits(_typing: Any, x: Any) -> Any:
    """The float of a pattern."""
    vector = F32 if x == I32 else F64
    return vector(x), lambda context, builder, _signature, args: builder.bitcast(args[0], context.get_data_type(vector))


@instruction
def to_int(_typing: Any, x: Any) -> Any:
    """A whole number in a float as an integer; it must fit."""
    vector = _SAME_SIZE[x]
    return vector(x), lambda context, builder, _signature, args: builder.fptosi(args[0], context.get_data_type(vector))


@instruction
def to_float(_typing: Any, x: Any) -> Any:
    """An integer as a float of its size."""
    vector = F32 if x == I32 else F64
    return vector(x), lambda context, builder, _signature, args: builder.sitofp(args[0], context.get_data_type(vector))


def _shift(name: str) -> Any:
    def call(_typing: Any, x: Any, _count: Any) -> Any:
        def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            size = x.element.bitwidth
            amount = args[1] if size == 64 else builder.trunc(args[1], ir.IntType(32))
            return getattr(builder, name)(args[0], _splat(builder, x, amount))

        return x(x, types.int64), lower

    return call


@instruction
def shift_left(typing: Any, x: Any, count: Any) -> Any:
    """Every lane shifted by `count` bits."""
    return _shift("shl")(typing, x, count)


@instruction
def shift_right(typing: Any, x: Any, count: Any) -> Any:
    """Every lane shifted by `count` bits, keeping its sign."""
    return _shift("ashr")(typing, x, count)


@instruction
def key_of(_typing: Any, x: Any) -> Any:
    """Integers in the order of the floats."""
    vector = _SAME_SIZE[x]
    size = x.element.bitwidth

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        data = context.get_data_type(vector)
        pattern = builder.bitcast(args[0], data)
        negative = builder.ashr(pattern, ir.Constant(data, [size - 1] * LANES))
        return builder.xor(pattern, builder.and_(negative, ir.Constant(data, [2 ** (size - 1) - 1] * LANES)))

    return vector(x), lower


@instruction
def float_at(_typing: Any, kind: Any, address: Any) -> Any:
    """The one stored value at `address`, as float64."""

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = builder.load(_pointer(builder, args[1], _ELEMENTS[kind.dtype]))
        return _cast(builder, value, kind.dtype, types.float64)

    return types.float64(kind, address), lower


@instruction
def int_at(_typing: Any, kind: Any, address: Any) -> Any:
    """The integer of the size of a stored value at `address`."""
    data = ir.IntType(kind.dtype.bitwidth)

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = builder.load(_pointer(builder, args[1], data))
        return builder.sext(value, ir.IntType(64)) if data.width < 64 else value

    return types.int64(kind, address), lower


@instruction
def store_first(_typing: Any, kind: Any, address: Any, value: Any, _count: Any) -> Any:
    """Write only the first few lanes of a stored vector."""
    vector = _stored(kind)

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = _pointer(builder, args[1], _ELEMENTS[vector.element])
        for lane in range(LANES):
            place = ir.Constant(ir.IntType(64), lane)
            with builder.if_then(builder.icmp_signed("<", place, args[3])):
                builder.store(builder.extract_element(args[2], place), builder.gep(pointer, [place]))
        return context.get_dummy_value()

    return types.void(kind, address, value, types.int64), lower


@instruction
def double_at(_typing: Any, address: Any) -> Any:
    """The float64 at `address`."""
    return types.float64(address), lambda _context, builder, _signature, args: builder.load(
        _pointer(builder, args[0], ir.DoubleType())
    )


@instruction
def int32_at(_typing: Any, address: Any) -> Any:
    """The 32-bit integer at `address`."""

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.sext(builder.load(_pointer(builder, args[0], ir.IntType(32))), ir.IntType(64))

    return types.int64(address), lower


@instruction
def store_int32(_typing: Any, _address: Any, _value: Any) -> Any:
    """Write the low 32 bits of an integer at an address."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        builder.store(builder.trunc(args[1], ir.IntType(32)), _pointer(builder, args[0], ir.IntType(32)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), lower


@instruction
def store_double(_typing: Any, _address: Any, _value: Any) -> Any:
    """Write one float64 at an address."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        builder.store(args[1], _pointer(builder, args[0], ir.DoubleType()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), lower


@instruction
def copy_value(_typing: Any, kind: Any, _to: Any, _come: Any) -> Any:
    """Copy one stored value."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        data = _ELEMENTS[kind.dtype]
        builder.store(builder.load(_pointer(builder, args[2], data)), _pointer(builder, args[1], data))
        return context.get_dummy_value()

    return types.void(kind, types.int64, types.int64), lower


@instruction
def store_float(_typing: Any, kind: Any, address: Any, _value: Any) -> Any:
    """Write one float64 at `address`, rounded to what is stored."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        rounded = _cast(builder, args[2], types.float64, kind.dtype)
        builder.store(rounded, _pointer(builder, args[1], rounded.type))
        return context.get_dummy_value()

    return types.void(kind, address, types.float64), lower
