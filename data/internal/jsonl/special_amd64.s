//go:build !purego

#include "textflag.h"

DATA quote<>(SB)/1, $0x22
GLOBL quote<>(SB), RODATA|NOPTR, $1
DATA backslash<>(SB)/1, $0x5c
GLOBL backslash<>(SB), RODATA|NOPTR, $1
DATA control<>(SB)/1, $0x1f
GLOBL control<>(SB), RODATA|NOPTR, $1

// No instruction here may be one without VEX, like MOVQ to X1: between those that use
// the upper halves of the registers an Intel processor waits at each (18 % of a run over
// English, see job/docs/benchmarks/chinese.md).
//
// func specialWide(text *byte, size int) int
TEXT ·specialWide(SB), NOSPLIT, $0-24
	MOVQ text+0(FP), SI
	MOVQ size+8(FP), CX
	XORL AX, AX
	SUBQ $32, CX
	JLT  done
	VPBROADCASTB quote<>(SB), Y1
	VPBROADCASTB backslash<>(SB), Y2
	VPBROADCASTB control<>(SB), Y3

group:
	VMOVDQU (SI)(AX*1), Y0
	VPCMPEQB Y1, Y0, Y4
	VPCMPEQB Y2, Y0, Y5
	VPMINUB Y3, Y0, Y6
	VPCMPEQB Y6, Y0, Y6 // at most 0x1f
	VPOR Y4, Y5, Y4
	VPOR Y6, Y4, Y4
	VPMOVMSKB Y4, DX
	TESTL DX, DX
	JNZ  found
	ADDQ $32, AX
	CMPQ AX, CX
	JLE  group
	VZEROUPPER

done:
	MOVQ AX, ret+16(FP)
	RET

found:
	BSFL DX, DX
	ADDQ DX, AX
	VZEROUPPER
	MOVQ AX, ret+16(FP)
	RET
