"""CPU target: a PTX function as one LLVM function; divergent control flow as a static chain of blocks with pending masks.

Regular functions: lanes of a warp never run ahead of each other, the lowest pending block runs next, and which blocks can be
pending where is known at translation. Irregular functions (loops that spin on memory, warp-wide operations in divergent
code) keep every value lane by lane, let other lanes, warps and CTAs run while some wait, and sweep the chain.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from fatload.codegen.analysis.cfg import Block, Branch, build
from fatload.codegen.analysis.shapes import analyse
from fatload.codegen.analysis.ssa import construct
from fatload.codegen.analysis.waits import member_operand, needs_irregular, spinning_loops, split_at_waits, waits
from fatload.codegen.builder import UNIFORM, VARYING, Value
from fatload.codegen.cpu.abi import ENTRY, TRAP_REASONS
from fatload.codegen.cpu.calls import CpuCalls, call_parts, function_symbol
from fatload.codegen.cpu.unit import Unit
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Function, Instruction, Sym, Unsupported

SPINS = 48
"""Rounds of a spinning loop before other lanes, warps and CTAs get their turn; above 32, so that a compare-and-swap
loop in which one lane succeeds each round stays together."""

LoweringFunction = Callable[[Lowering, Instruction], None]
_functions: dict[str, LoweringFunction] = {}


def lowering_function(name: str) -> LoweringFunction:
    """The lowering function a row names: ``integer.add``."""
    known = _functions.get(name)
    if known is None:
        family, _, function = name.partition(".")
        known = _functions[name] = getattr(importlib.import_module(f"fatload.codegen.lower.{family}"), function)
    return known


def translate_function(unit: Unit, function: Function) -> str:
    """LLVM text of one function."""
    assert function.body is not None
    params = frozenset(v.name for v in function.params) if function.entry else frozenset()
    graph = build(function.body)
    ssa = construct(graph)
    shapes = analyse(graph, unit.row_class, params, False)
    irregular = needs_irregular(graph, ssa, shapes)
    if irregular:
        graph = build(function.body)
        split_at_waits(graph)
        ssa = construct(graph)
        shapes = analyse(graph, unit.row_class, params, True)
    return CpuFunction(unit, function, graph, ssa, shapes, irregular).translate()


class CpuFunction(CpuCalls):
    """Emits the blocks of one function."""

    def translate(self) -> str:
        """The function's LLVM text."""
        order = self.graph.order
        self.position = self.graph.position
        if not self.function.entry:
            self.once["frame"] = "%frame64"
        self.may_exit = self.unit.reach.exits
        self.spinning = spinning_loops(self.graph, self.ssa) if self.irregular else set()
        for b in order:
            self.mask_slots[b] = self.let_entry("alloca i32")
        self.phi_slots()
        self.pending: dict[int, int] = dict.fromkeys(order, 0)
        self.find_pending()
        for b in order:
            self.emit_block(self.graph.blocks[b])
        if self.irregular:
            self.emit_chain()
        return self.assemble()

    def assemble(self) -> str:
        """Puts entry block and body together."""
        first = self.graph.order[0]
        prologue: list[str] = []
        if self.function.entry:
            active = self.field("active").text
            if self.unit.reach.functions:
                frame = self.unit.local[self.function.name].size
                prologue.append(f"  %top = getelementptr i8, ptr %w, i64 128\n  store i32 {frame}, ptr %top")
        else:
            active = "%mask"
        head = (
            f"define void @{ENTRY}(ptr %w) #0 {{"
            if self.function.entry
            else f"define internal void {function_symbol(self.function.name)}(ptr %w, i32 %mask, ptr %args) #0 {{"
        )
        text = [head, "entry:"]
        frame_code = self._frame() if not self.function.entry else []
        text += self.entry[:0] + frame_code + self.entry + prologue
        for b, slot in self.mask_slots.items():
            text.append(f"  store i32 {active if b == first else 0}, ptr {slot}")
        text.append(f"  br label %{self.name(first)}")
        text += self.lines
        text.append("}")
        return "\n".join(text)

    def _frame(self) -> list[str]:
        """Takes this call's frame of local memory."""
        size = self.unit.local[self.function.name].size
        lines = [
            "  %top = getelementptr i8, ptr %w, i64 128",
            "  %frame = load i32, ptr %top",
            "  %frame64 = zext i32 %frame to i64",
        ]
        if size:
            trap, _ = self.runtime("trap")
            stride = self.field("local_stride").text
            self.entry.append(f"  %frame.end = add i32 %frame, {size}")
            self.entry.append(f"  %frame.bad = icmp ugt i32 %frame.end, {stride}")
            self.entry.append("  br i1 %frame.bad, label %frame.overflow, label %frame.taken")
            self.entry.append("frame.overflow:")
            self.entry.append(
                f"  call void {trap}(ptr %w, i32 %mask, i32 {TRAP_REASONS['stack']}, i32 {self.function.line})\n  unreachable"
            )
            self.entry.append("frame.taken:\n  store i32 %frame.end, ptr %top")
        return lines

    def name(self, b: int) -> str:
        """Label of a block."""
        return f"b{b}"

    # -- which blocks can be pending --------------------------------------------------------------------------------

    def find_pending(self) -> None:
        """Fixpoint of the sets (bits by position) of blocks that may be pending while a block runs."""
        if self.irregular:
            return
        order = self.graph.order
        changed = True
        while changed:
            changed = False
            for b in order:
                for out in self.outcomes(b):
                    rest = out
                    while rest:
                        low = rest & -rest
                        rest ^= low
                        target = order[low.bit_length() - 1]
                        if rest & ~self.pending[target]:
                            self.pending[target] |= rest
                            changed = True

    def outcomes(self, b: int) -> list[int]:
        """Sets of blocks that may be pending behind block `b`: one set a way out that is known apart."""
        block = self.graph.blocks[b]
        here = self.pending[b]
        if not block.branch.targets:
            return [here]
        bits = [1 << self.position[t] for t in block.succs]
        if b in self.shapes.branches:
            total = here
            for x in bits:
                total |= x
            return [total]
        return [here | x for x in bits]

    # -- blocks -----------------------------------------------------------------------------------------------------

    def emit_block(self, block: Block) -> None:
        """One PTX block: mask, prologue of waiting operations, instructions, ways out."""
        self.block = block
        self.values, self.splats, self.carry = {}, {}, None
        b = block.index
        self.place(self.name(b))
        slot = self.mask_slots[b]
        self.set_mask(self.let(f"load i32, ptr {slot}"))
        if self.irregular and block.instructions and waits(block.instructions[0]):
            self.emit_wait(block)
        self.emit(f"store i32 0, ptr {slot}")
        if self.irregular:
            self.emit(f"store i1 true, ptr {self.flag('progress')}")
        for i in block.instructions:
            self.instruction = i
            try:
                if i.row is None or i.row.lower is None:
                    raise self.unsupported()
                lowering_function(i.row.lower)(self, i)
            except Unsupported as e:
                e.kernel, e.line = self.kernel, e.line or i.line
                raise
            if self.may_exit and i.opcode == "call":
                self.after_call(i)
        self.instruction = None
        self.emit_branch(block)

    def flag(self, name: str) -> str:
        """An i1 variable of irregular functions."""
        key = f"flag {name}"
        if key not in self.once:
            self.once[key] = self.let_entry("alloca i1")
            self.entry.append(f"  store i1 false, ptr {self.once[key]}")
        return self.once[key]

    def live(self) -> str:
        """Lanes of this call that have not exited, i32."""
        p = self.once.get("live pointer")
        if p is None:
            p = self.once["live pointer"] = self.let_entry("getelementptr i8, ptr %w, i64 88")
        return self.let(f"load i32, ptr {p}, align 4")

    def emit_wait(self, block: Block) -> None:
        """Lets other lanes run first while lanes that the first instruction names are elsewhere."""
        i = block.instructions[0]
        operand = member_operand(i)
        everyone = self.live() if self.function.entry else self.let(f"and i32 {self.live()}, {self.outstanding()}")
        if operand is None:
            wanted = everyone
        else:
            members = self.operand(i.operands[operand], "i32")
            if members.kind != UNIFORM:
                chosen = self.select(Value("i1", VARYING, self.mask_vector()), members, self.integer("i32", 0))
                self.declare("llvm.vector.reduce.or.v32i32", "i32 (<32 x i32>)")
                members = Value(
                    "i32", UNIFORM, self.let(f"call i32 @llvm.vector.reduce.or.v32i32(<32 x i32> {self.vec(chosen)})")
                )
            wanted = self.let(f"and i32 {members.text}, {everyone}")
        missing = self.let(f"and i32 {wanted}, {self.let(f'xor i32 {self.mask}, -1')}")
        waiting = self.let(f"icmp ne i32 {missing}, 0")
        force = self.let(f"load i1, ptr {self.flag('force')}")
        skip = self.let(f"and i1 {waiting}, {self.let(f'xor i1 {force}, true')}")
        go = self.label("go")
        self.emit(f"br i1 {skip}, label %{self.next_check(block.index)}, label %{go}")
        self.place(go)
        self.emit(f"store i1 false, ptr {self.flag('force')}")

    def outstanding(self) -> str:
        """Lanes of this call that have not returned, i32 (device functions)."""
        key = "outstanding"
        if key not in self.once:
            self.once[key] = self.let_entry("alloca i32")
            self.entry.append(f"  store i32 %mask, ptr {self.once[key]}")
        return self.let(f"load i32, ptr {self.once[key]}")

    def after_call(self, i: Instruction) -> None:
        """Drops lanes that exited inside a call."""
        _, callee, _, _ = call_parts(i)
        if isinstance(callee, Sym) and callee.name not in self.may_exit:
            return
        self.set_mask(self.let(f"and i32 {self.mask}, {self.live()}"))
        empty = self.let(f"icmp eq i32 {self.mask}, 0")
        gone, on = self.label("gone"), self.label("alive")
        self.emit(f"br i1 {empty}, label %{gone}, label %{on}")
        self.place(gone)
        self.dispatch(self.pending[self.block.index], self.block.index, True)
        self.place(on)

    # -- ways out ---------------------------------------------------------------------------------------------------

    def phi_slots(self) -> None:
        """Allocas of the phis, in the forms the analysis found."""
        for b in self.graph.order:
            for phi in self.graph.blocks[b].phis:
                shape = self.shapes.values.get(phi.dest)
                type_ = self.register_type(phi.dest)
                if shape is None or shape.kind == 2 or (shape.kind == 1 and type_ not in ("i32", "i64")):
                    v = Value(type_, VARYING, "")
                else:
                    v = Value(type_, shape.kind, "", shape.stride, "true" if shape.guarded else None, "", shape.aligned)
                self.slots[phi.dest] = self.new_slot(v)

    def edge(self, target: int, mask: str, always: bool) -> None:
        """What going to `target` with `mask` does: pending mask and phis. `always`: the mask is all of this block's lanes."""
        slot = self.mask_slots[target]
        if self.irregular or not always or self.pending.get(self.block.index, 0) >> self.position[target] & 1:
            old = self.let(f"load i32, ptr {slot}")
            self.emit(f"store i32 {self.let(f'or i32 {old}, {mask}')}, ptr {slot}")
        else:
            self.emit(f"store i32 {mask}, ptr {slot}")
        moves: list[tuple[str, Value]] = []
        for phi in self.graph.blocks[target].phis:
            source = phi.sources.get(self.block.index)
            if source is not None:
                moves.append((phi.dest, self.load_register(source)))
        if not moves:
            return
        keep = self.irregular or target in self.shapes.joins
        vector: str | None = None
        some: str | None = None
        for dest, v in moves:
            to = self.slots[dest]
            t = self.vector(v.type)
            if to.kind == VARYING:
                text = self.vec(v)
                if keep:
                    if vector is None:
                        vector = (
                            self.mask_vector() if mask == self.mask else self.let(f"bitcast i32 {mask} to <32 x i1>")
                        )
                    old = self.let(f"load {t}, ptr {to.text}")
                    text = self.let(f"select <32 x i1> {vector}, {t} {text}, {t} {old}")
                self.emit(f"store {t} {text}, ptr {to.text}")
                continue
            v = self.to_uniform(v) if to.kind == UNIFORM else self.to_affine(v, to.stride)
            parts = [(v.type, v.text, to.text)]
            if to.ok is not None and to.vec is not None:
                parts += [("i1", v.ok or "true", to.ok), (t, self.vec(v), to.vec)]
            for type_, text, place in parts:
                if not always:
                    if some is None:
                        some = self.let(f"icmp ne i32 {mask}, 0")
                    old = self.let(f"load {type_}, ptr {place}")
                    text = self.let(f"select i1 {some}, {type_} {text}, {type_} {old}")
                self.emit(f"store {type_} {text}, ptr {place}")

    def emit_branch(self, block: Block) -> None:
        """The end of a block."""
        branch = block.branch
        match branch.kind:
            case "none":
                self.emit("unreachable")
            case "ret" | "exit":
                self.leave(branch)
                self.dispatch(self.pending[block.index], block.index, True)
            case "jump":
                self.edge(branch.targets[0], self.mask, True)
                self.go(branch.targets[0])
            case "cond" if len(set(branch.targets)) == 1:
                self.edge(branch.targets[0], self.mask, True)
                self.go(branch.targets[0])
            case "cond":
                self.conditional(branch)
            case "index":
                self.switch(branch)

    def leave(self, branch: Branch) -> None:
        """Lanes return or exit."""
        if branch.kind == "exit" or self.function.entry:
            live = self.live()
            gone = self.let(f"xor i32 {self.mask}, -1")
            self.emit(f"store i32 {self.let(f'and i32 {live}, {gone}')}, ptr {self.once['live pointer']}, align 4")
        if self.irregular and not self.function.entry:
            left = self.outstanding()
            gone = self.let(f"xor i32 {self.mask}, -1")
            self.emit(f"store i32 {self.let(f'and i32 {left}, {gone}')}, ptr {self.once['outstanding']}")

    def conditional(self, branch: Branch) -> None:
        """A branch on a predicate."""
        assert branch.reg is not None
        p = self.load_register(branch.reg.name)
        taken, other = branch.targets
        if branch.negated:
            taken, other = other, taken
        b = self.block.index
        if b not in self.shapes.branches:
            p = self.to_uniform(p)
            yes, no = self.label("yes"), self.label("no")
            self.emit(f"br i1 {p.text}, label %{yes}, label %{no}")
            kept = dict(self.splats), dict(self.values), self._mask_vector
            for label, target in ((yes, taken), (no, other)):
                # Copies: what is loaded and widened on one way does not exist on the other.
                self.splats, self.values, self._mask_vector = dict(kept[0]), dict(kept[1]), kept[2]
                self.place(label)
                self.edge(target, self.mask, True)
                self.go(target)
            return
        bits = self.bits(p)
        on = self.let(f"and i32 {self.mask}, {bits}")
        off = self.let(f"and i32 {self.mask}, {self.let(f'xor i32 {bits}, -1')}")
        self.edge(taken, on, False)
        self.edge(other, off, False)
        total = self.pending[b] | 1 << self.position[taken] | 1 << self.position[other]
        self.dispatch(total, b, False, {taken: on, other: off})

    def switch(self, branch: Branch) -> None:
        """brx.idx: an index outside the list is undefined; here such lanes stop with the function."""
        assert branch.reg is not None
        index = self.load_register(branch.reg.name)
        b = self.block.index
        masks: dict[int, str] = {}
        for k, target in enumerate(branch.targets):
            chosen = self.bits(self.cmp("eq", index, self.integer(index.type, k)))
            mask = self.let(f"and i32 {self.mask}, {chosen}")
            masks[target] = self.let(f"or i32 {masks[target]}, {mask}") if target in masks else mask
        total = self.pending[b]
        for target, mask in masks.items():
            self.edge(target, mask, False)
            total |= 1 << self.position[target]
        self.dispatch(total, b, True, masks)

    def go(self, target: int) -> None:
        """Continues after an unconditional edge."""
        b = self.block.index
        self.dispatch(self.pending[b] | 1 << self.position[target], b, False, {target: ""})

    def dispatch(self, pending: int, b: int, may_end: bool, sure: dict[int, str] | None = None) -> None:
        """Runs the lowest of the pending blocks. `may_end`: it is possible that none is. `sure`: edges just taken (mask, or "" if
        it cannot be empty)."""
        if self.irregular:
            self.dispatch_irregular(b, sure or {})
            return
        order = self.graph.order
        while pending:
            low = pending & -pending
            pending ^= low
            target = order[low.bit_length() - 1]
            if (sure is not None and sure.get(target) == "") or (not pending and not may_end):
                self.emit(f"br label %{self.name(target)}")
                return
            m = self.let(f"load i32, ptr {self.mask_slots[target]}")
            after = self.label("next")
            self.emit(f"br i1 {self.let(f'icmp ne i32 {m}, 0')}, label %{self.name(target)}, label %{after}")
            self.place(after)
        self.end()

    def end(self) -> None:
        """Returns from the function."""
        if not self.function.entry:
            self.emit("store i32 %frame, ptr %top")
        self.emit("ret void")

    # -- irregular functions ----------------------------------------------------------------------------------------

    def next_check(self, b: int) -> str:
        """Where the sweep continues behind block `b`."""
        k = self.position[b] + 1
        return f"c{self.graph.order[k]}" if k < len(self.graph.order) else "wrap"

    def dispatch_irregular(self, b: int, sure: dict[int, str]) -> None:
        """Back edges first, except that a spinning loop gives way every SPINS rounds; else onward in the sweep."""
        for target, mask in sure.items():
            if self.position[target] > self.position[b]:
                continue
            taken = "true" if mask == "" else self.let(f"icmp ne i32 {mask}, 0")
            again, on = self.label("again"), self.label("on")
            self.emit(f"br i1 {taken}, label %{again}, label %{on}")
            self.place(again)
            if target in self.spinning:
                self.unit.flags.add("yield")
                counter = self.counter_of(target)
                n = self.let(f"add i32 {self.let(f'load i32, ptr {counter}')}, 1")
                tired = self.let(f"icmp uge i32 {n}, {SPINS}")
                kept = self.let(f"select i1 {tired}, i32 0, i32 {n}")
                self.emit(f"store i32 {kept}, ptr {counter}")
                way, loop = self.label("give_way"), self.name(target)
                self.emit(f"br i1 {tired}, label %{way}, label %{loop}")
                self.place(way)
                self.call_runtime("yield", "")
                self.emit(f"br label %{self.next_check(b)}")
            else:
                self.emit(f"br label %{self.name(target)}")
            self.place(on)
        self.emit(f"br label %{self.next_check(b)}")

    def counter_of(self, loop: int) -> str:
        """Rounds of a spinning loop since it last gave way."""
        key = f"spins {loop}"
        if key not in self.once:
            self.once[key] = self.let_entry("alloca i32")
            self.entry.append(f"  store i32 0, ptr {self.once[key]}")
        return self.once[key]

    def emit_chain(self) -> None:
        """The sweep over all blocks, and its end: again, all done, or nobody can go on (then the first waiting one must)."""
        order = self.graph.order
        for k, b in enumerate(order):
            self.place(f"c{b}")
            m = self.let(f"load i32, ptr {self.mask_slots[b]}")
            after = f"c{order[k + 1]}" if k + 1 < len(order) else "wrap"
            self.emit(f"br i1 {self.let(f'icmp ne i32 {m}, 0')}, label %{self.name(b)}, label %{after}")
        self.place("wrap")
        total = "0"
        for b in order:
            m = self.let(f"load i32, ptr {self.mask_slots[b]}")
            total = self.let(f"or i32 {total}, {m}")
        self.emit(f"br i1 {self.let(f'icmp eq i32 {total}, 0')}, label %finished, label %sweep")
        self.place("sweep")
        moved = self.let(f"load i1, ptr {self.flag('progress')}")
        self.emit(f"store i1 {self.let(f'xor i1 {moved}, true')}, ptr {self.flag('force')}")
        self.emit(f"store i1 false, ptr {self.flag('progress')}")
        self.emit(f"br label %c{order[0]}")
        self.place("finished")
        self.end()
