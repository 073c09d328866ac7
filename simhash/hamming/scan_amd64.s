#include "textflag.h"

// func near32(f uint64, v *uint64, n, k, from int) int
//
// It compares a fingerprint with 32 others at a time: xor, count, the minimum of
// the four in each lane, and ends at the first 32 of which a lane is at most k.
//
// Z0 the fingerprint in every lane   Z31 k in every lane
// SI address of the next 32   CX place   DX number
TEXT ·near32(SB), NOSPLIT, $0-48
	VPBROADCASTQ f+0(FP), Z0
	MOVQ v+8(FP), SI
	MOVQ n+16(FP), DX
	VPBROADCASTQ k+24(FP), Z31
	MOVQ from+32(FP), CX
	LEAQ (SI)(CX*8), SI

block:
	CMPQ CX, DX
	JGE  done
	VPXORQ (SI), Z0, Z1
	VPXORQ 64(SI), Z0, Z2
	VPXORQ 128(SI), Z0, Z3
	VPXORQ 192(SI), Z0, Z4
	VPOPCNTQ Z1, Z1
	VPOPCNTQ Z2, Z2
	VPOPCNTQ Z3, Z3
	VPOPCNTQ Z4, Z4
	VPMINUD Z1, Z2, Z5
	VPMINUD Z3, Z4, Z6
	VPMINUD Z5, Z6, Z5
	VPCMPUQ $2, Z31, Z5, K1
	KORTESTB K1, K1
	JNE  done
	ADDQ $256, SI
	ADDQ $32, CX
	JMP  block

done:
	MOVQ CX, ret+40(FP)
	VZEROUPPER
	RET
