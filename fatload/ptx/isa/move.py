"""mov."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
mov.(type:pred,b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64,b128) | d:$type{} a:$type{} | move.mov
""")
