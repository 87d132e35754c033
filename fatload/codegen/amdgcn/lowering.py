"""AMD target: what differs from the CPU. A value is one lane's scalar; the hardware makes the lanes.

A CUDA warp is 32 lanes. With 64-lane waves each half of a wave is one warp: masks are those of the lane's own half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fatload.codegen.builder import BITS, FLOATS, UNIFORM, Value
from fatload.codegen.lowering import STORAGE, Lowering
from fatload.ptx.model import Addr, Function, Instruction, Reg, Sym

if TYPE_CHECKING:
    from fatload.codegen.amdgcn.module import AmdModule

SPACES = {"global": 1, "shared": 3, "const": 1, "local": 5, "param": 4, "": 0}
SCOPES = {"cta": "workgroup", "cluster": "agent", "gpu": "agent", "sys": ""}
_MODE = {"rn": 0, "rp": 1, "rm": 2, "rz": 3}


def size_of(type_: str) -> int:
    """Bytes of an IR type in memory."""
    return max(1, BITS[type_] // 8)


class AmdLowering(Lowering):
    """One PTX function on its way to an LLVM function for amdgcn."""

    def __init__(self, module: AmdModule, function: Function) -> None:
        super().__init__(1, function.name)
        self.module, self.function = module, function
        assert function.body is not None
        self.body = function.body
        self.declarations = module.declarations
        self.helpers = module.helpers
        self.registers: dict[str, str] = {}
        self.once: dict[str, str] = {}
        self.kernel_params = _offsets(function) if function.entry else {}

    # -- registers and names --------------------------------------------------------------------------------------

    def register_type(self, name: str) -> str:
        return STORAGE[self.body.registers[name.partition("#")[0]][0]]

    def _slot(self, name: str) -> str:
        slot = self.registers.get(name)
        if slot is None:
            slot = self.registers[name] = self.let_entry(f"alloca {self.register_type(name)}, addrspace(5)")
        return slot

    def load_register(self, name: str) -> Value:
        type_ = self.register_type(name)
        return Value(type_, UNIFORM, self.let(f"load {type_}, ptr addrspace(5) {self._slot(name)}"))

    def store_register(self, name: str, v: Value) -> None:
        self.emit(f"store {v.type} {v.text}, ptr addrspace(5) {self._slot(name)}")

    def entry_value(self, key: str, text: str) -> str:
        """A value made once, in the entry block."""
        if key not in self.once:
            self.once[key] = self.let_entry(text)
        return self.once[key]

    def _call_entry(self, name: str, result: str, args: str = "", types: str = "") -> str:
        self.declare(name, f"{result} ({types})")
        return self.entry_value(f"{name}({args})", f"call {result} @{name}({args})")

    def _hidden(self, offset: int, type_: str) -> str:
        """A hidden kernel argument (code object version 5 and later)."""
        base = self._call_entry("llvm.amdgcn.implicitarg.ptr", "ptr addrspace(4)")
        p = self.entry_value(f"hidden {offset}", f"getelementptr i8, ptr addrspace(4) {base}, i64 {offset}")
        return self.entry_value(f"hidden {offset} value", f"load {type_}, ptr addrspace(4) {p}, align {size_of(type_)}")

    def special(self, name: str, component: str) -> Value:
        axis = "xyz".find(component) if component else -1
        if name in ("tid", "ntid", "ctaid", "nctaid") and axis < 0:
            return self.integer("i32", 0)
        match name:
            case "tid":
                return self._i32(self._call_entry(f"llvm.amdgcn.workitem.id.{component}", "i32"))
            case "ctaid":
                return self._i32(self._call_entry(f"llvm.amdgcn.workgroup.id.{component}", "i32"))
            case "nctaid":
                return self._i32(self._hidden(4 * axis, "i32"))
            case "ntid":
                short = self._hidden(12 + 2 * axis, "i16")
                return self._i32(self.entry_value(f"ntid {axis}", f"zext i16 {short} to i32"))
            case "laneid":
                return self.lane()
            case "warpid":
                x, y, z = (self.special("tid", c) for c in "xyz")
                nx, ny = self.special("ntid", "x"), self.special("ntid", "y")
                linear = self.add(self.mul(self.add(self.mul(z, ny), y), nx), x)
                return self.bin("lshr", linear, self.integer("i32", 5))
            case "nwarpid":
                return self.integer("i32", 32)
            case "clock" | "clock64":
                self.declare("llvm.readcyclecounter", "i64 ()")
                v = Value("i64", UNIFORM, self.let("call i64 @llvm.readcyclecounter()"))
                return v if name == "clock64" else self.trunc(v, "i32")
            case "globaltimer":
                self.declare("llvm.readsteadycounter", "i64 ()")
                return Value("i64", UNIFORM, self.let("call i64 @llvm.readsteadycounter()"))
            case "dynamic_smem_size":
                return self._i32(self._hidden(120, "i32"))
        if name.startswith("lanemask_"):
            return self._lanemask(name[9:])
        raise self.unsupported(f"special register %{name}")

    def _i32(self, text: str) -> Value:
        return Value("i32", UNIFORM, text)

    def _lanemask(self, which: str) -> Value:
        bit = self.bin("shl", self.integer("i32", 1), self.lane())
        below = self.bin("sub", bit, self.integer("i32", 1))
        ones = self.integer("i32", -1)
        match which:
            case "eq":
                return bit
            case "lt":
                return below
            case "le":
                return self.bin("or", below, bit)
            case "ge":
                return self.bin("xor", below, ones)
            case _:
                return self.bin("xor", self.bin("or", below, bit), ones)

    def symbol(self, name: str, offset: int) -> Value:
        space = self.module.space_of(self.function, name)
        if name in self.kernel_params:
            return self.integer("i64", self.kernel_params[name] + offset)
        if space is None:
            raise self.unsupported(f"the name {name} as a value")
        if space == "local":
            slot = self._local(name)
            v = self._pointer_bits(f"ptr addrspace(5) {slot}", "i32")
        elif space == "shared":
            v = self._pointer_bits(f"ptr addrspace(3) {self.module.shared_symbol(self.function, name)}", "i32")
        else:
            v = self._pointer_bits(f'ptr addrspace(1) @"{name}"', "i64")
        return (
            self.add(self.extend(v, "i64", False), self.integer("i64", offset))
            if offset
            else self.extend(v, "i64", False)
        )

    def _local(self, name: str) -> str:
        v = self.body.variables[name]
        return self.entry_value(f"local {name}", f"alloca [{v.size} x i8], align {max(v.align, 4)}, addrspace(5)")

    def _pointer_bits(self, pointer: str, type_: str) -> Value:
        return Value(type_, UNIFORM, self.let(f"ptrtoint {pointer} to {type_}"))

    # -- memory ---------------------------------------------------------------------------------------------------

    def address(self, a: Addr, space: str) -> Value:
        space = space.partition("::")[0]
        match a.base:
            case None:
                return self.integer("i64", a.offset)
            case Sym(name, extra):
                if space == "param" and name not in self.kernel_params:
                    return Value("param", UNIFORM, name, extra + a.offset)
                return self.symbol(name, extra + a.offset)
            case Reg(name):
                v = self.load_register(name)
        if space in ("shared", "local", "param"):
            v = self.trunc(v, "i32")
            if a.offset:
                v = self.add(v, self.integer("i32", a.offset))
            return self.extend(v, "i64", False)
        v = self.extend(v, "i64", False)
        return self.add(v, self.integer("i64", a.offset)) if a.offset else v

    def pointer(self, space: str, address: Value) -> tuple[str, str]:
        """A pointer and its IR type."""
        space = space.partition("::")[0]
        if address.type == "param":
            base = self.module.param_pointer(self, address.text)
            p = self.let(f"getelementptr i8, ptr addrspace(5) {base}, i32 {address.stride}") if address.stride else base
            return p, "ptr addrspace(5)"
        number = SPACES[space]
        if space == "param":
            p = self.let(f"getelementptr i8, ptr addrspace(4) %args, i64 {address.text}")
            return p, "ptr addrspace(4)"
        type_ = f"ptr addrspace({number})" if number else "ptr"
        bits = address if number in (0, 1) else self.trunc(address, "i32")
        return self.let(f"inttoptr {bits.type} {bits.text} to {type_}"), type_

    def load(self, space: str, address: Value, types: Sequence[str], volatile: bool, ordering: str = "") -> list[Value]:
        p, type_ = self.pointer(space, address)
        out, at = [], 0
        for t in types:
            q = self.let(f"getelementptr i8, {type_} {p}, i64 {at}") if at else p
            size = size_of(t)
            if ordering:
                scope = self._scope()
                raw = Value(
                    f"i{size * 8}",
                    UNIFORM,
                    self.let(f"load atomic i{size * 8}, {type_} {q} {scope}{ordering}, align {size}"),
                )
                out.append(self.bitcast(raw, t))
            else:
                out.append(
                    Value(
                        t,
                        UNIFORM,
                        self.let(f"load {'volatile ' if volatile else ''}{t}, {type_} {q}, align {min(size, 8)}"),
                    )
                )
            at += size
        return out

    def store(self, space: str, address: Value, values: Sequence[Value], volatile: bool, ordering: str = "") -> None:
        p, type_ = self.pointer(space, address)
        at = 0
        for v in values:
            q = self.let(f"getelementptr i8, {type_} {p}, i64 {at}") if at else p
            size = size_of(v.type)
            if ordering:
                raw = self.as_int(v)
                self.emit(f"store atomic {raw.type} {raw.text}, {type_} {q} {self._scope()}{ordering}, align {size}")
            else:
                self.emit(
                    f"store {'volatile ' if volatile else ''}{v.type} {v.text}, {type_} {q}, align {min(size, 8)}"
                )
            at += size

    def _scope(self) -> str:
        scope = SCOPES.get(self.instruction.attrs.get("scope", "sys") if self.instruction else "sys", "")
        return f'syncscope("{scope}") ' if scope else ""

    def to_generic(self, space: str, address: Value) -> Value:
        space = space.partition("::")[0]
        if space in ("global", "const", ""):
            return address
        if space == "param":
            p = self.let(f"getelementptr i8, ptr addrspace(4) %args, i64 {address.text}")
            flat = self.let(f"addrspacecast ptr addrspace(4) {p} to ptr")
        else:
            p, type_ = self.pointer(space, address)
            flat = self.let(f"addrspacecast {type_} {p} to ptr")
        return self._pointer_bits(f"ptr {flat}", "i64")

    def from_generic(self, space: str, address: Value) -> Value:
        space = space.partition("::")[0]
        if space in ("global", "const", ""):
            return address
        if space == "param":
            raise self.unsupported("generic addresses of parameters")
        flat = self.let(f"inttoptr i64 {address.text} to ptr")
        p = self.let(f"addrspacecast ptr {flat} to ptr addrspace({SPACES[space]})")
        return self.extend(self._pointer_bits(f"ptr addrspace({SPACES[space]}) {p}", "i32"), "i64", False)

    def is_space(self, space: str, address: Value) -> Value:
        space = space.partition("::")[0]
        flat = self.let(f"inttoptr i64 {address.text} to ptr")
        if space == "global":
            either = self.bin("or", self.is_space("shared", address), self.is_space("local", address))
            return self.bin("xor", either, self.integer("i1", 1))
        name = {"shared": "llvm.amdgcn.is.shared", "local": "llvm.amdgcn.is.private"}.get(space)
        if name is None:
            return self.integer("i1", 0)
        self.declare(name, "i1 (ptr)")
        return Value("i1", UNIFORM, self.let(f"call i1 @{name}(ptr {flat})"))

    def atomic(
        self, op: str, space: str, address: Value, operands: Sequence[Value], scope: str, sem: str, want: bool
    ) -> Value | None:
        p, type_ = self.pointer(space, address)
        t = operands[0].type
        size = size_of(t)
        name = SCOPES[scope]
        sync = f'syncscope("{name}") ' if name else ""
        if op == "cas":
            failure = {"acq_rel": "acquire", "release": "monotonic"}.get(sem, sem)
            pair = self.let(
                f"cmpxchg {type_} {p}, {t} {operands[0].text}, {t} {operands[1].text} {sync}{sem} {failure}, align {size}"
            )
            return Value(t, UNIFORM, self.let(f"extractvalue {{ {t}, i1 }} {pair}, 0"))
        return Value(
            t, UNIFORM, self.let(f"atomicrmw {op} {type_} {p}, {t} {operands[0].text} {sync}{sem}, align {size}")
        )

    def fence(self, sem: str, scope: str) -> None:
        name = SCOPES[scope]
        order = "seq_cst" if sem == "sc" else sem
        self.emit(f'fence syncscope("{name}") {order}' if name else f"fence {order}")

    # -- lanes ----------------------------------------------------------------------------------------------------

    def per_lane(
        self, inputs: Sequence[Value], outputs: Sequence[str], body: Callable[[list[Value]], list[Value]]
    ) -> list[Value]:
        return body(list(inputs))

    def _wave_lane(self) -> str:
        self.declare("llvm.amdgcn.mbcnt.lo", "i32 (i32, i32)")
        low = self.entry_value("mbcnt.lo", "call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)")
        if self.module.wave == 32:
            return low
        self.declare("llvm.amdgcn.mbcnt.hi", "i32 (i32, i32)")
        return self.entry_value("mbcnt.hi", f"call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 {low})")

    def lane(self) -> Value:
        if self.module.wave == 32:
            return self._i32(self._wave_lane())
        return self._i32(self.entry_value("lane", f"and i32 {self._wave_lane()}, 31"))

    def _half(self) -> str:
        """32 in the upper half of a 64-lane wave, else 0."""
        return self.entry_value("half", f"and i32 {self._wave_lane()}, 32")

    def ballot(self, predicate: Value) -> Value:
        self.declare("llvm.amdgcn.ballot.i64", "i64 (i1)")
        v = Value("i64", UNIFORM, self.let(f"call i64 @llvm.amdgcn.ballot.i64(i1 {predicate.text})"))
        if self.module.wave == 64:
            shift = self.entry_value("half64", f"zext i32 {self._half()} to i64")
            v = self.bin("lshr", v, Value("i64", UNIFORM, shift))
        return self.trunc(v, "i32")

    def active(self) -> Value:
        return self.ballot(self.integer("i1", 1))

    def permute(self, v: Value, source: Value) -> Value:
        self.declare("llvm.amdgcn.ds.bpermute", "i32 (i32, i32)")
        if self.module.wave == 64:
            source = self.bin("or", source, self._i32(self._half()))
        byte = self.bin("shl", source, self.integer("i32", 2))
        raw = self.as_int(v)
        return self.bitcast(
            Value("i32", UNIFORM, self.let(f"call i32 @llvm.amdgcn.ds.bpermute(i32 {byte.text}, i32 {raw.text})")),
            v.type,
        )

    def _each_lane(self, v: Value, k: int) -> Value:
        """The value (32 or 64 bits) of lane `k`."""
        at = self.integer("i32", k)
        if BITS[v.type] == 32:
            return self.permute(v, at)
        low = self.permute(self.trunc(v, "i32"), at)
        high = self.permute(self.trunc(self.bin("lshr", v, self.integer("i64", 32)), "i32"), at)
        return self.bin(
            "or",
            self.bin("shl", self.cast("zext", high, "i64"), self.integer("i64", 32)),
            self.cast("zext", low, "i64"),
        )

    def equal_lanes(self, v: Value) -> Value:
        result = self.integer("i32", 0)
        for k in range(32):
            same = self.cast("zext", self.cmp("eq", self._each_lane(v, k), v), "i32")
            result = self.bin("or", result, self.bin("shl", same, self.integer("i32", k)))
        return self.bin("and", result, self.active())

    def reduce_lanes(self, op: str, v: Value, members: Value) -> Value:
        neutral = self.integer("i32", {"smin": 0x7FFFFFFF, "smax": -0x80000000, "umin": -1, "and": -1}.get(op, 0))
        present = self.bin("and", members, self.active())
        total = neutral
        for k in range(32):
            inside = self.cmp("ne", self.bin("and", present, self.integer("i32", 1 << k)), self.integer("i32", 0))
            x = self.select(inside, self._each_lane(v, k), neutral)
            total = (
                self.bin(op, total, x) if op in ("add", "and", "or", "xor") else self.intrinsic(op, "i32", (total, x))
            )
        return total

    def barrier(self, id_: Value, threads: Value | None, op: str, predicate: Value | None) -> Value | None:
        if threads is not None or op != "sync" or id_.text != "0":
            raise self.unsupported("barriers other than bar.sync 0")
        self.declare("llvm.amdgcn.s.barrier", "void ()")
        self.emit('fence syncscope("workgroup") release')
        self.emit("call void @llvm.amdgcn.s.barrier()")
        self.emit('fence syncscope("workgroup") acquire')
        return None

    def converge(self, members: Value) -> None:
        self.declare("llvm.amdgcn.wave.barrier", "void ()")
        self.emit("call void @llvm.amdgcn.wave.barrier()")

    # -- the rest -------------------------------------------------------------------------------------------------

    def rounded(self, op: str, rnd: str, args: Sequence[Value]) -> Value:
        t = args[0].type
        if rnd == "rn":
            return self.intrinsic(op, t, args) if op in ("sqrt", "fma") else self.bin(op, args[0], args[1])
        suffix = {"float": "f32", "double": "f64"}[t]
        mnemonic = {"fadd": "add", "fsub": "add", "fmul": "mul", "fma": "fma"}.get(op)
        if mnemonic is None:
            raise self.unsupported(f"rounding .{rnd}")
        if op == "fsub":
            args = (args[0], self.un("fneg", args[1]))
        # One block sets the mode, computes and sets it back: the compiler can neither move nor merge its parts.
        field, mode = ("0, 2", _MODE[rnd]) if t == "float" else ("2, 2", _MODE[rnd])
        operands = ", ".join(f"${k + 1}" for k in range(len(args)))
        encoding = "_e64" if mnemonic != "fma" else ""
        text = (
            f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, {field}), {mode}\\0A"
            f"v_{mnemonic}_{suffix}{encoding} $0, {operands}\\0A"
            f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, {field}), 0"
        )
        constraints = ",".join(["=&v", *["v"] * len(args)])
        passed = ", ".join(f"{t} {a.text}" for a in args)
        return Value(t, UNIFORM, self.let(f'call {t} asm sideeffect "{text}", "{constraints}"({passed})'))

    def rounded_cast(self, op: str, rnd: str, v: Value, to: str) -> Value:
        if rnd == "rn":
            return self.cast(op, v, to)
        raise self.unsupported(f"conversion with rounding .{rnd}")

    def call(self, i: Instruction) -> None:
        self.module.call(self, i)

    def trap(self, reason: str) -> None:
        self.declare("llvm.trap", "void ()")
        self.emit("call void @llvm.trap()")

    def clock_sleep(self, nanoseconds: Value) -> None:
        self.declare("llvm.amdgcn.s.sleep", "void (i32)")
        self.emit("call void @llvm.amdgcn.s.sleep(i32 1)")

    def stack_allocate(self, size: Value, align: int) -> Value:
        raise self.unsupported("stack allocation of a size known at run time")


def _offsets(function: Function) -> dict[str, int]:
    offsets, at = {}, 0
    for v in function.params:
        align = max(1, v.align)
        at = -(-at // align) * align
        offsets[v.name] = at
        at += v.size
    return offsets


def is_float(type_: str) -> bool:
    """Whether an IR type is floating point."""
    return type_ in FLOATS
