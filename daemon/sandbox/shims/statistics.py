"""Subset of the module `statistics`, with the exact sums of CPython.

`bin` and `math.frexp` replace `int.bit_length` and `as_integer_ratio`, which monty lacks.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

StatisticsError = ValueError


def exact(data: list[Any]) -> tuple[list[int], int]:
    """Return the data as integers over a common power of two, and the exponent."""
    parts = []
    most = 0
    for value in data:
        shift = 0
        number = value
        if isinstance(value, float):
            mantissa, exponent = math.frexp(value)
            number = int(mantissa * 2**53)
            shift = 53 - exponent
            if shift < 0:
                number = number << -shift
                shift = 0
        parts.append((int(number), shift))
        most = max(most, shift)
    return [number << (most - shift) for number, shift in parts], most


def divided(number: int, by: int, data: list[Any]) -> Any:
    """Return a quotient: an int if exact and all data are ints, otherwise a float."""
    if number % by == 0 and all([isinstance(value, int) for value in data]):
        return number // by
    return number / by


def some(data: Any, least: int, name: str) -> list[Any]:
    values = list(data)
    if len(values) < least:
        if least == 1:
            raise StatisticsError(f"{name} requires at least one data point")
        raise StatisticsError(f"{name} requires at least two data points")
    return values


def mean(data: Any) -> Any:
    values = some(data, 1, "mean")
    numbers, shift = exact(values)
    return divided(sum(numbers), len(values) << shift, values)


def fmean(data: Any, weights: Any | None = None) -> float:
    values = some(data, 1, "fmean")
    if weights is None:
        return math.fsum(values) / len(values)
    weighed = list(weights)
    pairs = zip(values, weighed, strict=True)
    return math.fsum([value * weight for value, weight in pairs]) / math.fsum(weighed)


def geometric_mean(data: Any) -> float:
    return math.exp(fmean([math.log(value) for value in data]))


def harmonic_mean(data: Any) -> Any:
    values = some(data, 1, "harmonic_mean")
    if 0 in values:
        return 0
    numbers, shift = exact([1 / value for value in values])
    return (len(values) << shift) / sum(numbers)


def ordered(data: Any) -> list[Any]:
    values = sorted(data)
    if not values:
        raise StatisticsError("no median for empty data")
    return values


def median(data: Any) -> Any:
    values = ordered(data)
    half = len(values) // 2
    if len(values) % 2 == 1:
        return values[half]
    return (values[half - 1] + values[half]) / 2


def median_low(data: Any) -> Any:
    values = ordered(data)
    return values[(len(values) - 1) // 2]


def median_high(data: Any) -> Any:
    values = ordered(data)
    return values[len(values) // 2]


def multimode(data: Any) -> list[Any]:
    counts = Counter(data)
    most = max(counts.values(), default=0)
    return [value for value, count in counts.items() if count == most]


def mode(data: Any) -> Any:
    values = multimode(data)
    if not values:
        raise StatisticsError("no mode for empty data")
    return values[0]


def squares(values: list[Any]) -> tuple[int, int]:
    """Return the exact sum of squared deviations, as numerator and denominator."""
    numbers, shift = exact(values)
    total = sum(numbers)
    deviations = len(values) * sum([number * number for number in numbers]) - total * total
    return deviations, len(values) << 2 * shift


def root(number: int, by: int) -> float:
    """Return the square root of a fraction, rounded only once."""
    bits = (len(bin(number)) - len(bin(by)) - 109) // 2
    if bits >= 0:
        return float(odd_root(number, by << 2 * bits) << bits)
    return odd_root(number << -2 * bits, by) / (1 << -bits)


def odd_root(number: int, by: int) -> int:
    """Return the integer square root of a fraction, made odd if inexact."""
    found = math.isqrt(number // by)
    return found | (found * found * by != number)


def variance(data: Any, xbar: Any = None) -> Any:
    values = some(data, 2, "variance")
    number, by = squares(values)
    return divided(number, by * (len(values) - 1), values)


def pvariance(data: Any, mu: Any = None) -> Any:
    values = some(data, 1, "pvariance")
    number, by = squares(values)
    return divided(number, by * len(values), values)


def stdev(data: Any, xbar: Any = None) -> float:
    values = some(data, 2, "stdev")
    number, by = squares(values)
    return root(number, by * (len(values) - 1))


def pstdev(data: Any, mu: Any = None) -> float:
    values = some(data, 1, "pstdev")
    number, by = squares(values)
    return root(number, by * len(values))


def quantiles(data: Any, *, n: int = 4, method: str = "exclusive") -> list[Any]:
    if n < 1:
        raise StatisticsError("n must be at least 1")
    values = sorted(data)
    if len(values) < 2:
        raise StatisticsError("must have at least two data points")
    inner = method == "inclusive"
    whole = len(values) - 1 if inner else len(values) + 1
    cuts = []
    for i in range(1, n):
        if inner:
            j, delta = divmod(i * whole, n)
            low, high = values[j], values[j + 1]
        else:
            j = min(max(i * whole // n, 1), len(values) - 1)
            delta = i * whole - j * n
            low, high = values[j - 1], values[j]
        cuts.append((low * (n - delta) + high * delta) / n)
    return cuts
