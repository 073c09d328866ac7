//go:build !purego

#include "textflag.h"

// func specialWide(text *byte, size int) int
TEXT ·specialWide(SB), NOSPLIT, $0-24
	MOVQ text+0(FP), SI
	MOVQ size+8(FP), CX
	XORL AX, AX
	SUBQ $32, CX
	JLT  done
	MOVL $'"', DX
	MOVQ DX, X1
	VPBROADCASTB X1, Y1
	MOVL $'\\', DX
	MOVQ DX, X2
	VPBROADCASTB X2, Y2
	MOVL $0x1f, DX
	MOVQ DX, X3
	VPBROADCASTB X3, Y3

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
