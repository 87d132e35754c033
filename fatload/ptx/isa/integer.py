"""Integer arithmetic."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
add.(type:u16,u32,u64,s16,s64,s32)               | d:$type a:$type b:$type | integer.add
add.(sat).(type:s32)                             | d:$type a:$type b:$type | integer.add
add.(type:u16x2,s16x2)                           | d:$type a:$type b:$type | integer.add | 8.0 90
add.(cc).(type:u32,s32,u64,s64)                  | d:$type a:$type b:$type | integer.add | 1.2 10
addc.[cc].(type:u32,s32,u64,s64)                 | d:$type a:$type b:$type | integer.addc | 1.2 10
sub.(type:u16,u32,u64,s16,s64,s32)               | d:$type a:$type b:$type | integer.sub
sub.(sat).(type:s32)                             | d:$type a:$type b:$type | integer.sub
sub.(cc).(type:u32,s32,u64,s64)                  | d:$type a:$type b:$type | integer.sub | 1.2 10
subc.[cc].(type:u32,s32,u64,s64)                 | d:$type a:$type b:$type | integer.subc | 1.2 10
mul.(mode:lo,hi).(type:u16,u32,u64,s16,s32,s64)  | d:$type a:$type b:$type | integer.mul
mul.(mode:wide).(type:u16,u32,s16,s32)           | d:$type*2 a:$type b:$type | integer.mul
mad.(mode:lo,hi).(type:u16,u32,u64,s16,s32,s64)  | d:$type a:$type b:$type c:$type | integer.mad
mad.(mode:hi).(sat).(type:s32)                   | d:$type a:$type b:$type c:$type | integer.mad
mad.(mode:wide).(type:u16,u32,s16,s32)           | d:$type*2 a:$type b:$type c:$type*2 | integer.mad
mad.(mode:lo,hi).(cc).(type:u32,s32,u64,s64)     | d:$type a:$type b:$type c:$type | integer.mad | 3.0 20
madc.(mode:lo,hi).[cc].(type:u32,s32,u64,s64)    | d:$type a:$type b:$type c:$type | integer.madc | 3.0 20
mul24.(mode:lo,hi).(type:u32,s32)                | d:$type a:$type b:$type | integer.mul24
mad24.(mode:lo,hi).(type:u32,s32)                | d:$type a:$type b:$type c:$type | integer.mad24
mad24.(mode:hi).(sat).(type:s32)                 | d:$type a:$type b:$type c:$type | integer.mad24
sad.(type:u16,u32,u64,s16,s32,s64)               | d:$type a:$type b:$type c:$type | integer.sad
div.(type:u16,u32,u64,s16,s32,s64)               | d:$type a:$type b:$type | integer.div
rem.(type:u16,u32,u64,s16,s32,s64)               | d:$type a:$type b:$type | integer.rem
abs.(type:s16,s32,s64)                           | d:$type a:$type | integer.abs
neg.(type:s16,s32,s64)                           | d:$type a:$type | integer.neg
min.(type:u16,u32,u64,s16,s32,s64)               | d:$type a:$type b:$type | integer.min
max.(type:u16,u32,u64,s16,s32,s64)               | d:$type a:$type b:$type | integer.max
min.(type:u16x2)                                 | d:$type a:$type b:$type | integer.min | 8.0 90
max.(type:u16x2)                                 | d:$type a:$type b:$type | integer.max | 8.0 90
min.[relu].(type:s16x2,s32)                      | d:$type a:$type b:$type | integer.min | 8.0 90
max.[relu].(type:s16x2,s32)                      | d:$type a:$type b:$type | integer.max | 8.0 90
dp4a.(atype:u32,s32).(btype:u32,s32)             | d:b32 a:$atype b:$btype c:b32 | integer.dp4a | 5.0 61
dp2a.(mode:lo,hi).(atype:u32,s32).(btype:u32,s32) | d:b32 a:$atype b:$btype c:b32 | integer.dp2a | 5.0 61
""")
