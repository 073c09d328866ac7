#include "textflag.h"

// Both functions compare a block of 8 fingerprints with the 8 that lie offset
// further on, four offsets at a time: xor, count, take the minimum of the four
// in each lane, and look closer only if one lane of it is at most k. The last
// four offsets of a block may go up to three beyond its reach.
//
// SI fingerprints   DI reach   R8 block   DX blocks   R9 offset
// R10 next hit      R11 last place with room for four hits
// R12 address of the block   CX reach of the block   Z31 k in every lane

// RECORD(mask) adds the hit mask at offset R9, if mask is not zero: the hit is
// always written, the place advances only if it counts. R13 is block<<32.
#define RECORD \
	MOVQ  R9, BX       \
	SHLQ  $8, BX       \
	ORQ   R13, BX      \
	ORQ   AX, BX       \
	MOVQ  BX, (R10)    \
	XORL  BX, BX       \
	TESTL AX, AX       \
	SETNE BX           \
	LEAQ  (R10)(BX*8), R10 \
	INCQ  R9

// func near64(v *uint64, reach *uint32, blocks, k, block, offset int, hits *hit, room int) (nextBlock, nextOffset, found int)
TEXT ·near64(SB), NOSPLIT, $0-88
	MOVQ v+0(FP), SI
	MOVQ reach+8(FP), DI
	MOVQ blocks+16(FP), DX
	VPBROADCASTQ k+24(FP), Z31
	MOVQ block+32(FP), R8
	MOVQ offset+40(FP), R9
	MOVQ hits+48(FP), R10
	MOVQ room+56(FP), R11
	LEAQ -32(R10)(R11*8), R11

block:
	CMPQ R8, DX
	JGE  done
	MOVL (DI)(R8*4), CX
	CMPQ R9, CX
	JGT  next
	MOVQ R8, R12
	SHLQ $6, R12
	ADDQ SI, R12
	VMOVDQU64 (R12), Z0

four:
	VPXORQ (R12)(R9*8), Z0, Z1
	VPXORQ 8(R12)(R9*8), Z0, Z2
	VPXORQ 16(R12)(R9*8), Z0, Z3
	VPXORQ 24(R12)(R9*8), Z0, Z4
	VPOPCNTQ Z1, Z1
	VPOPCNTQ Z2, Z2
	VPOPCNTQ Z3, Z3
	VPOPCNTQ Z4, Z4
	VPMINUD Z1, Z2, Z5
	VPMINUD Z3, Z4, Z6
	VPMINUD Z5, Z6, Z5
	VPCMPUQ $2, Z31, Z5, K1
	KORTESTB K1, K1
	JNE  hit
	ADDQ $4, R9
	CMPQ R9, CX
	JLE  four

next:
	MOVQ $1, R9
	INCQ R8
	JMP  block

hit:
	CMPQ R10, R11
	JGT  done
	MOVQ R8, R13
	SHLQ $32, R13
	VPCMPUQ $2, Z31, Z1, K1
	VPCMPUQ $2, Z31, Z2, K2
	VPCMPUQ $2, Z31, Z3, K3
	VPCMPUQ $2, Z31, Z4, K4
	KMOVB K1, AX
	RECORD
	KMOVB K2, AX
	RECORD
	KMOVB K3, AX
	RECORD
	KMOVB K4, AX
	RECORD
	CMPQ R9, CX
	JLE  four
	JMP  next

done:
	MOVQ R8, nextBlock+64(FP)
	MOVQ R9, nextOffset+72(FP)
	MOVQ hits+48(FP), AX
	SUBQ AX, R10
	SHRQ $3, R10
	MOVQ R10, found+80(FP)
	VZEROUPPER
	RET

// DISTANCES(at, p, q): the distances of the 8 fingerprints of 128 bits in Z0
// and Z1 from those at address at, in Zp: of its four dwords in each 16 bytes,
// number 0 is of a fingerprint in Z0, number 1 of one in Z1, and 2 and 3 are
// the same again.
#define DISTANCES(at, p, q) \
	VPXORQ   0+at, Z0, p  \
	VPXORQ   64+at, Z1, q \
	VPOPCNTQ p, p         \
	VPOPCNTQ q, q         \
	VPSLLQ   $32, q, q    \
	VPORQ    p, q, p      \
	VPSHUFD  $0x4e, p, q  \
	VPADDD   p, q, p

// LANES turns the 16 bits of such a comparison in AX into those of 8 lanes.
#define LANES \
	PEXTL R14, AX, BX \
	PEXTL R15, AX, AX \
	SHLL  $4, AX      \
	ORL   BX, AX

// func near128(v *Uint128, reach *uint32, blocks, k, block, offset int, hits *hit, room int) (nextBlock, nextOffset, found int)
TEXT ·near128(SB), NOSPLIT, $0-88
	MOVQ v+0(FP), SI
	MOVQ reach+8(FP), DI
	MOVQ blocks+16(FP), DX
	VPBROADCASTD k+24(FP), Z31
	MOVQ block+32(FP), R8
	MOVQ offset+40(FP), R9
	MOVQ hits+48(FP), R10
	MOVQ room+56(FP), R11
	LEAQ -32(R10)(R11*8), R11

block:
	CMPQ R8, DX
	JGE  done
	MOVL (DI)(R8*4), CX
	CMPQ R9, CX
	JGT  next
	MOVQ R8, R12
	SHLQ $7, R12
	ADDQ SI, R12
	VMOVDQU64 (R12), Z0
	VMOVDQU64 64(R12), Z1
	MOVQ R9, AX
	SHLQ $4, AX
	ADDQ R12, AX

four:
	DISTANCES(0(AX), Z2, Z10)
	DISTANCES(16(AX), Z3, Z11)
	DISTANCES(32(AX), Z4, Z12)
	DISTANCES(48(AX), Z5, Z13)
	VPMINUD Z2, Z3, Z6
	VPMINUD Z4, Z5, Z7
	VPMINUD Z6, Z7, Z6
	VPCMPUD $2, Z31, Z6, K1
	KORTESTW K1, K1
	JNE  hit
	ADDQ $64, AX
	ADDQ $4, R9
	CMPQ R9, CX
	JLE  four

next:
	MOVQ $1, R9
	INCQ R8
	JMP  block

hit:
	CMPQ R10, R11
	JGT  done
	MOVQ R8, R13
	SHLQ $32, R13
	MOVL $0x1111, R14
	MOVL $0x2222, R15
	VPCMPUD $2, Z31, Z2, K1
	VPCMPUD $2, Z31, Z3, K2
	VPCMPUD $2, Z31, Z4, K3
	VPCMPUD $2, Z31, Z5, K4
	KMOVW K1, AX
	LANES
	RECORD
	KMOVW K2, AX
	LANES
	RECORD
	KMOVW K3, AX
	LANES
	RECORD
	KMOVW K4, AX
	LANES
	RECORD
	MOVQ R9, AX
	SHLQ $4, AX
	ADDQ R12, AX
	CMPQ R9, CX
	JLE  four
	JMP  next

done:
	MOVQ R8, nextBlock+64(FP)
	MOVQ R9, nextOffset+72(FP)
	MOVQ hits+48(FP), AX
	SUBQ AX, R10
	SHRQ $3, R10
	MOVQ R10, found+80(FP)
	VZEROUPPER
	RET
