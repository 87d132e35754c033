"""Comparison and selection."""

from fatload.ptx.isa.row import parse_rows

_INT = "eq,ne,lt,le,gt,ge,lo,ls,hi,hs"
_FLOAT = "eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan"
_BOOL = "(bool:and,or,xor)"

ROWS = parse_rows(
    f"""
setp.(cmp:{_INT}).(type:b16,b32,b64,u16,u32,u64,s16,s32,s64)         | d|p:pred a:$type b:$type | compare.setp
setp.(cmp:{_INT}).{_BOOL}.(type:b16,b32,b64,u16,u32,u64,s16,s32,s64) | d|p:pred a:$type b:$type c:pred | compare.setp
setp.(cmp:{_FLOAT}).[ftz].(type:f32)                                 | d|p:pred a:$type b:$type | compare.setp
setp.(cmp:{_FLOAT}).{_BOOL}.[ftz].(type:f32)                         | d|p:pred a:$type b:$type c:pred | compare.setp
setp.(cmp:{_FLOAT}).(type:f64)                                       | d|p:pred a:$type b:$type | compare.setp
setp.(cmp:{_FLOAT}).{_BOOL}.(type:f64)                               | d|p:pred a:$type b:$type c:pred | compare.setp
setp.(cmp:{_FLOAT}).[ftz].(type:f16,f16x2)                           | d|p:pred a:$type b:$type | half.setp | 4.2 53
setp.(cmp:{_FLOAT}).{_BOOL}.[ftz].(type:f16,f16x2)                   | d|p:pred a:$type b:$type c:pred | half.setp | 4.2 53
setp.(cmp:{_FLOAT}).(type:bf16,bf16x2)                               | d|p:pred a:$type b:$type | half.setp | 7.8 90
setp.(cmp:{_FLOAT}).{_BOOL}.(type:bf16,bf16x2)                       | d|p:pred a:$type b:$type c:pred | half.setp | 7.8 90
set.(cmp:{_INT}).(dtype:u32,s32,f32).(atype:b16,b32,b64,u16,u32,u64,s16,s32,s64) | d:$dtype a:$atype b:$atype | compare.set
set.(cmp:{_INT}).{_BOOL}.(dtype:u32,s32,f32).(atype:b16,b32,b64,u16,u32,u64,s16,s32,s64) | d:$dtype a:$atype b:$atype c:pred | compare.set
set.(cmp:{_FLOAT}).[ftz].(dtype:u32,s32,f32).[ftz].(atype:f32)       | d:$dtype a:$atype b:$atype | compare.set
set.(cmp:{_FLOAT}).{_BOOL}.[ftz].(dtype:u32,s32,f32).[ftz].(atype:f32) | d:$dtype a:$atype b:$atype c:pred | compare.set
set.(cmp:{_FLOAT}).(dtype:u32,s32,f32).(atype:f64)                   | d:$dtype a:$atype b:$atype | compare.set
set.(cmp:{_FLOAT}).{_BOOL}.(dtype:u32,s32,f32).(atype:f64)           | d:$dtype a:$atype b:$atype c:pred | compare.set
set.(cmp:{_FLOAT}).[ftz].(dtype:f16,u16,s16,u32,s32).(atype:f16)     | d:$dtype a:$atype b:$atype | half.set | 6.5 53
set.(cmp:{_FLOAT}).[ftz].(dtype:f16x2,u32,s32).(atype:f16x2)         | d:$dtype a:$atype b:$atype | half.set | 6.5 53
set.(cmp:{_FLOAT}).(dtype:bf16,u16,s16,u32,s32).(atype:bf16)         | d:$dtype a:$atype b:$atype | half.set | 7.8 90
set.(cmp:{_FLOAT}).(dtype:bf16x2,u32,s32).(atype:bf16x2)             | d:$dtype a:$atype b:$atype | half.set | 7.8 90
selp.(type:b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64)              | d:$type a:$type b:$type c:pred | compare.selp
slct.(dtype:b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64).(atype:s32) | d:$dtype a:$dtype b:$dtype c:$atype | compare.slct
slct.[ftz].(dtype:b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64).(atype:f32) | d:$dtype a:$dtype b:$dtype c:$atype | compare.slct
"""
)
