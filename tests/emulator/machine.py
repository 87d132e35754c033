"""A minimal emulator of gfx1100 code objects: enough to prove by execution what the AMD target emits.

Instructions are decoded by the tables of the tinygrad wheel; one row of a numpy array is one vector register, one column a lane. What is
not implemented stops with its text; reading what was never written, in LDS or memory, is caught.
"""

from __future__ import annotations

import io
import itertools
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile
from tinygrad.renderer.amd import decode_inst

from .operations import COMPARE, SCALAR1, SCALAR2, SCALAR_COMPARE, VECTOR1, VECTOR2, VECTOR3

VCC, NULL, M0, EXEC, SCC, LITERAL, VGPR = 106, 124, 125, 126, 253, 255, 256
FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}


class EmulatorError(Exception):
    """What the emulated program did wrong, or what is not emulated."""


@dataclass
class Memory:
    """Buffers of the emulated machine by base address."""

    buffers: dict[int, bytearray] = field(default_factory=dict)
    next: int = 0x10_0000_0000

    def allocate(self, data: bytes | int) -> int:
        """A buffer with `data`, or of so many zero bytes; its address. Unmapped space lies between buffers."""
        content = bytearray(data)
        base = self.next
        self.buffers[base] = content
        self.next += len(content) + 0x10000 - len(content) % 0x1000
        return base

    def at(self, address: int, size: int) -> tuple[bytearray, int]:
        """The buffer that holds `size` bytes at `address`, and the offset in it."""
        for base, content in self.buffers.items():
            if base <= address and address + size <= base + len(content):
                return content, address - base
        raise EmulatorError(f"access of {size} bytes at {address:#x}, which is in no buffer")

    def read(self, address: int, size: int) -> bytes:
        """Bytes at an address."""
        content, at = self.at(address, size)
        return bytes(content[at : at + size])

    def write(self, address: int, data: bytes) -> None:
        """Stores bytes."""
        content, at = self.at(address, len(data))
        content[at : at + len(data)] = data


class Program:
    """A code object: loaded segments, kernels by name."""

    def __init__(self, code: bytes, memory: Memory) -> None:
        elf = ELFFile(io.BytesIO(code))
        top = max(s["p_vaddr"] + s["p_memsz"] for s in elf.iter_segments() if s["p_type"] == "PT_LOAD")
        self.base = memory.allocate(top)
        image = memory.buffers[self.base]
        for s in elf.iter_segments():
            if s["p_type"] == "PT_LOAD":
                image[s["p_vaddr"] : s["p_vaddr"] + s["p_filesz"]] = s.data()
        self.symbols = {s.name: s["st_value"] for s in elf.get_section_by_name(".dynsym").iter_symbols() if s.name}
        dynamic = elf.get_section_by_name(".rela.dyn")
        if dynamic is not None:
            for r in dynamic.iter_relocations():
                raise EmulatorError(f"a dynamic relocation of type {r['r_info_type']}")
        self.memory = memory


