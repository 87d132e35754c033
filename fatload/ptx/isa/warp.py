"""Operations across the lanes of a warp."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
shfl.(mode:up,down,bfly,idx).(type:b32)         | d|p:b32 a:b32 b:u32 c:u32 | warp.shfl | 3.0 30
shfl.(sync).(mode:up,down,bfly,idx).(type:b32)  | d|p:b32 a:b32 b:u32 c:u32 m:b32 | warp.shfl | 6.0 30
vote.(op:all,any,uni).(type:pred)               | d:pred a:pred | warp.vote | 1.2 12
vote.(op:ballot).(type:b32)                     | d:b32 a:pred | warp.vote | 1.2 12
vote.(sync).(op:all,any,uni).(type:pred)        | d:pred a:pred m:b32 | warp.vote | 6.0 30
vote.(sync).(op:ballot).(type:b32)              | d:b32 a:pred m:b32 | warp.vote | 6.0 30
match.(op:any).(sync).(type:b32,b64)            | d:b32 a:$type m:b32 | warp.match | 6.0 70
match.(op:all).(sync).(type:b32,b64)            | d|p:b32 a:$type m:b32 | warp.match | 6.0 70
activemask.(type:b32)                           | d:b32 | warp.activemask | 6.2 30
redux.(sync).(op:add,min,max).(type:u32,s32)    | d:$type a:$type m:b32 | warp.redux | 7.0 80
redux.(sync).(op:and,or,xor).(type:b32)         | d:$type a:$type m:b32 | warp.redux | 7.0 80
redux.(sync).(op:min,max).[xs:abs].[nan:NaN=nan].(type:f32) | d:f32 a:f32 m:b32 | - | 8.6 100
elect.(sync)                                    | d|p:b32 m:b32 | warp.elect | 8.0 90
""")
