"""CPU target, the ground: registers as SSA variables, the mask of active lanes, special registers, symbols."""

from __future__ import annotations

from dataclasses import dataclass, field

from fatload.codegen.analysis.cfg import Block, Graph
from fatload.codegen.analysis.shapes import Shapes
from fatload.codegen.analysis.ssa import Ssa
from fatload.codegen.builder import AFFINE, BITS, UNIFORM, VARYING, Value
from fatload.codegen.cpu.abi import RUNTIME, WARP
from fatload.codegen.cpu.unit import BUILTINS, Unit
from fatload.codegen.lowering import STORAGE, Lowering
from fatload.ptx.model import Function, Prototype, Variable

LANES = 32


@dataclass(slots=True)
class Slot:
    """Where a value that crosses blocks is kept: names of allocas (vector or scalar; guard; exact vector)."""

    kind: int
    text: str
    stride: int = 0
    ok: str | None = None
    vec: str | None = None
    aligned: bool = False


@dataclass(slots=True)
class ParamBlock:
    """Layout of a `.func`'s argument block: name → (offset in bytes, variable); inputs first, then results."""

    offsets: dict[str, tuple[int, Variable]] = field(default_factory=dict)
    size: int = 0


def param_block(signature: Function | Prototype) -> ParamBlock:
    """Argument block of a function: scalars 32 * size bytes, arrays as 4-byte words of 32 lanes, items at multiples of 64."""
    block = ParamBlock()
    for k, v in enumerate([*signature.params, *signature.returns]):
        name = v.name if v.name not in ("", "_") else f"#{k}"
        block.offsets[name] = (block.size, v)
        block.size += param_bytes(v)
    return block


