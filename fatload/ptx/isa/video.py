"""Video instructions. Operands of the scalar ones may select bytes or halves: ``a.b0``, ``a.h1`` (the reader puts the selector into
``Selected``)."""

from fatload.ptx.isa.row import parse_rows

_2 = "(dtype:u32,s32).(atype:u32,s32).(btype:u32,s32).[sat]"
_OP2 = "[op2:add,min,max]"

ROWS = parse_rows(
    "\n".join(
        [
            *(
                f"{op}.{_2}                | d:$dtype a:$atype b:$btype | video.scalar | 2.0 20\n"
                f"{op}.{_2}.(op2:add,min,max) | d:$dtype a:$atype b:$btype c:$dtype | video.scalar | 2.0 20\n"
                f"{op}.(dtype:u32,s32).(atype:u32,s32).(btype:u32,s32).(sat).(op2:add,min,max) "
                f"| d:$dtype a:$atype b:$btype c:$dtype | video.scalar | 2.0 20"
                for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
            ),
            *(
                f"{op}.(dtype:u32,s32).(atype:u32,s32).(btype:u32).[sat].(mode:clamp,wrap) "
                f"| d:$dtype a:$atype b:u32 | video.shift | 2.0 20\n"
                f"{op}.(dtype:u32,s32).(atype:u32,s32).(btype:u32).[sat].(mode:clamp,wrap).(op2:add,min,max) "
                f"| d:$dtype a:$atype b:u32 c:$dtype | video.shift | 2.0 20"
                for op in ("vshl", "vshr")
            ),
            "vset.(atype:u32,s32).(btype:u32,s32).(cmp:eq,ne,lt,le,gt,ge) | d:u32 a:$atype b:$btype | video.vset | 2.0 20",
            "vset.(atype:u32,s32).(btype:u32,s32).(cmp:eq,ne,lt,le,gt,ge).(op2:add,min,max) "
            "| d:u32 a:$atype b:$btype c:u32 | video.vset | 2.0 20",
            "vmad.(dtype:u32,s32).(atype:u32,s32).(btype:u32,s32).[po].[sat].[shift:shr7,shr15] "
            "| d:$dtype a:$atype b:$btype c:$dtype | video.vmad | 2.0 20",
            *(
                f"{op}{n}.(dtype:u32,s32).(atype:u32,s32).(btype:u32,s32).[sat].[op2:add] "
                f"| d:b32 a:b32 b:b32 c:b32 | video.simd | 3.0 30"
                for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
                for n in (2, 4)
            ),
            *(
                f"vset{n}.(atype:u32,s32).(btype:u32,s32).(cmp:eq,ne,lt,le,gt,ge).[op2:add] "
                f"| d:u32 a:b32 b:b32 c:b32 | video.simd_set | 3.0 30"
                for n in (2, 4)
            ),
        ]
    )
)
