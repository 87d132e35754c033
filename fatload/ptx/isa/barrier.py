"""Barriers."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
bar.[cta].(sync)                       | a:u32 b:u32? | barrier.sync
bar.[cta].(arrive)                     | a:u32 b:u32 | barrier.arrive | 2.0 20
bar.[cta].(red).(op:popc).(type:u32)   | d:u32 a:u32 b:u32? c:pred | barrier.red | 2.0 20
bar.[cta].(red).(op:and,or).(type:pred) | d:pred a:u32 b:u32? c:pred | barrier.red | 2.0 20
bar.(warp).(sync)                      | a:b32 | barrier.warp_sync | 6.0 30
barrier.[cta].(sync).[aligned]         | a:u32 b:u32? | barrier.sync | 6.0 30
barrier.[cta].(arrive).[aligned]       | a:u32 b:u32 | barrier.arrive | 6.0 30
barrier.[cta].(red).(op:popc).[aligned].(type:u32) | d:u32 a:u32 b:u32? c:pred | barrier.red | 6.0 30
barrier.[cta].(red).(op:and,or).[aligned].(type:pred) | d:pred a:u32 b:u32? c:pred | barrier.red | 6.0 30
""")
