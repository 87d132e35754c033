"""f32 and f64 arithmetic."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
add.[rnd:rn,rz,rm,rp].[ftz].[sat].(type:f32)      | d:$type a:$type b:$type | float.add
add.[rnd:rn,rz,rm,rp].(type:f64)                  | d:$type a:$type b:$type | float.add | 1.0 13
sub.[rnd:rn,rz,rm,rp].[ftz].[sat].(type:f32)      | d:$type a:$type b:$type | float.sub
sub.[rnd:rn,rz,rm,rp].(type:f64)                  | d:$type a:$type b:$type | float.sub | 1.0 13
mul.[rnd:rn,rz,rm,rp].[ftz].[sat].(type:f32)      | d:$type a:$type b:$type | float.mul
mul.[rnd:rn,rz,rm,rp].(type:f64)                  | d:$type a:$type b:$type | float.mul | 1.0 13
fma.(rnd:rn,rz,rm,rp).[ftz].[sat].(type:f32)      | d:$type a:$type b:$type c:$type | float.fma | 2.0 20
fma.(rnd:rn,rz,rm,rp).(type:f64)                  | d:$type a:$type b:$type c:$type | float.fma | 1.4 13
mad.[rnd:rn,rz,rm,rp].[ftz].[sat].(type:f32)      | d:$type a:$type b:$type c:$type | float.fma
mad.(rnd:rn,rz,rm,rp).(type:f64)                  | d:$type a:$type b:$type c:$type | float.fma | 1.0 13
div.(approx).[ftz].(type:f32)                     | d:$type a:$type b:$type | approx.div
div.(full).[ftz].(type:f32)                       | d:$type a:$type b:$type | approx.div
div.(rnd:rn,rz,rm,rp).[ftz].(type:f32)            | d:$type a:$type b:$type | float.div
div.(rnd:rn,rz,rm,rp).(type:f64)                  | d:$type a:$type b:$type | float.div
rcp.(approx).[ftz].(type:f32)                     | d:$type a:$type | approx.rcp
rcp.(rnd:rn,rz,rm,rp).[ftz].(type:f32)            | d:$type a:$type | float.rcp
rcp.(rnd:rn,rz,rm,rp).(type:f64)                  | d:$type a:$type | float.rcp
rcp.(approx).(ftz).(type:f64)                     | d:$type a:$type | approx.rcp64
sqrt.(approx).[ftz].(type:f32)                    | d:$type a:$type | approx.sqrt
sqrt.(rnd:rn,rz,rm,rp).[ftz].(type:f32)           | d:$type a:$type | float.sqrt
sqrt.(rnd:rn,rz,rm,rp).(type:f64)                 | d:$type a:$type | float.sqrt
rsqrt.(approx).[ftz].(type:f32)                   | d:$type a:$type | approx.rsqrt
rsqrt.(approx).[ftz].(type:f64)                   | d:$type a:$type | approx.rsqrt64
sin.(approx).[ftz].(type:f32)                     | d:$type a:$type | approx.sin
cos.(approx).[ftz].(type:f32)                     | d:$type a:$type | approx.cos
lg2.(approx).[ftz].(type:f32)                     | d:$type a:$type | approx.lg2
ex2.(approx).[ftz].(type:f32)                     | d:$type a:$type | approx.ex2
tanh.(approx).(type:f32)                          | d:$type a:$type | approx.tanh | 7.0 75
abs.[ftz].(type:f32)                              | d:$type a:$type | float.abs
abs.(type:f64)                                    | d:$type a:$type | float.abs
neg.[ftz].(type:f32)                              | d:$type a:$type | float.neg
neg.(type:f64)                                    | d:$type a:$type | float.neg
min.[ftz].[nan:NaN=nan].[xorsign].[xs:abs].(type:f32) | d:$type a:$type b:$type c:$type? | float.min
max.[ftz].[nan:NaN=nan].[xorsign].[xs:abs].(type:f32) | d:$type a:$type b:$type c:$type? | float.max
min.(type:f64)                                    | d:$type a:$type b:$type | float.min
max.(type:f64)                                    | d:$type a:$type b:$type | float.max
copysign.(type:f32,f64)                           | d:$type a:$type b:$type | float.copysign
testp.(property:finite,infinite,number,notanumber,normal,subnormal).(type:f32,f64) | d:pred a:$type | float.testp
""")
