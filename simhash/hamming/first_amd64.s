#include "textflag.h"

// Both functions look through values, 8 at a time, for one within k of x.
// Z31 holds k in every lane, CX is the place.

// func first64(values *uint64, from, to int, x *uint64, k int) int
TEXT ·first64(SB), NOSPLIT, $0-48
	MOVQ values+0(FP), SI
	MOVQ from+8(FP), CX
	MOVQ to+16(FP), DX
	MOVQ x+24(FP), AX
	VPBROADCASTQ (AX), Z0
	VPBROADCASTQ k+32(FP), Z31

eight:
	CMPQ CX, DX
	JGE  done
	VPXORQ (SI)(CX*8), Z0, Z1
	VPOPCNTQ Z1, Z1
	VPCMPUQ $2, Z31, Z1, K1
	KORTESTB K1, K1
	JNE  done
	ADDQ $8, CX
	JMP  eight

done:
	MOVQ CX, ret+40(FP)
	VZEROUPPER
	RET

// func first128(values *Uint128, from, to int, x *Uint128, k int) int
//
// Of the four dwords in each 16 bytes of Z1, number 0 is the distance of one
// of the first four values, number 1 that of one of the others, and 2 and 3
// are the same again.
TEXT ·first128(SB), NOSPLIT, $0-48
	MOVQ values+0(FP), SI
	MOVQ from+8(FP), CX
	MOVQ to+16(FP), DX
	MOVQ x+24(FP), AX
	VBROADCASTI64X2 (AX), Z0
	VPBROADCASTD k+32(FP), Z31

eight:
	CMPQ CX, DX
	JGE  done
	MOVQ CX, AX
	SHLQ $4, AX
	VPXORQ (SI)(AX*1), Z0, Z1
	VPXORQ 64(SI)(AX*1), Z0, Z2
	VPOPCNTQ Z1, Z1
	VPOPCNTQ Z2, Z2
	VPSLLQ $32, Z2, Z2
	VPORQ Z1, Z2, Z1
	VPSHUFD $0x4e, Z1, Z2
	VPADDD Z1, Z2, Z1
	VPCMPUD $2, Z31, Z1, K1
	KORTESTW K1, K1
	JNE  done
	ADDQ $8, CX
	JMP  eight

done:
	MOVQ CX, ret+40(FP)
	VZEROUPPER
	RET
