"""Loads, stores, address conversion, hints."""

from fatload.ptx.isa.row import parse_rows

_T = "b8,b16,b32,b64,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64,b128"
_LD = "const,global,local,param,shared,param::entry,param::func,shared::cta,shared::cluster"
_ST = "global,local,param,shared,param::func,shared::cta,shared::cluster"
_EVICT = (
    "[evict:L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate]"
    ".[evict2:L2::evict_normal,L2::evict_first,L2::evict_last]"
)
_HINT = "[cache:L2::cache_hint].[prefetch:L2::64B,L2::128B,L2::256B]"
_SCOPE = "(scope:cta,cluster,gpu,sys)"

ROWS = parse_rows(
    f"""
ld.[sem:weak,volatile].[space:{_LD}].[cop:ca,cg,cs,lu,cv].[nc].{_EVICT}.{_HINT}.[vec:v2,v4,v8].(type:{_T}) \\
  | d:$type{{}} a:addr policy:b64? | memory.ld
ld.(sem:relaxed,acquire).{_SCOPE}.[space:{_LD}].{_EVICT}.{_HINT}.[vec:v2,v4,v8].(type:{_T}) \\
  | d:$type{{}} a:addr policy:b64? | memory.ld | 6.0 70
ld.(sem:mmio).(sem2:relaxed).(scope:sys).[space:global].(type:{_T}) | d:$type a:addr | memory.ld | 8.2 70
st.[sem:weak,volatile].[space:{_ST}].[cop:wb,cg,cs,wt].{_EVICT}.{_HINT}.[vec:v2,v4,v8].(type:{_T}) \\
  | a:addr b:$type{{}} policy:b64? | memory.st
st.(sem:relaxed,release).{_SCOPE}.[space:{_ST}].{_EVICT}.{_HINT}.[vec:v2,v4,v8].(type:{_T}) \\
  | a:addr b:$type{{}} policy:b64? | memory.st | 6.0 70
st.(sem:mmio).(sem2:relaxed).(scope:sys).[space:global].(type:{_T}) | a:addr b:$type | memory.st | 8.2 70
ldu.[space:global].[vec:v2,v4].(type:{_T})           | d:$type{{}} a:addr | memory.ldu | 2.0 20
prefetch.[space:global,local].(level:L1,L2)          | a:addr | memory.prefetch | 2.0 20
prefetch.(space:global).(level:L2::evict_last,L2::evict_normal) | a:addr | memory.prefetch | 7.4 80
prefetchu.(level:L1)                                 | a:addr | memory.prefetch | 2.0 20
applypriority.[space:global].(level:L2::evict_normal) | a:addr n:b32 | memory.prefetch | 7.4 80
discard.[space:global].(level:L2)                    | a:addr n:b32 | memory.prefetch | 7.4 80
cvta.(space:const,global,local,param,shared,shared::cta,shared::cluster,param::entry).(type:u32,u64) \\
  | d:$type a:any | memory.cvta | 2.0 20
cvta.(to).(space:const,global,local,param,shared,shared::cta,shared::cluster,param::entry).(type:u32,u64) \\
  | d:$type a:$type | memory.cvta | 2.0 20
isspacep.(space:const,global,local,param,shared,shared::cta,shared::cluster,param::entry) \\
  | d:pred a:any | memory.isspacep | 2.0 20
alloca.(type:u32,u64)                                | d:$type n:$type align:u32? | memory.alloca | 7.3 52
stacksave.(type:u32,u64)                             | d:$type | - | 7.3 52
stackrestore.(type:u32,u64)                          | a:$type | - | 7.3 52
"""
)