class Wave:
    """One wave of 32 lanes."""

    def __init__(
        self, program: Program, pc: int, lanes: int, lds: bytearray, written: bytearray, counts: Counter[str]
    ) -> None:
        self.program, self.pc, self.lds, self.written, self.counts = program, pc, lds, written, counts
        self.s = [0] * 128
        self.v = np.zeros((256, 32), np.uint32)
        self.s[EXEC] = (1 << lanes) - 1
        self.scc = 0

    # -- operands -------------------------------------------------------------------------------------------------

    def scalar(self, reg: Any, i: Any) -> int:
        """A scalar operand of 32 or 64 bits."""
        o, wide = reg.offset, reg.sz == 2
        if o < 128:
            if o == NULL:
                return 0
            return self.s[o] | (self.s[o + 1] << 32 if wide else 0)
        if 128 <= o <= 192:
            return o - 128
        if 193 <= o <= 208:
            return (192 - o) & (0xFFFFFFFFFFFFFFFF if wide else 0xFFFFFFFF)
        if o in FLOATS:
            return struct.unpack("<I", struct.pack("<f", FLOATS[o]))[0]
        if o == SCC:
            return self.scc
        if o == LITERAL:
            return self.literal(i)
        raise EmulatorError(f"scalar operand {reg} in {i}")

    def literal(self, i: Any) -> int:
        """The 32-bit literal behind an instruction."""
        raw = self.program.memory.read(self.pc + i.size() - 4, 4)
        return struct.unpack("<I", raw)[0]

    def vector(self, reg: Any, i: Any, k: int = 0, wide: bool = False) -> np.ndarray:
        """A vector operand as uint32 (or uint64) of all lanes, with the modifiers of source `k`."""
        o = reg.offset
        if o >= VGPR:
            n = o - VGPR
            value = self.v[n].copy()
            if wide:
                value = value.astype(np.uint64) | (self.v[n + 1].astype(np.uint64) << np.uint64(32))
        else:
            number = self.scalar(reg, i)
            if wide and o >= 193 and o <= 208:
                number = (192 - o) & 0xFFFFFFFFFFFFFFFF
            value = np.full(32, number & (0xFFFFFFFFFFFFFFFF if wide else 0xFFFFFFFF), np.uint64 if wide else np.uint32)
        neg, absolute = getattr(i, "neg", 0) or 0, getattr(i, "abs", 0) or 0
        sign = np.uint64(1 << 63) if wide else np.uint32(1 << 31)
        if absolute >> k & 1:
            value = value & ~sign
        if neg >> k & 1:
            value = value ^ sign
        return value

    def active(self) -> np.ndarray:
        """Which lanes execute."""
        return np.array([self.s[EXEC] >> k & 1 for k in range(32)], bool)

    def set_scalar(self, reg: Any, value: int, wide: bool = False) -> None:
        """Writes one or two scalar registers."""
        if reg.offset == NULL:
            return
        self.s[reg.offset] = value & 0xFFFFFFFF
        if wide:
            self.s[reg.offset + 1] = value >> 32 & 0xFFFFFFFF

    def set_vector(self, reg: Any, value: np.ndarray) -> None:
        """Writes a vector register (two for 64-bit values) in the active lanes."""
        n, on = reg.offset - VGPR, self.active()
        if value.dtype == np.uint64:
            self.v[n + 1][on] = (value >> np.uint64(32)).astype(np.uint32)[on]
            value = (value & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        self.v[n][on] = value[on]

    def bits(self, flags: np.ndarray) -> int:
        """A mask of the active lanes whose flag is set."""
        return sum(1 << k for k in range(32) if flags[k]) & self.s[EXEC]

    # -- execution ------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[str]:
        """Executes to the end; yields at each barrier."""
        while True:
            raw = self.program.memory.read(self.pc, 16)
            word = struct.unpack_from("<I", raw)[0]
            if word >> 26 == 0b111000:  # buffer_gl0_inv and its like: caches are not emulated
                self.pc += 8
                continue
            try:
                i = decode_inst(raw)
            except ValueError as e:
                raise EmulatorError(f"at {self.pc - self.program.base:#x}: {e}") from None
            name = i.op.name.removesuffix("_E32").removesuffix("_E64") if hasattr(i, "op") else type(i).__name__
            kind = type(i).__name__.partition("_")[0]
            self.counts[kind] += 1
            following = self.pc + i.size()
            if kind == "SOPP":
                if name == "S_ENDPGM":
                    return
                if name == "S_BARRIER":
                    yield name
                elif name.startswith(("S_CBRANCH", "S_BRANCH")):
                    if self.branches(name):
                        following += struct.unpack("<h", struct.pack("<H", i.simm16 & 0xFFFF))[0] * 4
                elif not name.startswith(
                    ("S_WAIT", "S_NOP", "S_CLAUSE", "S_DELAY", "S_SENDMSG", "S_CODE_END", "S_SLEEP")
                ):
                    raise EmulatorError(f"{i}")
            else:
                getattr(self, f"do_{kind.lower()}", self.unknown)(name, i)
            self.pc = following

    def unknown(self, name: str, i: Any) -> None:
        """Stops with the instruction's text."""
        raise EmulatorError(f"not emulated: {i}")

    def branches(self, name: str) -> bool:
        """Whether a branch is taken."""
        return {
            "S_BRANCH": True,
            "S_CBRANCH_SCC0": not self.scc,
            "S_CBRANCH_SCC1": bool(self.scc),
            "S_CBRANCH_EXECZ": self.s[EXEC] == 0,
            "S_CBRANCH_EXECNZ": self.s[EXEC] != 0,
            "S_CBRANCH_VCCZ": self.s[VCC] == 0,
            "S_CBRANCH_VCCNZ": self.s[VCC] != 0,
        }[name]

    def do_sop1(self, name: str, i: Any) -> None:
        """Scalar instructions of one operand."""
        x, wide = self.scalar(i.ssrc0, i), name.endswith("B64")
        if "SAVEEXEC" in name:
            before = self.s[EXEC]
            result = {
                "S_AND_SAVEEXEC_B32": x & before,
                "S_OR_SAVEEXEC_B32": x | before,
                "S_XOR_SAVEEXEC_B32": x ^ before,
                "S_AND_NOT1_SAVEEXEC_B32": x & ~before,
                "S_AND_NOT0_SAVEEXEC_B32": ~x & before,
            }.get(name)
            if result is None:
                self.unknown(name, i)
            self.set_scalar(i.sdst, before)
            self.s[EXEC] = result & 0xFFFFFFFF
            self.scc = int(self.s[EXEC] != 0)
            return
        if name not in SCALAR1:
            self.unknown(name, i)
        result, scc = SCALAR1[name](x)
        self.set_scalar(i.sdst, result, wide)
        self.scc = self.scc if scc is None else scc

    def do_sop2(self, name: str, i: Any) -> None:
        """Scalar instructions of two operands."""
        if name not in SCALAR2:
            self.unknown(name, i)
        wide = name.endswith(("64",))
        result, scc = SCALAR2[name](self.scalar(i.ssrc0, i), self.scalar(i.ssrc1, i), self.scc)
        self.set_scalar(i.sdst, result, wide)
        self.scc = self.scc if scc is None else scc

    def do_sopc(self, name: str, i: Any) -> None:
        """Scalar comparisons."""
        if name not in SCALAR_COMPARE:
            self.unknown(name, i)
        self.scc = int(SCALAR_COMPARE[name](self.scalar(i.ssrc0, i), self.scalar(i.ssrc1, i)))

    def do_sopk(self, name: str, i: Any) -> None:
        """Scalar instructions with a 16-bit constant."""
        value = struct.unpack("<h", struct.pack("<H", i.simm16 & 0xFFFF))[0]
        if name == "S_MOVK_I32":
            self.set_scalar(i.sdst, value)
        elif name == "S_ADDK_I32":
            self.set_scalar(i.sdst, self.scalar(i.sdst, i) + value)
        elif name != "S_VERSION" and not name.startswith("S_WAITCNT"):
            self.unknown(name, i)

    def do_smem(self, name: str, i: Any) -> None:
        """Scalar loads."""
        count = {"S_LOAD_B32": 1, "S_LOAD_B64": 2, "S_LOAD_B128": 4, "S_LOAD_B256": 8, "S_LOAD_B512": 16}.get(name)
        if count is None:
            self.unknown(name, i)
        base = self.s[i.sbase.offset] | self.s[i.sbase.offset + 1] << 32
        offset = i.offset if i.offset < 1 << 20 else i.offset - (1 << 21)
        address = base + offset + (0 if i.soffset.offset == NULL else self.scalar(i.soffset, i))
        words = struct.unpack(f"<{count}I", self.program.memory.read(address, 4 * count))
        for k, w in enumerate(words):
            self.s[i.sdata.offset + k] = w

    def do_vop1(self, name: str, i: Any) -> None:
        """Vector instructions of one operand."""
        if name == "V_READFIRSTLANE_B32":
            on = self.s[EXEC]
            lane = (on & -on).bit_length() - 1 if on else 0
            self.set_scalar(i.vdst, int(self.vector(i.src0, i)[lane]))
            return
        if name not in VECTOR1:
            self.unknown(name, i)
        self.set_vector(i.vdst, VECTOR1[name](self.vector(i.src0, i)))

    def do_vop2(self, name: str, i: Any) -> None:
        """Vector instructions of two operands."""
        x, y = self.vector(i.src0, i), self.vector(i.vsrc1, i, 1)
        if name == "V_CNDMASK_B32":
            mask = np.array([self.s[VCC] >> k & 1 for k in range(32)], bool)
            self.set_vector(i.vdst, np.where(mask, y, x))
        elif name in ("V_FMAC_F32",):
            self.set_vector(i.vdst, VECTOR3["V_FMA_F32"](x, y, self.v[i.vdst.offset - VGPR]))
        elif name in VECTOR2:
            self.set_vector(i.vdst, VECTOR2[name](x, y))
        else:
            self.unknown(name, i)

    def do_vop3(self, name: str, i: Any) -> None:
        """The long encoding: comparisons into a scalar register, operations of up to three operands."""
        if (getattr(i, "omod", 0) or 0) or (getattr(i, "clmp", 0) or 0) or (getattr(i, "opsel", 0) or 0):
            self.unknown(name, i)
        base = name.replace("V_CMPX_", "V_CMP_")
        if base in COMPARE:
            wide = base.endswith("64")
            mask = self.bits(COMPARE[base](self.vector(i.src0, i, 0, wide), self.vector(i.src1, i, 1, wide)))
            if base != name:
                self.s[EXEC] = mask
            else:
                self.set_scalar(i.vdst, mask)
            return
        if name in ("V_LSHLREV_B64", "V_LSHRREV_B64", "V_ASHRREV_I64"):
            n, x = self.vector(i.src0, i).astype(np.uint64) & np.uint64(63), self.vector(i.src1, i, 1, True)
            shifted = {
                "V_LSHLREV_B64": lambda: x << n,
                "V_LSHRREV_B64": lambda: x >> n,
                "V_ASHRREV_I64": lambda: (x.view(np.int64) >> n.view(np.int64)).view(np.uint64),
            }[name]()
            self.set_vector(i.vdst, shifted)
        elif name in VECTOR3:
            self.set_vector(
                i.vdst, VECTOR3[name](self.vector(i.src0, i), self.vector(i.src1, i, 1), self.vector(i.src2, i, 2))
            )
        elif name == "V_CNDMASK_B32":
            mask = self.scalar(i.src2, i)
            lanes = np.array([mask >> k & 1 for k in range(32)], bool)
            self.set_vector(i.vdst, np.where(lanes, self.vector(i.src1, i, 1), self.vector(i.src0, i)))
        elif name in VECTOR2:
            self.set_vector(i.vdst, VECTOR2[name](self.vector(i.src0, i), self.vector(i.src1, i, 1)))
        elif name in VECTOR1:
            self.set_vector(i.vdst, VECTOR1[name](self.vector(i.src0, i)))
        else:
            self.unknown(name, i)

    def do_vop3sd(self, name: str, i: Any) -> None:
        """Operations with a carry or overflow mask."""
        x, y = (self.vector(s, i, k).astype(np.uint64) for k, s in enumerate((i.src0, i.src1)))
        if name == "V_MAD_U64_U32":
            self.set_vector(i.vdst, x * y + self.vector(i.src2, i, 2, True))
            return
        carry = np.zeros(32, np.uint64)
        if "CI" in name:
            mask = self.scalar(i.src2, i)
            carry = np.array([mask >> k & 1 for k in range(32)], np.uint64)
        if name in ("V_ADD_CO_U32", "V_ADD_CO_CI_U32"):
            total = x + y + carry
            out = total >> np.uint64(32) != 0
        elif name in ("V_SUB_CO_U32", "V_SUB_CO_CI_U32"):
            total, out = x - y - carry, y + carry > x
        else:
            self.unknown(name, i)
        self.set_vector(i.vdst, (total & np.uint64(0xFFFFFFFF)).astype(np.uint32))
        self.set_scalar(i.sdst, self.bits(out))

    def do_vopc(self, name: str, i: Any) -> None:
        """Comparisons into VCC or EXEC."""
        base = name.replace("V_CMPX_", "V_CMP_")
        if base not in COMPARE:
            self.unknown(name, i)
        wide = base.endswith("64")
        mask = self.bits(COMPARE[base](self.vector(i.src0, i, 0, wide), self.vector(i.vsrc1, i, 1, wide)))
        self.s[EXEC if base != name else VCC] = mask

    def do_vopd(self, name: str, i: Any) -> None:
        """Two operations at once; both read before either writes."""
        halves = []
        for op, src0, src1, dst in ((i.opx, i.srcx0, i.vsrcx1, i.vdstx), (i.opy, i.srcy0, i.vsrcy1, i.vdsty)):
            half = op.name.replace("V_DUAL_", "V_")
            x, y = self.vector(src0, i), self.vector(src1, i)
            if half == "V_CNDMASK_B32":
                mask = np.array([self.s[VCC] >> k & 1 for k in range(32)], bool)
                value = np.where(mask, y, x)
            elif half == "V_FMAC_F32":
                value = VECTOR3["V_FMA_F32"](x, y, self.v[dst.offset - VGPR])
            elif half in VECTOR1:
                value = VECTOR1[half](x)
            elif half in VECTOR2:
                value = VECTOR2[half](x, y)
            else:
                self.unknown(half, i)
            halves.append((dst, value))
        for dst, value in halves:
            self.set_vector(dst, value)

    def do_global(self, name: str, i: Any) -> None:
        """Global loads, stores and atomics, lane by lane."""
        words = {"B32": 1, "B64": 2, "B96": 3, "B128": 4}.get(name.rpartition("_")[2])
        offset = i.offset if i.offset < 1 << 12 else i.offset - (1 << 13)
        for lane in range(32):
            if not self.s[EXEC] >> lane & 1:
                continue
            n = i.addr.offset - VGPR
            if i.saddr.offset == NULL:
                address = int(self.v[n][lane]) | int(self.v[n + 1][lane]) << 32
            else:
                address = int(self.v[n][lane]) + (self.s[i.saddr.offset] | self.s[i.saddr.offset + 1] << 32)
            address += offset
            memory = self.program.memory
            if name.startswith("GLOBAL_LOAD_B") and words:
                for k, w in enumerate(struct.unpack(f"<{words}I", memory.read(address, 4 * words))):
                    self.v[i.vdst.offset - VGPR + k][lane] = w
            elif name.startswith("GLOBAL_STORE_B") and words:
                data = [int(self.v[i.data.offset - VGPR + k][lane]) for k in range(words)]
                memory.write(address, struct.pack(f"<{words}I", *data))
            elif name in ("GLOBAL_LOAD_U8", "GLOBAL_LOAD_I8"):
                raw = memory.read(address, 1)[0]
                self.v[i.vdst.offset - VGPR][lane] = raw if name.endswith("U8") or raw < 128 else raw + 0xFFFFFF00
            elif name == "GLOBAL_ATOMIC_ADD_U32":
                old = struct.unpack("<I", memory.read(address, 4))[0]
                memory.write(address, struct.pack("<I", (old + int(self.v[i.data.offset - VGPR][lane])) & 0xFFFFFFFF))
                if i.glc:
                    self.v[i.vdst.offset - VGPR][lane] = old
            else:
                self.unknown(name, i)

    def do_ds(self, name: str, i: Any) -> None:
        """LDS, and permutation through it."""
        if name == "DS_BPERMUTE_B32":
            index = (self.vector(i.addr, i) + np.uint32(i.offset0 | i.offset1 << 8)) >> np.uint32(2) & np.uint32(31)
            data = np.where(self.active(), self.vector(i.data0, i), np.uint32(0))
            self.set_vector(i.vdst, data[index])
            return
        words = {"B32": 1, "B64": 2, "B96": 3, "B128": 4}.get(name.rpartition("_")[2])
        for lane in range(32):
            if not self.s[EXEC] >> lane & 1:
                continue
            base = int(self.v[i.addr.offset - VGPR][lane])
            if name.startswith(("DS_LOAD_2ADDR", "DS_STORE_2ADDR")):
                step = 4 * (words or 1) * (64 if "STRIDE64" in name else 1)
                places = [base + i.offset0 * step, base + i.offset1 * step]
            else:
                places = [base + (i.offset0 | i.offset1 << 8)]
            if name.startswith("DS_LOAD") and words:
                got = [w for p in places for w in struct.unpack(f"<{words}I", self.lds_read(p, 4 * words))]
                for k, w in enumerate(got):
                    self.v[i.vdst.offset - VGPR + k][lane] = w
            elif name.startswith("DS_STORE") and words:
                for p, reg in zip(places, (i.data0, i.data1), strict=False):
                    data = [int(self.v[reg.offset - VGPR + k][lane]) for k in range(words)]
                    self.lds_write(p, struct.pack(f"<{words}I", *data))
            elif name in ("DS_ADD_U32", "DS_ADD_RTN_U32"):
                old = struct.unpack("<I", self.lds_read(places[0], 4))[0]
                self.lds_write(
                    places[0], struct.pack("<I", (old + int(self.v[i.data0.offset - VGPR][lane])) & 0xFFFFFFFF)
                )
                if "RTN" in name:
                    self.v[i.vdst.offset - VGPR][lane] = old
            else:
                self.unknown(name, i)

    def lds_read(self, at: int, size: int) -> bytes:
        """Reads LDS that was written before."""
        if at < 0 or at + size > len(self.lds):
            raise EmulatorError(f"LDS access of {size} bytes at {at:#x} of {len(self.lds):#x}")
        if not all(self.written[at : at + size]):
            raise EmulatorError(f"LDS at {at:#x} is read before it is written")
        return bytes(self.lds[at : at + size])

    def lds_write(self, at: int, data: bytes) -> None:
        """Writes LDS."""
        if at < 0 or at + len(data) > len(self.lds):
            raise EmulatorError(f"LDS access of {len(data)} bytes at {at:#x} of {len(self.lds):#x}")
        self.lds[at : at + len(data)] = data
        self.written[at : at + len(data)] = b"\1" * len(data)


class Emulator:
    """Runs kernels of a code object on emulated memory."""

    def __init__(self, code: bytes, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self.program = Program(code, self.memory)
        self.counts: Counter[str] = Counter()

    def launch(
        self, kernel: str, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: bytes, lds: int = 0
    ) -> None:
        """Runs a grid of work groups; `arguments` lie at their PTX offsets, hidden arguments are put behind them."""
        symbol = self.program.symbols.get(f"{kernel}.kd")
        if symbol is None:
            raise EmulatorError(f"no kernel {kernel}")
        descriptor = self.memory.read(self.program.base + symbol, 64)
        group, _, kernarg = struct.unpack_from("<III", descriptor)
        entry = struct.unpack_from("<q", descriptor, 16)[0] + symbol
        rsrc2, properties = struct.unpack_from("<I", descriptor, 52)[0], struct.unpack_from("<H", descriptor, 56)[0]
        segment = bytearray(max(kernarg, len(arguments) + 256))
        segment[: len(arguments)] = arguments
        hidden = -(-len(arguments) // 8) * 8
        struct.pack_into("<IIIHHH", segment, hidden, *grid, *block)
        address = self.memory.allocate(bytes(segment))
        threads = block[0] * block[1] * block[2]
        for z, y, x in itertools.product(range(grid[2]), range(grid[1]), range(grid[0])):
            shared, written = bytearray(group + lds), bytearray(group + lds)
            waves = []
            for first in range(0, threads, 32):
                lanes = min(32, threads - first)
                w = Wave(self.program, self.program.base + entry, lanes, shared, written, self.counts)
                self._registers(w, rsrc2, properties, address, (x, y, z))
                for lane in range(lanes):
                    t = first + lane
                    w.v[0][lane] = t % block[0] | t // block[0] % block[1] << 10 | t // (block[0] * block[1]) << 20
                waves.append(w.run())
            while waves:
                waves = [w for w in waves if next(w, None) is not None]

    @staticmethod
    def _registers(w: Wave, rsrc2: int, properties: int, kernarg: int, group: tuple[int, int, int]) -> None:
        """Initial scalar registers: user data, then the work group's ids."""
        at = 0
        for bit, size in ((0, 4), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 1)):
            if properties >> bit & 1:
                if bit == 3:
                    w.s[at], w.s[at + 1] = kernarg & 0xFFFFFFFF, kernarg >> 32
                at += size
        at = rsrc2 >> 1 & 31
        for bit, number in zip((7, 8, 9), group, strict=True):
            if rsrc2 >> bit & 1:
                w.s[at] = number
                at += 1
