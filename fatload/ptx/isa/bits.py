"""Logic, shifts and bit fields."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
and.(type:pred,b16,b32,b64)            | d:$type a:$type b:$type | bits.and_
or.(type:pred,b16,b32,b64)             | d:$type a:$type b:$type | bits.or_
xor.(type:pred,b16,b32,b64)            | d:$type a:$type b:$type | bits.xor
not.(type:pred,b16,b32,b64)            | d:$type a:$type | bits.not_
cnot.(type:b16,b32,b64)                | d:$type a:$type | bits.cnot
shl.(type:b16,b32,b64)                 | d:$type a:$type b:u32 | bits.shl
shr.(type:b16,b32,b64,u16,u32,u64,s16,s32,s64) | d:$type a:$type b:u32 | bits.shr
shf.(dir:l,r).(mode:clamp,wrap).(type:b32) | d:b32 a:b32 b:b32 c:u32 | bits.shf | 3.1 32
lop3.(type:b32)                        | d:b32 a:b32 b:b32 c:b32 e:u32 | bits.lop3 | 4.3 50
lop3.(bool:or,and).(type:b32)          | d|p:b32 a:b32 b:b32 c:b32 e:u32 q:pred | bits.lop3 | 8.2 70
prmt.(type:b32).[mode:f4e,b4e,rc8,ecl,ecr,rc16] | d:b32 a:b32 b:b32 c:b32 | bits.prmt | 2.0 20
bfe.(type:u32,u64,s32,s64)             | d:$type a:$type b:u32 c:u32 | bits.bfe | 2.0 20
bfi.(type:b32,b64)                     | d:$type a:$type b:$type c:u32 e:u32 | bits.bfi | 2.0 20
bfind.[shiftamt].(type:u32,u64,s32,s64) | d:u32 a:$type | bits.bfind | 2.0 20
brev.(type:b32,b64)                    | d:$type a:$type | bits.brev | 2.0 20
clz.(type:b32,b64)                     | d:u32 a:$type | bits.clz | 2.0 20
popc.(type:b32,b64)                    | d:u32 a:$type | bits.popc | 2.0 20
fns.(type:b32)                         | d:b32 a:b32 b:b32 c:s32 | bits.fns | 6.0 30
bmsk.(mode:clamp,wrap).(type:b32)      | d:b32 a:u32 b:u32 | bits.bmsk | 7.6 70
szext.(mode:clamp,wrap).(type:u32,s32) | d:$type a:$type b:u32 | bits.szext | 7.6 70
""")
