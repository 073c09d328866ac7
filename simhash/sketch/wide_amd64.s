//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// func lookWide(m *Maker, l *lenderTable)
TEXT ·lookWide(SB), NOSPLIT, $0-16
	MOVQ m+0(FP), DI
	MOVQ l+8(FP), SI
	VPTERNLOGD $0xff, Z0, Z0, Z0 // empty, in every lane
	MOVL $1, AX
	VPBROADCASTD AX, Z1
	VPBROADCASTB AX, Z4
	XORL CX, CX

minima: // 16 bins
	VMOVDQU32 Maker_minima(DI)(CX*4), Z2
	VPCMPUD $4, Z0, Z2, K1
	VPTESTMD Z1, Z2, K1, K2
	MOVQ CX, BX
	SHRQ $3, BX
	KMOVW K1, AX
	MOVW AX, Maker_have(DI)(BX*1)
	KMOVW K2, AX
	MOVW AX, Maker_low(DI)(BX*1)
	ADDQ $16, CX
	CMPQ CX, $const_bins
	JLT  minima

	VMOVDQU8 Maker_have(DI), Z0
	XORL CX, CX

bins: // 64 bins
	LEAQ lenderTable_octet(SI)(CX*1), R8
	LEAQ lenderTable_member(SI)(CX*1), R9
	MOVL $const_attempts, DX
	VPBROADCASTB DX, Z1
	VPXORD Z2, Z2, Z2 // the attempt
	KXNORQ K1, K1, K1 // the bins that have none yet

attempt:
	VMOVDQU8 (R8), Z3
	VPERMB Z0, Z3, Z3
	VPTESTMB (R9), Z3, K1, K2
	VMOVDQU8 Z2, K2, Z1
	KANDNQ K1, K2, K1
	VPADDB Z4, Z2, Z2
	ADDQ $const_bins, R8
	ADDQ $const_bins, R9
	DECL DX
	JNZ  attempt

	VMOVDQU8 Z1, Maker_attempt(DI)(CX*1)
	ADDQ $64, CX
	CMPQ CX, $const_bins
	JLT  bins
	VZEROUPPER
	RET
