"""CPU target: `.func` parameters and calls, direct, indirect and to the runtime's own functions."""

from __future__ import annotations

from collections.abc import Sequence

from fatload.codegen.builder import BITS, UNIFORM, VARYING, Value
from fatload.codegen.cpu.abi import TRAP_REASONS
from fatload.codegen.cpu.base import LANES, param_block, param_bytes
from fatload.codegen.cpu.lanes import CpuLanes
from fatload.codegen.cpu.memory import byte_size
from fatload.codegen.cpu.unit import BUILTINS
from fatload.ptx.model import Addr, CallArgs, Function, Instruction, Operand, Prototype, Reg, Sym, Variable

PARAM = "param"  # the "type" of an address that names a call parameter: text = name, stride = byte offset


def function_symbol(name: str) -> str:
    """The IR name of a device function."""
    return f'@"f.{name}"'


class CpuCalls(CpuLanes):
    """Calls and their parameters."""

    def address(self, a: Addr, space: str) -> Value:
        in_param = space.partition("::")[0] == "param"
        if in_param and isinstance(a.base, Sym) and self.param_variable(a.base.name) is not None:
            return Value(PARAM, UNIFORM, a.base.name, a.base.offset + a.offset)
        return super().address(a, space)

    def param_variable(self, name: str) -> Variable | None:
        """A `.param` variable of this function's body, or one of a device function's own parameters."""
        v = self.body.variables.get(name)
        if v is not None and v.space == "param":
            return v
        item = self.args.offsets.get(name)
        return item[1] if item is not None else None

    def param_item(self, space: str, address: Value) -> tuple[str, int] | None:
        return (address.text, address.stride) if address.type == PARAM else None

    def param_pointer(self, name: str) -> str:
        """Where a call parameter lies."""
        if name in self.args.offsets:
            return self.let(f"getelementptr i8, ptr %args, i64 {self.args.offsets[name][0]}")
        key = f"param {name}"
        if key not in self.once:
            self.once[key] = self.let_entry(f"alloca [{param_bytes(self.body.variables[name])} x i8], align 64")
        return self.once[key]

    def load_param(self, item: tuple[str, int], types: Sequence[str]) -> list[Value]:
        name, offset = item
        v = self.param_variable(name)
        assert v is not None
        p = self.param_pointer(name)
        out = []
        for t in types:
            if not v.dims:
                self._whole(v, offset, t)
                out.append(Value(t, VARYING, self.let(f"load {self.vector(t)}, ptr {p}, align 32")))
            else:
                out.append(self._load_words(p, offset, t))
            offset += byte_size(t)
        return out

    def _whole(self, v: Variable, offset: int, t: str) -> None:
        if offset or byte_size(t) != v.size:
            raise self.unsupported(f"part of the parameter {v.name}")

    def _word(self, p: str, index: int) -> str:
        return self.let(f"getelementptr i8, ptr {p}, i64 {index * 4 * LANES}")

    def _load_words(self, p: str, offset: int, t: str) -> Value:
        size = byte_size(t)
        if size <= 4:
            word = Value("i32", VARYING, self.let(f"load <32 x i32>, ptr {self._word(p, offset // 4)}, align 32"))
            if size < 4:
                word = self.bin("lshr", word, self.integer("i32", offset % 4 * 8))
            return self.bitcast(self.trunc(word, f"i{size * 8}"), t)
        raw = f"i{size * 8}"
        total: Value | None = None
        for k in range(size // 4):
            word = Value("i32", VARYING, self.let(f"load <32 x i32>, ptr {self._word(p, offset // 4 + k)}, align 32"))
            part = self.bin("shl", self.cast("zext", word, raw), self.integer(raw, 32 * k))
            total = part if total is None else self.bin("or", total, part)
        assert total is not None
        return self.bitcast(total, t)

    def store_param(self, item: tuple[str, int], values: Sequence[Value]) -> None:
        name, offset = item
        v = self.param_variable(name)
        assert v is not None
        p = self.param_pointer(name)
        masked = name in self.args.offsets  # a result: lanes may return from different places
        for x in values:
            if not v.dims:
                self._whole(v, offset, x.type)
                self._put(p, x, masked)
            else:
                self._store_words(p, offset, self.as_int(x), masked)
            offset += byte_size(x.type)

    def _put(self, p: str, x: Value, masked: bool) -> None:
        t = self.vector(x.type)
        text = self.vec(x)
        if masked:
            old = self.let(f"load {t}, ptr {p}, align 32")
            text = self.let(f"select <32 x i1> {self.mask_vector()}, {t} {text}, {t} {old}")
        self.emit(f"store {t} {text}, ptr {p}, align 32")

    def _store_words(self, p: str, offset: int, x: Value, masked: bool) -> None:
        bits = BITS[x.type]
        if bits >= 32:
            for k in range(bits // 32):
                part = self.bin("lshr", x, self.integer(x.type, 32 * k)) if k else x
                self._put(self._word(p, offset // 4 + k), self.trunc(part, "i32"), masked)
            return
        q = self._word(p, offset // 4)
        shift = offset % 4 * 8
        old = Value("i32", VARYING, self.let(f"load <32 x i32>, ptr {q}, align 32"))
        kept = self.bin("and", old, self.integer("i32", ~(((1 << bits) - 1) << shift)))
        new = self.bin("shl", self.cast("zext", x, "i32"), self.integer("i32", shift))
        self._put(q, self.bin("or", kept, new), masked)

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self, i: Instruction) -> None:
        returns, callee, arguments, prototype = call_parts(i)
        if isinstance(callee, Sym):
            if callee.name in BUILTINS:
                self._builtin(callee.name, returns, arguments)
                return
            f = self.unit.module.functions.get(self.unit.module.aliases.get(callee.name, callee.name))
            if f is None or f.body is None:
                raise self.unsupported(f"the function {callee.name}, which has no body,")
            block = self._pass(f, arguments)
            self.emit(f"call void {function_symbol(f.name)}(ptr %w, i32 {self.mask}, ptr {block})")
            self._results(f, block, returns)
            return
        if not isinstance(callee, Reg):
            raise self.unsupported("this callee")
        signature = self._prototype(prototype)
        block = self._pass(signature, arguments)
        self._indirect(self.load_register(callee.name), block)
        self._results(signature, block, returns)

    def _prototype(self, o: Operand | None) -> Function | Prototype:
        if isinstance(o, Sym):
            if o.name in self.body.prototypes:
                return self.body.prototypes[o.name]
            if o.name in self.body.targets:
                return self.unit.module.functions[self.body.targets[o.name][0]]
        raise self.unsupported("an indirect call without prototype")

    def _pass(self, signature: Function | Prototype, arguments: Sequence[Operand]) -> str:
        layout = param_block(signature)
        key = f"call {layout.size}"
        if key not in self.once:
            self.once[key] = self.let_entry(f"alloca [{max(layout.size, 64)} x i8], align 64")
        block = self.once[key]
        for (offset, v), o in zip(list(layout.offsets.values())[: len(signature.params)], arguments, strict=True):
            to = self.let(f"getelementptr i8, ptr {block}, i64 {offset}")
            if isinstance(o, Sym) and self.param_variable(o.name) is not None:
                self._copy(to, self.param_pointer(o.name), param_bytes(v))
            else:
                self._put(to, self.operand(o, f"i{v.size * 8}"), False)
        return block

    def _copy(self, to: str, from_: str, size: int) -> None:
        self.declare("llvm.memcpy.p0.p0.i64", "void (ptr, ptr, i64, i1)")
        self.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {to}, ptr align 64 {from_}, i64 {size}, i1 false)")

    def _results(self, signature: Function | Prototype, block: str, returns: Sequence[Operand]) -> None:
        layout = param_block(signature)
        for (offset, v), o in zip(list(layout.offsets.values())[len(signature.params) :], returns, strict=True):
            from_ = self.let(f"getelementptr i8, ptr {block}, i64 {offset}")
            if isinstance(o, Sym):
                self._copy(self.param_pointer(o.name), from_, param_bytes(v))
            else:
                t = f"i{v.size * 8}"
                self.assign(o, Value(t, VARYING, self.let(f"load {self.vector(t)}, ptr {from_}, align 32")))

    def _indirect(self, callee: Value, block: str) -> None:
        """Calls each distinct target once, with the lanes that want it."""
        number = self.trunc(callee, "i32") if callee.type == "i64" else callee
        table = len(self.unit.layout.functions) + 1
        rest = self._mask_slot()
        self.emit(f"store i32 {self.mask}, ptr {rest}")
        head, body, good, bad, done = (self.label(x) for x in ("targets", "target", "known", "unknown", "called"))
        vector = self.vec(number)
        self.emit(f"br label %{head}")
        self.place(head)
        m = self.let(f"load i32, ptr {rest}")
        self.emit(f"br i1 {self.let(f'icmp eq i32 {m}, 0')}, label %{done}, label %{body}")
        self.place(body)
        self.declare("llvm.cttz.i32", "i32 (i32, i1)")
        lane = self.let(f"call i32 @llvm.cttz.i32(i32 {m}, i1 true)")
        one = self.let(f"extractelement <32 x i32> {vector}, i32 {lane}")
        single = self.let(f"insertelement <32 x i32> poison, i32 {one}, i32 0")
        all_ = self.let(f"shufflevector <32 x i32> {single}, <32 x i32> poison, <32 x i32> zeroinitializer")
        same = self.let(f"icmp eq <32 x i32> {vector}, {all_}")
        want = self.let(f"and i32 {self.let(f'bitcast <32 x i1> {same} to i32')}, {m}")
        self.emit(f"store i32 {self.let(f'xor i32 {m}, {want}')}, ptr {rest}")
        inside = self.let(f"icmp ult i32 {one}, {table}")
        index = self.let(f"select i1 {inside}, i32 {one}, i32 0")
        entry = self.let(f"getelementptr ptr, ptr @functions, i32 {index}")
        target = self.let(f"load ptr, ptr {entry}")
        self.emit(f"br i1 {self.let(f'icmp eq ptr {target}, null')}, label %{bad}, label %{good}")
        self.place(bad)
        line = self.instruction.line if self.instruction is not None else 0
        self.call_runtime("trap", f"i32 {want}, i32 {TRAP_REASONS['function']}, i32 {line}")
        self.emit("unreachable")
        self.place(good)
        # The mask slot is this call's own: the callee has its own allocas.
        self.emit(f"call void {target}(ptr %w, i32 {want}, ptr {block})")
        self.emit(f"br label %{head}")
        self.place(done)

    def _builtin(self, name: str, returns: Sequence[Operand], arguments: Sequence[Operand]) -> None:
        passed = []
        for k, o in enumerate(arguments):
            if isinstance(o, Sym) and self.param_variable(o.name) is not None:
                passed.append(f"ptr {self.param_pointer(o.name)}")
            else:
                slot = self.scratch(k)
                self._put(slot, self.operand(o, "i32" if name == "__assertfail" and k == 2 else "i64"), False)
                passed.append(f"ptr {slot}")
        runtime = "assertfail" if name == "__assertfail" else name
        if name in ("vprintf", "malloc"):
            if returns and isinstance(returns[0], Sym):
                passed.append(f"ptr {self.param_pointer(returns[0].name)}")
            else:
                passed.append(f"ptr {self.scratch(6)}")
        self.call_runtime(runtime, ", ".join([f"i32 {self.mask}", *passed]))
        if returns and not isinstance(returns[0], Sym):
            t = "i32" if name == "vprintf" else "i64"
            self.assign(
                returns[0], Value(t, VARYING, self.let(f"load {self.vector(t)}, ptr {self.scratch(6)}, align 32"))
            )


def call_parts(i: Instruction) -> tuple[tuple[Operand, ...], Operand, tuple[Operand, ...], Operand | None]:
    """A call's results, callee, arguments and (indirect) prototype or list of targets."""
    rest = list(i.operands)
    returns: tuple[Operand, ...] = ()
    if rest and isinstance(rest[0], CallArgs):
        returns = rest.pop(0).items  # type: ignore[union-attr]
    callee = rest.pop(0)
    arguments: tuple[Operand, ...] = ()
    if rest and isinstance(rest[0], CallArgs):
        arguments = rest.pop(0).items  # type: ignore[union-attr]
    return returns, callee, arguments, rest[0] if rest else None
