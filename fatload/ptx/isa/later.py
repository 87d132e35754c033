"""Opcodes that are known to be PTX and whose forms have no rows yet: any modifiers and operands, no lowering."""

from fatload.ptx.isa.row import Row

OPCODES = frozenset(
    [
        "mma",
        "wmma",
        "wgmma",
        "tcgen05",
        "ldmatrix",
        "stmatrix",
        "movmatrix",
        "cp",
        "mbarrier",
        "tensormap",
        "multimem",
        "createpolicy",
        "tex",
        "tld4",
        "txq",
        "suld",
        "sust",
        "sured",
        "suq",
        "istypep",
        "getctarank",
        "mapa",
        "setmaxnreg",
        "clusterlaunchcontrol",
        "griddepcontrol",
        "red.async",
        "st.async",
        "fence.proxy",
        "fence.mbarrier_init",
        "barrier.cluster",
        "vote.match",
    ]
)

LATER = {name: Row(name, (), (), None, text=name) for name in OPCODES}
