"""f16, bf16 and pairs of them."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
add.[rnd:rn].[ftz].[sat].(type:f16,f16x2)         | d:$type a:$type b:$type | half.add | 4.2 53
add.[rnd:rn].(type:bf16,bf16x2)                   | d:$type a:$type b:$type | half.add | 7.8 90
sub.[rnd:rn].[ftz].[sat].(type:f16,f16x2)         | d:$type a:$type b:$type | half.sub | 4.2 53
sub.[rnd:rn].(type:bf16,bf16x2)                   | d:$type a:$type b:$type | half.sub | 7.8 90
mul.[rnd:rn].[ftz].[sat].(type:f16,f16x2)         | d:$type a:$type b:$type | half.mul | 4.2 53
mul.[rnd:rn].(type:bf16,bf16x2)                   | d:$type a:$type b:$type | half.mul | 7.8 90
fma.(rnd:rn).[ftz].[sat].(type:f16,f16x2)         | d:$type a:$type b:$type c:$type | half.fma | 4.2 53
fma.(rnd:rn).[ftz].(relu).(type:f16,f16x2)        | d:$type a:$type b:$type c:$type | half.fma | 7.0 80
fma.(rnd:rn).[relu].(type:bf16,bf16x2)            | d:$type a:$type b:$type c:$type | half.fma | 7.0 80
fma.(rnd:rn).(oob).[relu].(type:f16,f16x2,bf16,bf16x2) | d:$type a:$type b:$type c:$type | - | 8.1 90
neg.[ftz].(type:f16,f16x2)                        | d:$type a:$type | half.neg | 6.0 53
neg.(type:bf16,bf16x2)                            | d:$type a:$type | half.neg | 7.0 80
abs.[ftz].(type:f16,f16x2)                        | d:$type a:$type | half.abs | 6.5 53
abs.(type:bf16,bf16x2)                            | d:$type a:$type | half.abs | 7.0 80
min.[ftz].[nan:NaN=nan].[xorsign].[xs:abs].(type:f16,f16x2) | d:$type a:$type b:$type | half.min | 7.0 80
min.[nan:NaN=nan].[xorsign].[xs:abs].(type:bf16,bf16x2) | d:$type a:$type b:$type | half.min | 7.0 80
max.[ftz].[nan:NaN=nan].[xorsign].[xs:abs].(type:f16,f16x2) | d:$type a:$type b:$type | half.max | 7.0 80
max.[nan:NaN=nan].[xorsign].[xs:abs].(type:bf16,bf16x2) | d:$type a:$type b:$type | half.max | 7.0 80
ex2.(approx).(type:f16,f16x2)                     | d:$type a:$type | half.ex2 | 7.0 75
ex2.(approx).(ftz).(type:bf16,bf16x2)             | d:$type a:$type | half.ex2 | 7.8 90
tanh.(approx).(type:f16,f16x2)                    | d:$type a:$type | half.tanh | 7.0 75
tanh.(approx).(type:bf16,bf16x2)                  | d:$type a:$type | half.tanh | 7.8 90
""")
