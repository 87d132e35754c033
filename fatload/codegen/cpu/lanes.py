"""CPU target: operations across lanes, barriers, rounding modes, traps."""

from __future__ import annotations

from collections.abc import Sequence

from fatload.codegen.builder import UNIFORM, VARYING, Value, _mangled
from fatload.codegen.cpu.abi import BARRIER_OPERATIONS, TRAP_REASONS
from fatload.codegen.cpu.base import LANES
from fatload.codegen.cpu.memory import CpuMemory

# Modes of llvm.set.rounding.
_ROUNDING = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
_ROUND_NAME = {"rz": "towardzero", "rn": "tonearest", "rp": "upward", "rm": "downward"}


class CpuLanes(CpuMemory):
    """Warp-wide operations and what needs the processor's modes."""

    def ballot(self, predicate: Value) -> Value:
        return Value("i32", UNIFORM, self.let(f"and i32 {self.bits(predicate)}, {self.mask}"))

    def permute(self, v: Value, source: Value) -> Value:
        if v.kind == UNIFORM:
            return v
        text = self._present(v)
        if source.kind == UNIFORM:
            return Value(v.type, UNIFORM, self.let(f"extractelement {self.vector(v.type)} {text}, i32 {source.text}"))
        table = self.scratch(7)
        self.emit(f"store {self.vector(v.type)} {text}, ptr {table}, align 32")

        def one(_: str, s: list[Value]) -> list[Value]:
            p = self.let(f"getelementptr {v.type}, ptr {table}, i32 {s[0].text}")
            return [Value(v.type, UNIFORM, self.let(f"load {v.type}, ptr {p}"))]

        return self.lane_loop(self.mask, [source], [v.type], one)[0]

    def permute_constant(self, v: Value, sources: Sequence[int], source: Value) -> Value:
        if v.kind == UNIFORM:
            return v
        t = self.vector(v.type)
        order = ", ".join(f"i32 {s}" for s in sources)
        shuffled = self.let(f"shufflevector {t} {self._present(v)}, {t} poison, <{LANES} x i32> <{order}>")
        return Value(v.type, VARYING, shuffled)

    def _present(self, v: Value) -> str:
        """`v` with 0 in the lanes that are not active: what hardware hands out for them."""
        t = self.vector(v.type)
        return self.let(f"select <32 x i1> {self.mask_vector()}, {t} {self.vec(v)}, {t} zeroinitializer")

    def equal_lanes(self, v: Value) -> Value:
        if v.kind == UNIFORM:
            return self.active()
        t = self.vector(v.type)
        text = self.let(f"freeze {t} {self.vec(v)}")

        def one(_: str, s: list[Value]) -> list[Value]:
            single = self.let(f"insertelement {t} poison, {v.type} {s[0].text}, i32 0")
            all_ = self.let(f"shufflevector {t} {single}, {t} poison, <32 x i32> zeroinitializer")
            same = self.let(f"icmp eq {t} {text}, {all_}")
            bits = self.let(f"bitcast <32 x i1> {same} to i32")
            return [Value("i32", UNIFORM, self.let(f"and i32 {bits}, {self.mask}"))]

        return self.lane_loop(self.mask, [Value(v.type, VARYING, text)], ["i32"], one)[0]

    def reduce_lanes(self, op: str, v: Value, members: Value) -> Value:
        if members.kind == UNIFORM:
            return self._reduce(op, self.let(f"and i32 {members.text}, {self.mask}"), v)
        text = self.vec(v)

        def one(_: str, s: list[Value]) -> list[Value]:
            return [self._reduce(op, self.let(f"and i32 {s[0].text}, {self.mask}"), Value(v.type, VARYING, text))]

        return self.lane_loop(self.mask, [members], [v.type], one)[0]

    def _reduce(self, op: str, mask: str, v: Value) -> Value:
        neutral = {"smin": 0x7FFFFFFF, "smax": -0x80000000, "umin": -1, "and": -1}.get(op, 0)
        lanes = self.let(f"bitcast i32 {mask} to <32 x i1>")
        chosen = self.select(Value("i1", VARYING, lanes), v, self.integer("i32", neutral))
        name = f"llvm.vector.reduce.{op}.v32i32"
        self.declare(name, "i32 (<32 x i32>)")
        return Value("i32", UNIFORM, self.let(f"call i32 @{name}(<32 x i32> {self.vec(chosen)})"))

    def barrier(self, id_: Value, threads: Value | None, op: str, predicate: Value | None) -> Value | None:
        self.unit.flags.add("barrier")
        count = self.to_uniform(threads).text if threads is not None else "0"
        inputs = self.ballot(predicate).text if predicate is not None else "0"
        number = BARRIER_OPERATIONS[op]
        result = self.call_runtime(
            "barrier", f"i32 {self.to_uniform(id_).text}, i32 {count}, i32 {self.mask}, i32 {number}, i32 {inputs}"
        )
        if op in ("sync", "arrive"):
            return None
        answer = Value("i32", UNIFORM, result)
        return answer if op == "popc" else self.cmp("ne", answer, self.integer("i32", 0))

    def converge(self, members: Value) -> None:
        """Nothing to emit: a block that begins with a waiting operation has waited in its prologue (cpu/function.py)."""

    def trap(self, reason: str) -> None:
        line = self.instruction.line if self.instruction is not None else 0
        self.call_runtime("trap", f"i32 {self.mask}, i32 {TRAP_REASONS[reason]}, i32 {line}")

    def clock_sleep(self, nanoseconds: Value) -> None:
        self.unit.flags.add("yield")
        self.call_runtime("nanosleep", f"i32 {self.to_uniform(nanoseconds).text}")

    def stack_allocate(self, size: Value, align: int) -> Value:
        raise self.unsupported("stack allocation of a size known at run time")

    # -- rounding -------------------------------------------------------------------------------------------------

    def rounded(self, op: str, rnd: str, args: Sequence[Value]) -> Value:
        t = args[0].type
        if rnd == "rn":
            if op in ("sqrt", "fma"):
                return self.intrinsic(op, t, args)
            return self.bin(op, args[0], args[1])
        return self._constrained(op, rnd, args, t, t)

    def rounded_cast(self, op: str, rnd: str, v: Value, to: str) -> Value:
        if rnd == "rn":
            return self.cast(op, v, to)
        return self._constrained(op, rnd, (v,), v.type, to)

    def _constrained(self, op: str, rnd: str, args: Sequence[Value], from_: str, to: str) -> Value:
        """A call of an internal function that sets MXCSR's mode around the operation: nothing can move across the call's ends, and
        operations of other modes are not merged with it."""
        uniform = all(a.kind == UNIFORM for a in args)
        lanes = 1 if uniform else LANES
        wide_from, wide_to = (from_, to) if uniform else (self.vector(from_), self.vector(to))
        kinds = [to] if from_ == to else [to, from_]
        mangled = ".".join(_mangled(k, lanes) for k in kinds)
        name = f"fatload_{op}_{rnd}_{mangled.replace('.', '_')}"
        if name not in self.helpers:
            intrinsic = f"llvm.experimental.constrained.{op}.{mangled}"
            params = ", ".join(f"{wide_from} %a{k}" for k in range(len(args)))
            types = ", ".join([wide_from] * len(args))
            self.declare(intrinsic, f"{wide_to} ({types}, metadata, metadata)")
            self.declare("llvm.set.rounding", "void (i32)")
            self.helpers[name] = (
                f"define internal {wide_to} @{name}({params}) noinline strictfp {{\n"
                f"  call void @llvm.set.rounding(i32 {_ROUNDING[rnd]}) strictfp\n"
                f'  %r = call {wide_to} @{intrinsic}({params}, metadata !"round.{_ROUND_NAME[rnd]}", metadata !"fpexcept.strict") strictfp\n'
                f"  call void @llvm.set.rounding(i32 1) strictfp\n"
                f"  ret {wide_to} %r\n}}"
            )
        passed = ", ".join(f"{wide_from} {a.text if uniform else self.vec(a)}" for a in args)
        return Value(to, UNIFORM if uniform else VARYING, self.let(f"call {wide_to} @{name}({passed})"))
