#include "textflag.h"

// func addAVX512(sums *[64]uint32, hashes *uint64, weights *uint32, n int)
// The hash's 16-bit quarters are the masks of four vectors of 16 sums.
TEXT ·addAVX512(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ hashes+8(FP), SI
	MOVQ weights+16(FP), DX
	MOVQ n+24(FP), CX
	VMOVDQU32 (DI), Z0
	VMOVDQU32 64(DI), Z1
	VMOVDQU32 128(DI), Z2
	VMOVDQU32 192(DI), Z3
	TESTQ CX, CX
	JLE  done

loop:
	VPBROADCASTD (DX), Z4
	KMOVW (SI), K1
	KMOVW 2(SI), K2
	KMOVW 4(SI), K3
	KMOVW 6(SI), K4
	VPADDD Z4, Z0, K1, Z0
	VPADDD Z4, Z1, K2, Z1
	VPADDD Z4, Z2, K3, Z2
	VPADDD Z4, Z3, K4, Z3
	ADDQ $8, SI
	ADDQ $4, DX
	DECQ CX
	JNZ  loop

done:
	VMOVDQU32 Z0, (DI)
	VMOVDQU32 Z1, 64(DI)
	VMOVDQU32 Z2, 128(DI)
	VMOVDQU32 Z3, 192(DI)
	VZEROUPPER
	RET
