"""Logarithm, exponential and relatives on vectors of float64, to a few units in the last place.

Argument reduction and polynomials after fdlibm (Sun Microsystems, 1993) and Cody and Waite (1980).
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.vectors import (
    absolute,
    bits,
    fill_wide,
    fma,
    from_bits,
    integers,
    rint,
    select,
    shift_left,
    shift_right,
)

__all__ = ["exp", "log", "log1p", "tanh"]

NAN, INFINITY = float("nan"), float("inf")
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# The patterns of 1.0 and 2.0 ** 52, and the mask of the fraction.
ONE, TWO52, FRACTION = 0x3FF0000000000000, 0x4330000000000000, 0x000FFFFFFFFFFFFF
# Adding it leaves a small whole number in the low bits of the pattern.
ROUNDER = 6755399441055744.0
SMALLEST_NORMAL, SCALE = 2.2250738585072014e-308, 18014398509481984.0  # 2 ** 54


@part
def log(x: Any) -> Any:
    """Natural logarithm; NaN for x <= 0."""
    tiny = x < fill_wide(SMALLEST_NORMAL)
    pattern = bits(select(tiny, x * fill_wide(SCALE), x))
    biased = shift_right(pattern, 52) | integers(pattern, TWO52)
    exponent = from_bits(biased) - fill_wide(4503599627370496.0 + 1023.0)
    exponent = select(tiny, exponent - fill_wide(54.0), exponent)
    fraction = from_bits((pattern & integers(pattern, FRACTION)) | integers(pattern, ONE))
    large = fraction > fill_wide(1.4142135623730951)
    exponent = select(large, exponent + fill_wide(1.0), exponent)
    f = select(large, fraction * fill_wide(0.5), fraction) - fill_wide(1.0)
    s = f / (f + fill_wide(2.0))
    z = s * s
    w = z * z
    even = w * fma(
        w,
        fma(w, fill_wide(1.531383769920937332e-01), fill_wide(2.222219843214978396e-01)),
        fill_wide(3.999999999940941908e-01),
    )
    odd = fma(w, fill_wide(1.479819860511658591e-01), fill_wide(1.818357216161805012e-01))
    odd = z * fma(w, fma(w, odd, fill_wide(2.857142874366239149e-01)), fill_wide(6.666666666666735130e-01))
    half = fill_wide(0.5) * f * f
    inner = s * (half + (even + odd)) + exponent * fill_wide(LN2_LOW)
    value = exponent * fill_wide(LN2_HIGH) - ((half - inner) - f)
    return select((x > fill_wide(0.0)) & (x < fill_wide(INFINITY)), value, fill_wide(NAN))


@part
def log1p(x: Any) -> Any:
    """Logarithm of 1 + x, accurate near 0 (Hewlett-Packard's correction)."""
    one = fill_wide(1.0)
    u = x + one
    return log(u) + (x - (u - one)) / u


@part
def exp(x: Any) -> Any:
    """E to the power x, infinite beyond the range of a float."""
    x = select(x > fill_wide(710.0), fill_wide(710.0), x)
    x = select(x < fill_wide(-746.0), fill_wide(-746.0), x)
    k = rint(x * fill_wide(1.4426950408889634))
    r = (x - k * fill_wide(LN2_HIGH)) - k * fill_wide(LN2_LOW)
    p = fma(r, fill_wide(1.6059043836821613e-10), fill_wide(2.08767569878681e-09))
    p = fma(r, p, fill_wide(2.505210838544172e-08))
    p = fma(r, p, fill_wide(2.755731922398589e-07))
    p = fma(r, p, fill_wide(2.7557319223985893e-06))
    p = fma(r, p, fill_wide(2.48015873015873e-05))
    p = fma(r, p, fill_wide(1.984126984126984e-04))
    p = fma(r, p, fill_wide(1.388888888888889e-03))
    p = fma(r, p, fill_wide(8.333333333333333e-03))
    p = fma(r, p, fill_wide(4.1666666666666664e-02))
    p = fma(r, p, fill_wide(1.6666666666666666e-01))
    p = fma(r, p, fill_wide(0.5))
    p = fma(r, p, fill_wide(1.0))
    p = fma(r, p, fill_wide(1.0))
    # two steps, because 2 ** k itself may be no normal number
    half = rint(k * fill_wide(0.5))
    return p * _power_of_two(half) * _power_of_two(k - half)


@part
def _power_of_two(k: Any) -> Any:
    pattern = bits(k + fill_wide(ROUNDER))
    return from_bits(shift_left(pattern, 52) + integers(pattern, ONE))


@part
def tanh(x: Any) -> Any:
    """Hyperbolic tangent: Lambert's continued fraction near 0, the exponential elsewhere."""
    z, one = x * x, fill_wide(1.0)
    below = fill_wide(15.0) + z / fill_wide(17.0)
    below = fill_wide(9.0) + z / (fill_wide(11.0) + z / (fill_wide(13.0) + z / below))
    below = one + z / (fill_wide(3.0) + z / (fill_wide(5.0) + z / (fill_wide(7.0) + z / below)))
    far = one - fill_wide(2.0) / (exp(absolute(x) + absolute(x)) + one)
    far = select(x < fill_wide(0.0), fill_wide(0.0) - far, far)
    return select(absolute(x) < fill_wide(0.5), x / below, far)
