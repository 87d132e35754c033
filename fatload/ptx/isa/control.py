"""Control flow. `call` has a syntax of its own (see the reader)."""

from fatload.ptx.isa.row import parse_rows

ROWS = parse_rows("""
bra.[uni]          | a:label | control.branch
brx.(mode:idx).[uni] | a:u32 b:label | control.branch | 6.0 30
call.[uni]         | | control.call
ret.[uni]          | | control.branch
exit               | | control.branch
trap               | | control.trap
brkpt              | | control.brkpt | 1.0 11
nanosleep.(type:u32) | a:u32 | control.nanosleep | 6.3 70
pmevent.[mask]     | a:u32 | control.pmevent | 1.4 10
""")
