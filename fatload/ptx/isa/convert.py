"""cvt and cvt.pack."""

from fatload.ptx.isa.row import parse_rows

_INT = "u8,u16,u32,u64,s8,s16,s32,s64"

ROWS = parse_rows(
    f"""
cvt.[sat].(dtype:{_INT}).(atype:{_INT})                              | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rni,rzi,rmi,rpi).[ftz].[sat].(dtype:{_INT}).(atype:f32)     | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rni,rzi,rmi,rpi).[sat].(dtype:{_INT}).(atype:f16,f64)       | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rni,rzi,rmi,rpi).(dtype:{_INT}).(atype:bf16)                | d:$dtype a:$atype | convert.cvt | 7.8 90
cvt.(rnd:rn,rz,rm,rp).[ftz].[sat].(dtype:f32).(atype:{_INT})         | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rn,rz,rm,rp).[sat].(dtype:f16,f64).(atype:{_INT})           | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rn,rz,rm,rp).(dtype:bf16).(atype:{_INT})                    | d:$dtype a:$atype | convert.cvt | 7.8 90
cvt.(rnd:rni,rzi,rmi,rpi).[ftz].[sat].(dtype:f32).(atype:f32)        | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rni,rzi,rmi,rpi).[sat].(dtype:f16).(atype:f16)              | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rni,rzi,rmi,rpi).[sat].(dtype:f64).(atype:f64)              | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rni,rzi,rmi,rpi).(dtype:bf16).(atype:bf16)                  | d:$dtype a:$atype | convert.cvt | 7.8 90
cvt.[ftz].[sat].(dtype:f32).(atype:f32)                              | d:$dtype a:$atype | convert.cvt
cvt.[sat].(dtype:f64).(atype:f64)                                    | d:$dtype a:$atype | convert.cvt
cvt.[sat].(dtype:f16).(atype:f16)                                    | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rn,rz,rm,rp).[ftz].[sat].(dtype:f32).(atype:f64)            | d:$dtype a:$atype | convert.cvt
cvt.[ftz].[sat].(dtype:f64).(atype:f32)                              | d:$dtype a:$atype | convert.cvt
cvt.[ftz].[sat].(dtype:f32).(atype:f16)                              | d:$dtype a:$atype | convert.cvt
cvt.[sat].(dtype:f64).(atype:f16)                                    | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rn,rz,rm,rp).[ftz].[sat].(dtype:f16).(atype:f32,f64)        | d:$dtype a:$atype | convert.cvt
cvt.(rnd:rn,rz).(relu).[satfinite].(dtype:f16).(atype:f32)           | d:$dtype a:$atype | convert.cvt | 7.0 80
cvt.(rnd:rn,rz).[relu].(satfinite).(dtype:f16).(atype:f32)           | d:$dtype a:$atype | convert.cvt | 8.1 80
cvt.(rnd:rn,rz).[relu].[satfinite].(dtype:bf16).(atype:f32)          | d:$dtype a:$atype | convert.cvt | 7.0 80
cvt.(rnd:rn,rz,rm,rp).[sat].(dtype:bf16).(atype:f16,f64,bf16)        | d:$dtype a:$atype | convert.cvt | 7.8 90
cvt.[ftz].[sat].(dtype:f32).(atype:bf16)                             | d:$dtype a:$atype | convert.cvt | 7.1 90
cvt.(rnd:rn,rz,rm,rp).(dtype:f16).(atype:bf16)                       | d:$dtype a:$atype | convert.cvt | 7.8 90
cvt.[sat].(dtype:f64).(atype:bf16)                                   | d:$dtype a:$atype | convert.cvt | 7.8 90
cvt.(rnd:rn,rz).[relu].[satfinite].(dtype:f16x2,bf16x2).(atype:f32)  | d:b32 a:f32 b:f32 | convert.pack2 | 7.0 80
cvt.(rnd:rna).[satfinite].(dtype:tf32).(atype:f32)                   | d:b32 a:f32 | convert.tf32 | 7.0 80
cvt.(rnd:rn,rz).[relu].[satfinite].(dtype:tf32).(atype:f32)          | d:b32 a:f32 | convert.tf32 | 7.8 90
cvt.(rnd:rn).(satfinite).[relu].(dtype:e4m3x2,e5m2x2).(atype:f32)    | d:b16 a:f32 b:f32 | convert.fp8 | 7.8 89
cvt.(rnd:rn).(satfinite).[relu].(dtype:e4m3x2,e5m2x2).(atype:f16x2)  | d:b16 a:b32 | convert.fp8 | 7.8 89
cvt.(rnd:rn).[relu].(dtype:f16x2).(atype:e4m3x2,e5m2x2)              | d:b32 a:b16 | convert.fp8 | 7.8 89
cvt.(op:pack).(sat).(dtype:u16,s16).(atype:s32)                      | d:b32 a:s32 b:s32 | convert.cvt_pack | 6.5 72
cvt.(op:pack).(sat).(dtype:u2,s2,u4,s4,u8,s8).(atype:s32).(btype:b32) | d:b32 a:s32 b:s32 c:b32 | convert.cvt_pack | 6.5 72
"""
)