def param_bytes(v: Variable) -> int:
    """Bytes of one item of an argument block."""
    per_lane = -(-v.size // 4) * 4 if v.dims else v.size
    return -(-LANES * per_lane // 64) * 64


class CpuBase(Lowering):
    """One PTX function on its way to an LLVM function ``void (ptr %w, i32 %mask, ptr %args)`` (kernels: ``void (ptr %w)``)."""

    def __init__(self, unit: Unit, function: Function, graph: Graph, ssa: Ssa, shapes: Shapes, irregular: bool) -> None:
        super().__init__(LANES, unit.kernel.name)
        self.unit, self.function, self.graph, self.ssa, self.shapes = unit, function, graph, ssa, shapes
        self.irregular = irregular
        self.helpers = unit.helpers
        self.declarations = unit.declarations
        assert function.body is not None
        self.body = function.body
        self.slots: dict[str, Slot] = {}
        self.values: dict[str, Value] = {}  # of the current block
        self.fields: dict[str, Value] = {}  # of Warp, loaded in the entry block
        self.once: dict[str, str] = {}  # allocas and entry-block values by key
        self.block: Block = graph.blocks[graph.order[0]]
        self.mask = ""
        self._mask_vector: str | None = None
        self.args = ParamBlock() if function.entry else param_block(function)
        self.param_offsets = _kernel_params(function) if function.entry else {}
        self.mask_slots: dict[int, str] = {}

    # -- masks ----------------------------------------------------------------------------------------------------

    def set_mask(self, text: str) -> None:
        """Makes `text` (i32) the mask of active lanes."""
        self.mask, self._mask_vector = text, None

    def mask_vector(self) -> str:
        """The mask as <32 x i1>."""
        if self._mask_vector is None:
            self._mask_vector = self.let(f"bitcast i32 {self.mask} to <32 x i1>")
        return self._mask_vector

    def bits(self, predicate: Value) -> str:
        """A predicate as an i32 of all lanes, active or not."""
        if predicate.kind == UNIFORM:
            return self.let(f"select i1 {predicate.text}, i32 -1, i32 0")
        frozen = self.let(f"freeze <32 x i1> {predicate.text}")  # idle lanes must not spoil the others
        return self.let(f"bitcast <32 x i1> {frozen} to i32")

    def active(self) -> Value:
        return Value("i32", UNIFORM, self.mask)

    def first_lane(self) -> str:
        """The lowest active lane, i32."""
        self.declare("llvm.cttz.i32", "i32 (i32, i1)")
        return self.let(f"call i32 @llvm.cttz.i32(i32 {self.mask}, i1 true)")

    # -- registers ------------------------------------------------------------------------------------------------

    def register_type(self, name: str) -> str:
        register = self.ssa.register.get(name, name).partition("#")[0]
        return STORAGE[self.body.registers[register][0]]

    def load_register(self, name: str) -> Value:
        known = self.values.get(name)
        if known is not None:
            return known
        if name in self.ssa.undefined:
            type_ = self.register_type(name)
            return Value(type_, UNIFORM, "false" if type_ == "i1" else _zero(type_))
        slot = self.slots[name]
        type_ = self.register_type(name)
        if slot.kind == VARYING:
            v = Value(type_, VARYING, self.let(f"load {self.vector(type_)}, ptr {slot.text}"))
        else:
            v = Value(type_, slot.kind, self.let(f"load {type_}, ptr {slot.text}"), slot.stride, aligned=slot.aligned)
            if slot.ok is not None:
                v.ok = self.let(f"load i1, ptr {slot.ok}")
                v.vec = self.let(f"load {self.vector(type_)}, ptr {slot.vec}")
        self.values[name] = v
        return v

    def store_register(self, name: str, v: Value) -> None:
        shape = self.shapes.values.get(name)
        if shape is not None and shape.kind == UNIFORM and v.kind != UNIFORM:
            v = self.to_uniform(v)
        self.values[name] = v
        if name in self.ssa.crossing:
            if self.irregular and (shape is None or shape.kind == VARYING):
                v = self.varying(v)
            self.save(name, v, self.irregular and v.kind == VARYING)

    def to_uniform(self, v: Value) -> Value:
        """A value that the analysis knows to be the same in all active lanes, as a scalar."""
        if v.kind == UNIFORM:
            return v
        lane = self.first_lane()
        return Value(v.type, UNIFORM, self.let(f"extractelement {self.vector(v.type)} {self.vec(v)}, i32 {lane}"))

    def to_affine(self, v: Value, stride: int) -> Value:
        """A value that the analysis knows to be base + lane * stride in all active lanes, in that form."""
        if v.kind == AFFINE:
            return v
        lane = self.first_lane()
        x = self.let(f"extractelement {self.vector(v.type)} {self.vec(v)}, i32 {lane}")
        if v.type != "i32":
            lane = self.let(f"zext i32 {lane} to {v.type}")
        back = self.let(f"mul {v.type} {lane}, {stride}")
        return Value(v.type, AFFINE, self.let(f"sub {v.type} {x}, {back}"), stride)

    def save(self, name: str, v: Value, masked: bool) -> None:
        """Stores a value for other blocks; `masked`: only in the active lanes."""
        slot = self.slots.get(name)
        if slot is None:
            slot = self.slots[name] = self.new_slot(v)
        t = self.vector(v.type)
        if slot.kind == VARYING:
            text = self.vec(v)
            if masked:
                old = self.let(f"load {t}, ptr {slot.text}")
                text = self.let(f"select <32 x i1> {self.mask_vector()}, {t} {text}, {t} {old}")
            self.emit(f"store {t} {text}, ptr {slot.text}")
            return
        self.emit(f"store {v.type} {v.text}, ptr {slot.text}")
        if slot.ok is not None:
            self.emit(f"store i1 {v.ok or 'true'}, ptr {slot.ok}")
            self.emit(f"store {t} {self.vec(v)}, ptr {slot.vec}")

    def new_slot(self, v: Value) -> Slot:
        """Allocas for a value of this form."""
        if v.kind == VARYING:
            return Slot(VARYING, self.let_entry(f"alloca {self.vector(v.type)}"))
        slot = Slot(v.kind, self.let_entry(f"alloca {v.type}"), v.stride, aligned=v.aligned)
        if v.kind == AFFINE and v.ok is not None:
            slot.ok = self.let_entry("alloca i1")
            slot.vec = self.let_entry(f"alloca {self.vector(v.type)}")
        return slot

    # -- Warp and special registers -------------------------------------------------------------------------------

    def field(self, name: str) -> Value:
        """A field of Warp, read once in the entry block."""
        known = self.fields.get(name)
        if known is None:
            offset, type_ = WARP[name]
            p = self.let_entry(f"getelementptr i8, ptr %w, i64 {offset}")
            known = self.fields[name] = Value(
                type_, UNIFORM, self.let_entry(f"load {type_}, ptr {p}, align {8 if type_ in ('ptr', 'i64') else 4}")
            )
        return known

    def runtime(self, name: str) -> tuple[str, str]:
        """A runtime function: its address and IR type."""
        offset, signature = RUNTIME[name]
        key = f"runtime {name}"
        if key not in self.once:
            p = self.let_entry(f"getelementptr i8, ptr {self.field('runtime').text}, i64 {offset}")
            self.once[key] = self.let_entry(f"load ptr, ptr {p}, align 8")
        return self.once[key], signature

    def call_runtime(self, name: str, args: str) -> str:
        """Calls a runtime function with the warp and `args`; the result's name if there is one."""
        address, signature = self.runtime(name)
        text = f"call {signature.partition(' ')[0]} {address}(ptr %w{', ' + args if args else ''})"
        if signature.startswith("void"):
            self.emit(text)
            return ""
        return self.let(text)

    def lane(self) -> Value:
        return Value("i32", AFFINE, "0", 1, aligned=True)

    def special(self, name: str, component: str) -> Value:
        match name:
            case "tid":
                return self._tid(component)
            case "ntid" | "ctaid" | "nctaid":
                return self.field(f"{name}.{component}") if component in "xyz" else self.integer("i32", 0)
            case "laneid":
                return self.lane()
            case "warpid":
                return self.field("warp")
            case "nwarpid":
                return self.integer("i32", 32)
            case "smid" | "nsmid" | "gridid" | "envreg1" | "envreg2":
                return self.field(name)
            case "dynamic_smem_size":
                return self.field("dynamic_shared_bytes")
            case "total_smem_size" | "aggr_smem_size":
                return self.field("shared_bytes")
            case "clock" | "clock64" | "clock_hi":
                self.declare("llvm.readcyclecounter", "i64 ()")
                t = Value("i64", UNIFORM, self.let("call i64 @llvm.readcyclecounter()"))
                if name == "clock_hi":
                    t = self.bin("lshr", t, self.integer("i64", 32))
                return t if name == "clock64" else self.trunc(t, "i32")
            case "globaltimer" | "globaltimer_lo" | "globaltimer_hi":
                t = Value("i64", UNIFORM, self.call_runtime("globaltimer", ""))
                if name == "globaltimer_hi":
                    t = self.bin("lshr", t, self.integer("i64", 32))
                return t if name == "globaltimer" else self.trunc(t, "i32")
            case "clusterid" | "cluster_ctaid" | "cluster_ctarank":
                return (
                    self.field(f"ctaid.{component}")
                    if name == "clusterid" and component in ("x", "y", "z")
                    else self.integer("i32", 0)
                )
            case "nclusterid":
                return self.field(f"nctaid.{component}") if component in ("x", "y", "z") else self.integer("i32", 1)
            case "cluster_nctaid" | "cluster_nctarank":
                return self.integer("i32", 1)
            case "is_explicit_cluster":
                return self.integer("i1", 0)
            case "reserved_smem_offset_begin" | "reserved_smem_offset_end" | "reserved_smem_offset_cap":
                return self.integer("i32", 0)
        if name.startswith("lanemask_"):
            return self._lanemask(name[9:])
        if name.startswith(("envreg", "pm")):
            return self.integer("i64" if name.endswith("_64") else "i32", 0)
        raise self.unsupported(f"special register %{name}")

    def _lanemask(self, which: str) -> Value:
        masks = {
            "eq": [1 << k for k in range(32)],
            "lt": [(1 << k) - 1 for k in range(32)],
            "le": [(2 << k) - 1 for k in range(32)],
            "gt": [(1 << 32) - (2 << k) for k in range(32)],
            "ge": [(1 << 32) - (1 << k) for k in range(32)],
        }[which]
        items = ", ".join(f"i32 {m if m < 1 << 31 else m - (1 << 32)}" for m in masks)
        return Value("i32", VARYING, f"<{items}>")

    def _tid(self, component: str) -> Value:
        key = f"tid.{component}"
        known = self.fields.get(key)
        if known is not None:
            return known
        if component not in ("x", "y", "z"):
            return self.integer("i32", 0)
        e = self.let_entry
        nx, ny = self.field("ntid.x").text, self.field("ntid.y").text
        first = self.once.get("first") or e(f"shl i32 {self.field('warp').text}, 5")
        self.once["first"] = first
        if self.unit.row_class:
            if component == "x":
                v = Value("i32", AFFINE, e(f"urem i32 {first}, {nx}"), 1, aligned=True)
            elif component == "y":
                row = e(f"udiv i32 {first}, {nx}")
                v = Value("i32", UNIFORM, e(f"urem i32 {row}, {ny}"))
            else:
                row = e(f"udiv i32 {first}, {nx}")
                v = Value("i32", UNIFORM, e(f"udiv i32 {row}, {ny}"))
        else:
            v = self._general_tid(component, first, nx, ny)
        self.fields[key] = v
        return v

    def _general_tid(self, component: str, first: str, nx: str, ny: str) -> Value:
        """Thread indices by division in float: exact, since both sides are at most 1024 + 31."""
        e = self.let_entry
        t, f = "<32 x i32>", "<32 x float>"

        def wide(text: str, type_: str) -> str:
            one = e(f"insertelement <32 x {type_}> poison, {type_} {text}, i32 0")
            return e(f"shufflevector <32 x {type_}> {one}, <32 x {type_}> poison, <32 x i32> zeroinitializer")

        def divide(a: str, by: str) -> tuple[str, str]:
            n = wide(by, "i32")
            x, y = e(f"uitofp {t} {a} to {f}"), e(f"uitofp {t} {n} to {f}")
            q = e(f"fdiv {f} {x}, {y}")
            quotient = e(f"fptoui {f} {q} to {t}")
            product = e(f"mul {t} {quotient}, {n}")
            return quotient, e(f"sub {t} {a}, {product}")

        if "linear" not in self.once:
            steps = ", ".join(f"i32 {k}" for k in range(32))
            self.once["linear"] = e(f"add {t} {wide(first, 'i32')}, <{steps}>")
            self.once["rows"], self.once["tid.x"] = divide(self.once["linear"], nx)
        if component == "x":
            return Value("i32", VARYING, self.once["tid.x"])
        if "tid.y" not in self.once:
            self.once["tid.z"], self.once["tid.y"] = divide(self.once["rows"], ny)
        return Value("i32", VARYING, self.once[f"tid.{component}"])

    # -- symbols --------------------------------------------------------------------------------------------------

    def symbol(self, name: str, offset: int) -> Value:
        shared = self.unit.shared_offset(name)
        if shared is not None:
            return self.integer("i64", shared + offset)
        if name in self.unit.layout.offsets:
            base = Value("i64", UNIFORM, self.module_base())
            return self.add(base, self.integer("i64", self.unit.layout.offsets[name] + offset))
        if name in self.param_offsets:
            return self.integer("i64", self.param_offsets[name] + offset)
        if name in self.unit.local[self.function.name].offsets:
            return self.add(
                self.local_frame(), self.integer("i64", self.unit.local[self.function.name].offsets[name] + offset)
            )
        if name in self.unit.layout.functions:
            return self.integer("i64", self.unit.layout.functions[name])
        if name in BUILTINS:
            raise self.unsupported(f"the address of {name}")
        raise self.unsupported(f"the name {name} as a value")

    def module_base(self) -> str:
        """The module's data block, i64."""
        if "module" not in self.once:
            self.once["module"] = self.let_entry(f"ptrtoint ptr {self.field('module').text} to i64")
        return self.once["module"]

    def local_frame(self) -> Value:
        """Offset of this function's frame in each lane's local memory, i64."""
        if self.function.entry:
            return self.integer("i64", 0)
        return Value("i64", UNIFORM, self.once["frame"])


def _zero(type_: str) -> str:
    return "0" if type_.startswith("i") else f"bitcast (i{BITS[type_]} 0 to {type_})"


def _kernel_params(function: Function) -> dict[str, int]:
    offsets, at = {}, 0
    for v in function.params:
        align = max(1, v.align)
        at = -(-at // align) * align
        offsets[v.name] = at
        at += v.size
    return offsets
