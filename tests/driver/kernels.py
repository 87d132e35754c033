"""PTX that the tests load."""

from __future__ import annotations

HEAD = """\
.version 7.5
.target sm_75
.address_size 64
"""

KERNELS = (
    HEAD
    + """
.visible .global .align 8 .b64 counter = 42;
.visible .const .align 4 .b32 table[4] = {1, 2, 3, 4};
.extern .shared .align 16 .b8 dynamic_bytes[];

.visible .entry iota(.param .u64 out, .param .u32 n)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r4, %r2, %r3, %r4;
  setp.ge.u32 %p, %r4, %r1;
  @%p ret;
  cvta.to.global.u64 %d1, %d1;
  mul.wide.u32 %d2, %r4, 4;
  add.u64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r4;
  ret;
}

.visible .entry count()
{
  .reg .b64 %d<2>;
  atom.global.add.u64 %d1, [counter], 1;
  ret;
}

.visible .entry parameters(.param .u8 a, .param .u16 b, .param .u64 out, .param .f32 c, .param .align 16 .b8 d[20], .param .u32 e)
{
  .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  cvta.to.global.u64 %d1, %d1;
  ld.param.u8 %h1, [a];
  cvt.u32.u16 %r1, %h1;
  st.global.u32 [%d1], %r1;
  ld.param.u16 %h2, [b];
  cvt.u32.u16 %r2, %h2;
  st.global.u32 [%d1+4], %r2;
  ld.param.b32 %r3, [c];
  st.global.u32 [%d1+8], %r3;
  ld.param.b32 %r4, [d+4];
  st.global.u32 [%d1+12], %r4;
  ld.param.b32 %r5, [d+16];
  st.global.u32 [%d1+16], %r5;
  ld.param.b32 %r6, [e];
  st.global.u32 [%d1+20], %r6;
  ret;
}

.visible .entry shape(.param .u64 out)
{
  .reg .b32 %r<7>; .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r1, %nctaid.x;
  mov.u32 %r2, %nctaid.y;
  mov.u32 %r3, %nctaid.z;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %ntid.y;
  mov.u32 %r6, %ntid.z;
  st.global.u32 [%d1], %r1;
  st.global.u32 [%d1+4], %r2;
  st.global.u32 [%d1+8], %r3;
  st.global.u32 [%d1+12], %r4;
  st.global.u32 [%d1+16], %r5;
  st.global.u32 [%d1+20], %r6;
  ret;
}

.visible .entry last_shared_word(.param .u64 out, .param .u32 offset)
{
  .reg .b32 %r<5>; .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [offset];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r2, dynamic_bytes;
  add.u32 %r2, %r2, %r1;
  st.shared.u32 [%r2], 77;
  ld.shared.u32 %r3, [%r2];
  mov.u32 %r4, %dynamic_smem_size;
  st.global.u32 [%d1], %r3;
  st.global.u32 [%d1+4], %r4;
  ret;
}

.visible .entry bounded(.param .u64 out) .maxntid 128, 1, 1
{
  .shared .align 4 .b8 s[1024];
  .reg .b64 %d<2>; .reg .b32 %r<3>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, s;
  st.shared.u32 [%r1], 1;
  ld.shared.u32 %r2, [%r1];
  cvta.to.global.u64 %d1, %d1;
  st.global.u32 [%d1], %r2;
  ret;
}

.visible .entry required() .reqntid 8, 4, 1
{
  ret;
}
"""
)

OTHER = HEAD + ".visible .entry other() { ret; }\n"
"""A second module."""

SYNTAX_ERROR = HEAD + ".visible .entry k()\n{\n  .reg .b32 %r;\n  bogus.u32 %r;\n  ret;\n}\n"
"""Wrong in line 7."""

UNSUPPORTED = """\
.version 8.6
.target sm_100a
.address_size 64
.visible .entry tensor()
{
  tcgen05.wait::ld.sync.aligned;
  ret;
}
.visible .entry plain(.param .u64 out)
{
  .reg .b64 %d;
  ld.param.u64 %d, [out];
  cvta.to.global.u64 %d, %d;
  st.global.u32 [%d], 5;
  ret;
}
"""
"""Legal PTX whose first kernel needs tensor memory (line 6); the second one needs nothing special."""

FAULTS = (
    HEAD
    + """
.visible .entry wild() { .reg .b64 %d; mov.u64 %d, 16; st.global.u32 [%d], 1; ret; }
.visible .entry stop() { trap; ret; }
"""
)
