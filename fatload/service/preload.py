"""What every worker needs, imported once in the process that they are forked from."""

import fatload.codegen.cpu.object
import fatload.codegen.lower.approx
import fatload.codegen.lower.convert
import fatload.codegen.lower.half
import fatload.codegen.translate
import fatload.ptx.isa.table
import fatload.ptx.manifest
import fatload.service.worker

fatload.ptx.isa.table.rows()
