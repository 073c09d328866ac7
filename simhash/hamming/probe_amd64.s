#include "textflag.h"

// Both functions look probes up in the groups of a key and compare each with
// its group, 8 values at a time, the first 8 whatever the size of the group:
// those beyond it do no harm and cost no branch.
//
// SI probes   DX their number   DI key   R8 next probe
// R10 next hit   R11 last place with room for one
// R12 starts   R13 values   CX place   BX end of the group   Z31 k in every lane
// R9, AX shifts and scratch
//
// Offsets into the key, a lookup: bucket mask 0 (Hi), 8 (Lo), multiplier 16,
// 24, shift 32; rest mask 40, 48, multiplier 56, 64, shift 72; width 80,
// starts 88, values 96, k 104, large 112.

// HIT records the lanes in AX at place CX.
#define HIT \
	MOVL R8, (R10)  \
	MOVL AX, 4(R10) \
	MOVQ CX, 8(R10) \
	ADDQ $16, R10

// func probe64(probes *uint64, n int, key *lookup, next int, place uint64, hits *probeHit, room int) (nextProbe int, nextPlace uint64, found int)
TEXT ·probe64(SB), NOSPLIT, $0-80
	MOVQ probes+0(FP), SI
	MOVQ n+8(FP), DX
	MOVQ key+16(FP), DI
	MOVQ next+24(FP), R8
	MOVQ hits+40(FP), R10
	MOVQ room+48(FP), R11
	SHLQ $4, R11
	LEAQ -16(R10)(R11*1), R11
	MOVQ 88(DI), R12
	MOVQ 96(DI), R13
	VPBROADCASTQ 104(DI), Z31
	MOVQ 32(DI), R9
	MOVQ 72(DI), R14
	MOVQ 80(DI), R15

probe:
	CMPQ R8, DX
	JGE  done
	MOVQ (SI)(R8*8), AX
	VPBROADCASTQ AX, Z0
	MOVQ AX, BX
	ANDQ 8(DI), AX
	ANDQ 48(DI), BX
	IMULQ 24(DI), AX
	IMULQ 64(DI), BX
	SHRXQ R9, AX, AX
	SHRXQ R14, BX, BX
	SHLXQ R15, AX, AX
	ORQ  BX, AX
	MOVL (R12)(AX*4), CX
	MOVL 4(R12)(AX*4), BX
	SUBQ CX, BX
	CMPQ BX, 112(DI)
	JGE  large
	ADDQ CX, BX
	CMPQ CX, place+32(FP)
	JLS  resume

eight:
	VPXORQ (R13)(CX*8), Z0, Z1
	VPOPCNTQ Z1, Z1
	VPCMPUQ $2, Z31, Z1, K1
	KORTESTB K1, K1
	JNE  hit

next:
	ADDQ $8, CX
	CMPQ CX, BX
	JLT  eight
	INCQ R8
	JMP  probe

resume:
	MOVQ place+32(FP), CX
	MOVQ $0, place+32(FP)
	JMP  eight

hit:
	CMPQ R10, R11
	JGT  full
	KMOVB K1, AX
	HIT
	JMP  next

large:
	MOVQ AX, CX
	XORL AX, AX
	CMPQ R10, R11
	JGT  done
	HIT
	INCQ R8
	JMP  probe


done:
	XORL CX, CX

full:
	MOVQ R8, nextProbe+56(FP)
	MOVQ CX, nextPlace+64(FP)
	MOVQ hits+40(FP), AX
	SUBQ AX, R10
	SHRQ $4, R10
	MOVQ R10, found+72(FP)
	VZEROUPPER
	RET

// DISTANCES(p, q): the distances of the 8 fingerprints of 128 bits at
// address AX from the one that Z0 holds four times, in Zp: of its four dwords
// in each 16 bytes, number 0 is of one of the first four, number 1 of one of
// the others, and 2 and 3 are the same again.
#define DISTANCES(p, q) \
	VPXORQ   (AX), Z0, p   \
	VPXORQ   64(AX), Z0, q \
	VPOPCNTQ p, p          \
	VPOPCNTQ q, q          \
	VPSLLQ   $32, q, q     \
	VPORQ    p, q, p       \
	VPSHUFD  $0x4e, p, q   \
	VPADDD   p, q, p

// func probe128(probes *Uint128, n int, key *lookup, next int, place uint64, hits *probeHit, room int) (nextProbe int, nextPlace uint64, found int)
TEXT ·probe128(SB), NOSPLIT, $0-80
	MOVQ probes+0(FP), SI
	MOVQ n+8(FP), DX
	MOVQ key+16(FP), DI
	MOVQ next+24(FP), R8
	MOVQ hits+40(FP), R10
	MOVQ room+48(FP), R11
	SHLQ $4, R11
	LEAQ -16(R10)(R11*1), R11
	MOVQ 88(DI), R12
	MOVQ 96(DI), R13
	VPBROADCASTD 104(DI), Z31

probe:
	CMPQ R8, DX
	JGE  done
	MOVQ R8, R9
	SHLQ $4, R9
	ADDQ SI, R9
	VBROADCASTI64X2 (R9), Z0
	MOVQ (R9), AX
	MOVQ AX, BX
	MOVQ 8(R9), CX
	MOVQ CX, R15
	ANDQ 0(DI), AX
	ANDQ 8(DI), CX
	IMULQ 16(DI), AX
	IMULQ 24(DI), CX
	ADDQ CX, AX
	MOVQ 32(DI), R14
	SHRXQ R14, AX, AX
	ANDQ 40(DI), BX
	ANDQ 48(DI), R15
	IMULQ 56(DI), BX
	IMULQ 64(DI), R15
	ADDQ R15, BX
	MOVQ 72(DI), R14
	SHRXQ R14, BX, BX
	MOVQ 80(DI), R14
	SHLXQ R14, AX, AX
	ORQ  BX, AX
	MOVL (R12)(AX*4), CX
	MOVL 4(R12)(AX*4), BX
	SUBQ CX, BX
	CMPQ BX, 112(DI)
	JGE  large
	ADDQ CX, BX
	CMPQ CX, place+32(FP)
	JLS  resume

eight:
	MOVQ CX, AX
	SHLQ $4, AX
	ADDQ R13, AX
	DISTANCES(Z2, Z3)
	VPCMPUD $2, Z31, Z2, K1
	KORTESTW K1, K1
	JNE  hit

next:
	ADDQ $8, CX
	CMPQ CX, BX
	JLT  eight
	INCQ R8
	JMP  probe

resume:
	MOVQ place+32(FP), CX
	MOVQ $0, place+32(FP)
	JMP  eight

hit:
	CMPQ R10, R11
	JGT  full
	KMOVW K1, AX
	MOVL  $0x1111, R14
	MOVL  $0x2222, R15
	PEXTL R14, AX, R14
	PEXTL R15, AX, AX
	SHLL  $4, AX
	ORL   R14, AX
	HIT
	JMP  next

large:
	MOVQ AX, CX
	XORL AX, AX
	CMPQ R10, R11
	JGT  done
	HIT
	INCQ R8
	JMP  probe

done:
	XORL CX, CX

full:
	MOVQ R8, nextProbe+56(FP)
	MOVQ CX, nextPlace+64(FP)
	MOVQ hits+40(FP), AX
	SUBQ AX, R10
	SHRQ $4, R10
	MOVQ R10, found+72(FP)
	VZEROUPPER
	RET
