"""shfl, vote, match, activemask, redux, elect."""

from __future__ import annotations

from fatload.codegen.builder import UNIFORM, Value
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Imm, Instruction, Pair


def _members(b: Lowering, i: Instruction, n: int) -> Value | None:
    """The mask of members of a .sync form, after waiting for them."""
    if "sync" not in i.modifiers:
        return None
    mask = b.operand(i.operands[n], "i32")
    b.converge(mask)
    return mask


def shfl(b: Lowering, i: Instruction) -> None:
    """shfl{.sync}.mode.b32 d{|p}, a, b, c{, membermask}."""
    _members(b, i, len(i.operands) - 1)
    a, by, c = (b.operand(i.operands[n], "i32") for n in (1, 2, 3))
    mode = i.attrs["mode"]
    lane = b.lane()
    five = b.integer("i32", 31)
    by = b.bin("and", by, five)
    c_bits = b.bin("and", c, five)
    segment = b.bin("and", b.bin("lshr", c, b.integer("i32", 8)), five)
    fixed = b.bin("and", lane, segment)
    if mode == "up":
        j = b.sub(lane, by)
        bound = b.bin("or", fixed, b.bin("and", c_bits, b.bin("xor", segment, b.integer("i32", -1))))
        inside = b.cmp("sge", j, bound)
    else:
        bound = b.bin("or", fixed, b.bin("and", c_bits, b.bin("xor", segment, b.integer("i32", -1))))
        if mode == "down":
            j = b.add(lane, by)
        elif mode == "bfly":
            j = b.bin("xor", lane, by)
        else:
            j = b.bin("or", fixed, b.bin("and", by, b.bin("xor", segment, b.integer("i32", -1))))
        inside = b.cmp("sle", j, bound)
    source = b.select(inside, j, lane)
    by_imm, c_imm = i.operands[2], i.operands[3]
    if isinstance(by_imm, Imm) and isinstance(c_imm, Imm):
        result = b.permute_constant(a, constant_sources(mode, by_imm.value, c_imm.value), source)
    else:
        result = b.permute(a, source)
    d = i.operands[0]
    if isinstance(d, Pair):
        b.assign(d.second, inside)
        b.assign(d.first, result)
    else:
        b.assign(d, result)


def constant_sources(mode: str, by: int, c: int) -> list[int]:
    """The source lane of each lane for constant operands."""
    by &= 31
    segment, clamp = c >> 8 & 31, c & 31
    out = []
    for lane in range(32):
        bound = (lane & segment) | (clamp & ~segment)
        j = {
            "up": lane - by,
            "down": lane + by,
            "bfly": lane ^ by,
            "idx": (lane & segment) | (by & ~segment),
        }[mode]
        ok = j >= bound if mode == "up" else j <= bound
        out.append(j if ok else lane)
    return out


def vote(b: Lowering, i: Instruction) -> None:
    """vote{.sync}.all/any/uni.pred and .ballot.b32."""
    members = _members(b, i, len(i.operands) - 1)
    p = b.operand(i.operands[1], "i1")
    yes = b.ballot(p)
    present = b.active()
    if members is not None:
        yes, present = b.bin("and", yes, members), b.bin("and", present, members)
    op = i.attrs["op"]
    if op == "ballot":
        b.write(i, 0, yes)
        return
    none = b.cmp("eq", yes, b.integer("i32", 0))
    every = b.cmp("eq", yes, present)
    answer = {
        "all": lambda: every,
        "any": lambda: b.bin("xor", none, b.integer("i1", 1)),
        "uni": lambda: b.bin("or", none, every),
    }[op]()
    b.write(i, 0, answer)


def activemask(b: Lowering, i: Instruction) -> None:
    """activemask.b32."""
    b.write(i, 0, b.active())


def match(b: Lowering, i: Instruction) -> None:
    """match.any: the members with an equal value; match.all: all members if all are equal, and a predicate."""
    last = len(i.operands) - 1
    members = b.operand(i.operands[last], "i32")
    b.converge(members)
    v = b.read_as(i, 1, "i" + i.attrs["type"][1:])
    same = b.equal_lanes(v)
    members = b.bin("and", members, b.active())
    found = b.bin("and", same, members)
    if i.attrs["op"] == "any":
        b.write(i, 0, found)
        return
    every = b.cmp("eq", found, members)
    mask = b.select(every, members, b.integer("i32", 0))
    d = i.operands[0]
    if isinstance(d, Pair):
        b.assign(d.second, every)
        b.assign(d.first, mask)
    else:
        b.assign(d, mask)


def redux(b: Lowering, i: Instruction) -> None:
    """redux.sync: a reduction over the members, the result in each of them."""
    members = b.operand(i.operands[2], "i32")
    b.converge(members)
    type_, op = i.attrs["type"], i.attrs["op"]
    if type_ == "f32":
        raise b.unsupported("reductions of f32")
    v = b.read_as(i, 1, "i32")
    name = {"min": "smin" if type_[0] == "s" else "umin", "max": "smax" if type_[0] == "s" else "umax"}.get(op, op)
    b.write(i, 0, b.reduce_lanes(name, v, members))


def elect(b: Lowering, i: Instruction) -> None:
    """elect.sync d|p, membermask: the lowest member is the leader."""
    members = b.operand(i.operands[1], "i32")
    b.converge(members)
    present = b.bin("and", members, b.active())
    leader = b.intrinsic("cttz", "i32", (present,), "i1 false")
    d = i.operands[0]
    p = b.cmp("eq", b.lane(), leader)
    if isinstance(d, Pair):
        b.assign(d.second, p)
        b.assign(d.first, leader)
    else:
        b.assign(d, leader)


def uniform(v: Value) -> bool:
    """Whether `v` is one scalar for all lanes."""
    return v.kind == UNIFORM
