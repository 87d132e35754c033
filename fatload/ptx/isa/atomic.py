"""Atomic operations and fences."""

from fatload.ptx.isa.row import parse_rows

_PRE = "[sem:relaxed,acquire,release,acq_rel].[scope:cta,cluster,gpu,sys].[space:global,shared,shared::cta,shared::cluster]"
_RED = "[sem:relaxed,release].[scope:cta,cluster,gpu,sys].[space:global,shared,shared::cta,shared::cluster]"
_H = "[cache:L2::cache_hint]"

ROWS = parse_rows(
    f"""
atom.{_PRE}.(op:and,or,xor).{_H}.(type:b32,b64)       | d:$type a:addr b:$type policy:b64? | atomic.atom | 1.1 11
atom.{_PRE}.(op:exch).{_H}.(type:b32,b64,b128)        | d:$type a:addr b:$type policy:b64? | atomic.atom | 1.1 11
atom.{_PRE}.(op:cas).{_H}.(type:b16,b32,b64,b128)     | d:$type a:addr b:$type c:$type policy:b64? | atomic.atom | 1.1 11
atom.{_PRE}.(op:add).{_H}.(type:u32,s32,u64,f32,f64)  | d:$type a:addr b:$type policy:b64? | atomic.atom | 1.1 11
atom.{_PRE}.(op:inc,dec).{_H}.(type:u32)              | d:$type a:addr b:$type policy:b64? | atomic.atom | 1.1 11
atom.{_PRE}.(op:min,max).{_H}.(type:u32,s32,u64,s64)  | d:$type a:addr b:$type policy:b64? | atomic.atom | 1.1 11
atom.{_PRE}.(op:add).(noftz).{_H}.(type:f16,f16x2,bf16,bf16x2) | d:$type a:addr b:$type policy:b64? | atomic.atom | 6.2 60
atom.{_PRE}.(op:add).{_H}.(vec:v2,v4).(type:f32)      | d:$type{{}} a:addr b:$type{{}} policy:b64? | atomic.atom | 8.1 90
atom.{_PRE}.(op:add,min,max).(noftz).{_H}.(vec:v2,v4,v8).(type:f16,bf16,f16x2,bf16x2) \\
  | d:$type{{}} a:addr b:$type{{}} policy:b64? | atomic.atom | 8.1 90
red.{_RED}.(op:and,or,xor).{_H}.(type:b32,b64)        | a:addr b:$type policy:b64? | atomic.red | 1.2 11
red.{_RED}.(op:add).{_H}.(type:u32,s32,u64,f32,f64)   | a:addr b:$type policy:b64? | atomic.red | 1.2 11
red.{_RED}.(op:inc,dec).{_H}.(type:u32)               | a:addr b:$type policy:b64? | atomic.red | 1.2 11
red.{_RED}.(op:min,max).{_H}.(type:u32,s32,u64,s64)   | a:addr b:$type policy:b64? | atomic.red | 1.2 11
red.{_RED}.(op:add).(noftz).{_H}.(type:f16,f16x2,bf16,bf16x2) | a:addr b:$type policy:b64? | atomic.red | 6.2 60
red.{_RED}.(op:add).{_H}.(vec:v2,v4).(type:f32)       | a:addr b:$type{{}} policy:b64? | atomic.red | 8.1 90
red.{_RED}.(op:add,min,max).(noftz).{_H}.(vec:v2,v4,v8).(type:f16,bf16,f16x2,bf16x2) \\
  | a:addr b:$type{{}} policy:b64? | atomic.red | 8.1 90
membar.(level:cta,gl,sys)                             | | atomic.fence | 1.4 10
fence.[sem:sc,acq_rel,acquire,release].(scope:cta,cluster,gpu,sys) | | atomic.fence | 6.0 70
"""
)
