//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Both functions read 16 characters of one to three bytes at a time, each in a
// lane of 32 bits. What a lane's first byte says is looked up by its upper
// four bits: 0 to 7 are ASCII, c and d start two bytes, e three, f four, and 8
// to b continue.

// The byte offsets of a block.
DATA bytes64<>+0(SB)/8, $0x0706050403020100
DATA bytes64<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA bytes64<>+16(SB)/8, $0x1716151413121110
DATA bytes64<>+24(SB)/8, $0x1f1e1d1c1b1a1918
DATA bytes64<>+32(SB)/8, $0x2726252423222120
DATA bytes64<>+40(SB)/8, $0x2f2e2d2c2b2a2928
DATA bytes64<>+48(SB)/8, $0x3736353433323130
DATA bytes64<>+56(SB)/8, $0x3f3e3d3c3b3a3938
GLOBL bytes64<>(SB), RODATA|NOPTR, $64

// The lane's lowest byte, for each of its four.
DATA lowest<>+0(SB)/8, $0x0404040400000000
DATA lowest<>+8(SB)/8, $0x0c0c0c0c08080808
GLOBL lowest<>(SB), RODATA|NOPTR, $16

// The bits of the bytes that make the character.
DATA payload<>+0(SB)/8, $0x003f3f7f003f3f7f
DATA payload<>+8(SB)/8, $0x003f3f7f003f3f7f
DATA payload<>+16(SB)/8, $0x003f3f7f003f3f7f
DATA payload<>+24(SB)/8, $0x003f3f7f003f3f7f
DATA payload<>+32(SB)/8, $0
DATA payload<>+40(SB)/8, $0
DATA payload<>+48(SB)/8, $0x003f3f1f003f3f1f
DATA payload<>+56(SB)/8, $0x00000000003f3f0f
GLOBL payload<>(SB), RODATA|NOPTR, $64

// How far the character stands to the left when three bytes are taken for it.
DATA surplus<>+0(SB)/8, $0x0000000c0000000c
DATA surplus<>+8(SB)/8, $0x0000000c0000000c
DATA surplus<>+16(SB)/8, $0x0000000c0000000c
DATA surplus<>+24(SB)/8, $0x0000000c0000000c
DATA surplus<>+32(SB)/8, $0
DATA surplus<>+40(SB)/8, $0
DATA surplus<>+48(SB)/8, $0x0000000600000006
DATA surplus<>+56(SB)/8, $0
GLOBL surplus<>(SB), RODATA|NOPTR, $64

// The least character of so many bytes.
DATA least<>+0(SB)/8, $0
DATA least<>+8(SB)/8, $0
DATA least<>+16(SB)/8, $0
DATA least<>+24(SB)/8, $0
DATA least<>+32(SB)/8, $0xffffffffffffffff
DATA least<>+40(SB)/8, $0xffffffffffffffff
DATA least<>+48(SB)/8, $0x0000008000000080
DATA least<>+56(SB)/8, $0xffffffff00000800
GLOBL least<>(SB), RODATA|NOPTR, $64

#define BROADCAST(value, to) \
	MOVL value, AX \
	VPBROADCASTD AX, to

// CONSTANTS of CHARACTERS.
#define CONSTANTS \
	VMOVDQU8 bytes64<>(SB), Z31 \
	VBROADCASTI32X4 lowest<>(SB), Z30 \
	BROADCAST($0x03020100, Z29) \
	VMOVDQU32 payload<>(SB), Z28 \
	VMOVDQU32 surplus<>(SB), Z27 \
	BROADCAST($0x00010140, Z26) \
	BROADCAST($0x00010040, Z25)

// CHARACTERS takes a block in Z0 and in K1 and R10 where its characters start.
// It puts their offsets into Z1, the bytes' upper four bits into Z3 (and more
// above them), the first 16 characters into Z2, and into DX where the one after
// them starts.
#define CHARACTERS \
	VPCOMPRESSB.Z Z31, K1, Z1 \
	VPMOVZXBD X1, Z1 \
	VPSHUFB Z30, Z1, Z2 \
	VPADDB Z29, Z2, Z2 \
	VPERMB Z0, Z2, Z2 \
	VPSRLD $4, Z2, Z3 \
	VPERMD Z28, Z3, Z4 \
	VPERMD Z27, Z3, Z5 \
	VPANDD Z4, Z2, Z2 \
	VPMADDUBSW Z26, Z2, Z2 \
	VPMADDWD Z25, Z2, Z2 \
	VPSRLVD Z5, Z2, Z2 \
	MOVL $0x10000, DX \
	PDEPQ R10, DX, DX \
	TZCNTQ DX, DX

// func foldWide(dst, text *byte, size int, forms *form) (read, written int)
TEXT ·foldWide(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ text+8(FP), SI
	MOVQ size+16(FP), CX
	MOVQ forms+24(FP), BX
	CONSTANTS
	VMOVDQU32 least<>(SB), Z24
	BROADCAST($0xc0c0c0c0, Z23)
	BROADCAST($0xe0e0e0e0, Z22)
	BROADCAST($0x10000, Z21)
	BROADCAST($0x80, Z20)
	BROADCAST($0x800, Z19)
	BROADCAST($12, Z18)
	BROADCAST($6, Z17)
	BROADCAST($0x000080c0, Z16)
	BROADCAST($0x008080e0, Z15)
	BROADCAST($0x003f3f7f, Z14)
	MOVQ $0x3820262c1800060c, AX // the bits from 12, 6 and 0 on of each half
	VPBROADCASTQ AX, Z13
	BROADCAST($0x41414141, Z12) // A
	BROADCAST($0x1a1a1a1a, Z11) // 26 letters
	BROADCAST($0x20202020, Z10) // a − A
	VPXORD Z9, Z9, Z9

block:
	CMPQ CX, $64
	JLT  last
	VMOVDQU8 (SI), Z0

next:
	VPCMPUB $5, Z23, Z0, K2 // starts two bytes or more
	VPCMPUB $5, Z22, Z0, K3 // three or more
	VPCMPB $1, Z23, Z0, K4 // continues
	KMOVQ K2, R8
	KMOVQ K3, R9
	KMOVQ K4, R10
	MOVQ R8, AX
	ORQ  R10, AX
	JZ   ascii

lanes:
	// Where what continues, and what ought to, differ, is no UTF-8. R11 counts
	// the characters that end before.
	ADDQ R8, R8
	SHLQ $2, R9
	ORQ  R9, R8
	XORQ R10, R8
	BLSMSKQ R8, R11
	SHRQ $4, R11
	NOTQ R10
	ANDQ R10, R11
	POPCNTQ R11, R11
	KMOVQ R10, K1
	CHARACTERS
	VPERMD Z24, Z3, Z3
	VPCMPUD $1, Z3, Z2, K3 // too small for its bytes, or of four
	KXNORW K2, K2, K2
	VPGATHERDD (BX)(Z2*4), K2, Z4
	VPCMPUD $5, Z21, Z4, K4 // not one of three bytes or less
	KORTESTW K3, K4
	JNZ  some
	CMPQ R11, $16
	JLT  some
	MOVL $64, R12

write:
	// Each form is moved to where one of three bytes has its bits, these are
	// taken to their bytes, and the bytes without any are left out.
	VPCMPUD $5, Z20, Z4, K2
	VPCMPUD $5, Z19, Z4, K3
	VMOVDQA32 Z18, Z5
	VMOVDQA32 Z17, K2, Z5
	VMOVDQA32 Z9, K3, Z5
	VMOVDQA32.Z Z16, K2, Z6
	VMOVDQA32 Z15, K3, Z6
	VPSLLVD Z5, Z4, Z4
	VPMULTISHIFTQB Z4, Z13, Z4
	VPTERNLOGD $0xea, Z6, Z14, Z4 // Z4 & Z14 | Z6
	VPTESTMB Z4, Z4, K1
	KMOVQ K1, AX
	BZHIQ R12, AX, AX
	KMOVQ AX, K1
	VPCOMPRESSB.Z Z4, K1, Z4
	VMOVDQU8 Z4, (DI)
	POPCNTQ AX, AX
	ADDQ AX, DI
	ADDQ DX, SI
	SUBQ DX, CX
	CMPQ R12, $64
	JEQ  block
	JMP  done

some:
	// The lanes before the first that is not to be read.
	KORW K3, K4, K3
	KMOVW K3, AX
	BTSL $16, AX
	TZCNTL AX, AX
	CMPQ AX, R11
	CMOVQGT R11, AX
	TESTQ AX, AX
	JZ   done
	LEAQ (AX*4), R12
	MOVL $1, DX
	SHLXQ AX, DX, DX
	PDEPQ R10, DX, DX
	TZCNTQ DX, DX
	JMP  write

last:
	TESTQ CX, CX
	JZ   done
	MOVQ $-1, AX
	BZHIQ CX, AX, AX
	KMOVQ AX, K1
	VMOVDQU8.Z (SI), K1, Z0
	JMP  next

ascii:
	VPTESTNMB Z0, Z0, K1
	KORTESTQ K1, K1
	JNZ  lanes // NUL, or the end
	VPSUBB Z12, Z0, Z1
	VPCMPUB $1, Z11, Z1, K1
	VPADDB Z10, Z0, K1, Z0
	VMOVDQU8 Z0, (DI)
	ADDQ $64, DI
	ADDQ $64, SI
	SUBQ $64, CX
	JMP  block

done:
	SUBQ text+8(FP), SI
	SUBQ dst+0(FP), DI
	MOVQ SI, read+32(FP)
	MOVQ DI, written+40(FP)
	VZEROUPPER
	RET

// func codeWide(r *codeReader)
TEXT ·codeWide(SB), NOSPLIT, $0-8
	MOVQ r+0(FP), R15
	MOVQ codeReader_text(R15), SI
	MOVQ codeReader_i(R15), DI
	MOVQ codeReader_end(R15), CX
	MOVQ codeReader_cells(R15), BX
	MOVQ codeReader_codes(R15), R8
	MOVQ codeReader_at(R15), R9
	MOVQ codeReader_n(R15), R12
	MOVQ codeReader_others(R15), R11
	MOVQ codeReader_m(R15), R13
	CONSTANTS
	BROADCAST($0xc0c0c0c0, Z23)
	BROADCAST($0xf0f0f0f0, Z22)
	BROADCAST($const_cellOther, Z21)
	BROADCAST($0xffff, Z20)
	MOVWLZX codeReader_separator(R15), AX
	VPBROADCASTD AX, Z19
	MOVWLZX -2(R8)(R12*2), DX
	XORL R10, R10
	CMPL AX, DX
	SETEQ R10
	KMOVW R10, K6 // whether the code before is a separator

block:
	CMPQ R12, codeReader_limit(R15)
	JGE  done
	CMPQ R13, codeReader_limit(R15)
	JGE  done
	MOVQ $-1, AX
	MOVQ CX, R14
	SUBQ DI, R14
	CMPQ R14, $64
	JLT  last
	VMOVDQU8 (SI)(DI*1), Z0
	MOVL $64, R14 // bytes to read

next:
	VPCMPUB $5, Z22, Z0, K3 // starts four bytes
	VPCMPB $1, Z23, Z0, K4 // continues
	KMOVQ K4, R10
	TESTQ R10, R10
	JZ   done // ASCII throughout
	ANDNQ AX, R10, R10
	KORTESTQ K3, K3
	JNZ  four

starts:
	KMOVQ R10, K1
	KXNORW K5, K5, K5 // the lanes
	CHARACTERS
	CMPQ DX, $64
	JEQ  few

lanes:
	KMOVW K5, K2
	VPGATHERDD (BX)(Z2*2), K2, Z4
	VPANDD Z20, Z4, Z4
	VPCMPEQD Z21, Z4, K5, K3 // of another class
	VMOVDQA32 Z19, K3, Z4
	VPCMPEQD Z19, Z4, K5, K4 // separates
	VPBROADCASTD DI, Z5
	VPADDD Z5, Z1, Z1

	// Of successive separators the first stays.
	KSHIFTLW $1, K4, K2
	KORW K6, K2, K2
	KANDW K4, K2, K2
	KANDNW K5, K2, K2
	KSHIFTRW $15, K4, K6
	VPCOMPRESSD.Z Z4, K2, Z4
	VPMOVDW Z4, (R8)(R12*2)
	VPCOMPRESSD.Z Z1, K2, Z5
	VMOVDQU32 Z5, (R9)(R12*4)
	KMOVW K2, AX
	POPCNTL AX, AX
	ADDQ AX, R12

	// Of successive ones of another class the first is noted.
	KSHIFTLW $1, K3, K2
	KANDNW K3, K2, K2
	KMOVW K2, AX
	TESTL AX, AX
	JZ   move
	VPCOMPRESSD.Z Z1, K2, Z5
	VMOVDQU32 Z5, (R11)(R13*4)
	POPCNTL AX, AX
	ADDQ AX, R13

move:
	ADDQ DX, DI
	TESTQ R14, R14
	JNZ  block

done:
	MOVQ DI, codeReader_i(R15)
	MOVQ R12, codeReader_n(R15)
	MOVQ R13, codeReader_m(R15)
	VZEROUPPER
	RET

last:
	TESTQ R14, R14
	JZ   done
	BZHIQ R14, AX, AX
	KMOVQ AX, K1
	VMOVDQU8.Z (SI)(DI*1), K1, Z0
	JMP  next

four:
	KMOVQ K3, R14
	TZCNTQ R14, R14
	BZHIQ R14, R10, R10
	TESTQ R14, R14
	JZ   done
	JMP  starts

few:
	POPCNTQ R10, AX
	MOVL $1, DX
	SHLXQ AX, DX, DX
	DECQ DX
	KMOVW DX, K5
	MOVQ R14, DX
	XORL R14, R14
	JMP  lanes

// func lettersWide(dst *uint32, limit int, text *byte, size int, known *letterBits) (n, read int)
TEXT ·lettersWide(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ limit+8(FP), R9
	MOVQ text+16(FP), SI
	MOVQ size+24(FP), CX
	MOVQ known+32(FP), BX
	CONSTANTS
	BROADCAST($0xc0c0c0c0, Z23)
	BROADCAST($0xc2c2c2c2, Z22)
	BROADCAST($0xe0e0e0e0, Z21)
	BROADCAST($0xf0f0f0f0, Z20)
	BROADCAST($1, Z19)
	BROADCAST($0x30303030, Z18) // 0
	BROADCAST($0x0a0a0a0a, Z17) // 10 digits
	BROADCAST($0x61616161, Z16) // a
	BROADCAST($0x1a1a1a1a, Z15) // 26 letters
	BROADCAST($0x20202020, Z14) // a − A
	XORL R12, R12 // letters written

letters:
	CMPQ R12, R9
	JGT  read
	CMPQ CX, $64
	JLT  end
	VMOVDQU8 (SI), Z0

bytes:
	VPCMPB $1, Z23, Z0, K4 // continues
	VPCMPUB $5, Z23, Z0, K2 // starts two bytes or more
	KMOVQ K4, R10
	KMOVQ K2, R8
	MOVQ R8, AX
	ORQ  R10, AX
	JZ   plain

	// As in foldWide: R11 has the bytes before which all is UTF-8, of three
	// bytes at most.
	VPCMPUB $5, Z21, Z0, K3 // three or more
	VPCMPUB $5, Z20, Z0, K5 // four or more
	VPCMPUB $1, Z22, Z0, K2, K1 // two, where one would do
	KORQ K1, K5, K5
	KMOVQ K3, R11
	KMOVQ K5, DX
	ADDQ R8, R8
	SHLQ $2, R11
	ORQ  R11, R8
	XORQ R10, R8
	BLSMSKQ R8, R11
	SHRQ $3, R11
	BLSMSKQ DX, DX
	SHRQ $1, DX
	ANDQ DX, R11
	NOTQ R10
	ANDQ R10, R11
	POPCNTQ R11, R11 // characters
	KMOVQ R10, K1
	CHARACTERS
	KXNORW K5, K5, K5
	CMPQ R11, $16
	JLT  fewer

keep:
	VPSRLD $5, Z2, Z4
	KMOVW K5, K2
	VPGATHERDD (BX)(Z4*4), K2, Z5
	VPRORVD Z2, Z5, Z5
	VPTESTMD Z19, Z5, K5, K3
	VPADDD Z19, Z2, Z2
	VPCOMPRESSD.Z Z2, K3, Z2
	VMOVDQU32 Z2, (DI)(R12*4)
	KMOVW K3, AX
	POPCNTL AX, AX
	ADDQ AX, R12
	ADDQ DX, SI
	SUBQ DX, CX
	CMPQ R11, $16
	JGE  letters

read:
	SUBQ text+16(FP), SI
	CMPQ SI, size+24(FP)
	CMOVQGT size+24(FP), SI
	MOVQ R12, n+40(FP)
	MOVQ SI, read+48(FP)
	VZEROUPPER
	RET

fewer:
	TESTQ R11, R11
	JZ   read
	MOVL $1, DX
	SHLXQ R11, DX, DX
	LEAQ -1(DX), AX
	KMOVW AX, K5
	PDEPQ R10, DX, DX
	TZCNTQ DX, DX
	JMP  keep

end:
	TESTQ CX, CX
	JLE  read
	MOVQ $-1, AX
	BZHIQ CX, AX, AX
	KMOVQ AX, K1
	VMOVDQU8.Z (SI), K1, Z0
	JMP  bytes

plain:
	VPSUBB Z18, Z0, Z1
	VPCMPUB $1, Z17, Z1, K1
	VPORD Z14, Z0, Z1
	VPSUBB Z16, Z1, Z1
	VPCMPUB $1, Z15, Z1, K2
	KORQ K1, K2, K1
	VPCOMPRESSB.Z Z0, K1, Z0
	VPMOVZXBD X0, Z1
	VPADDD Z19, Z1, Z1
	VMOVDQU32 Z1, (DI)(R12*4)
	VEXTRACTI32X4 $1, Z0, X1
	VPMOVZXBD X1, Z1
	VPADDD Z19, Z1, Z1
	VMOVDQU32 Z1, 64(DI)(R12*4)
	VEXTRACTI32X4 $2, Z0, X1
	VPMOVZXBD X1, Z1
	VPADDD Z19, Z1, Z1
	VMOVDQU32 Z1, 128(DI)(R12*4)
	VEXTRACTI32X4 $3, Z0, X1
	VPMOVZXBD X1, Z1
	VPADDD Z19, Z1, Z1
	VMOVDQU32 Z1, 192(DI)(R12*4)
	KMOVQ K1, AX
	POPCNTQ AX, AX
	ADDQ AX, R12
	ADDQ $64, SI
	SUBQ $64, CX
	JMP  letters

// func hashWide(dst *uint64, letters *uint32, n, size int)
TEXT ·hashWide(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ letters+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ size+24(FP), DX
	MOVQ $const_letterBase, AX
	VPBROADCASTQ AX, Z31
	KXNORB K1, K1, K1

hashes:
	CMPQ CX, $8
	JLT  rest

hash:
	VPMOVZXDQ.Z (SI), K1, Z0
	MOVQ $1, R8

letter:
	CMPQ R8, DX
	JGE  hashed
	VPMOVZXDQ.Z (SI)(R8*4), K1, Z1
	VPMULLQ Z31, Z0, Z0
	VPADDQ Z1, Z0, Z0
	INCQ R8
	JMP  letter

hashed:
	VMOVDQU64 Z0, K1, (DI)
	ADDQ $64, DI
	ADDQ $32, SI
	SUBQ $8, CX
	JMP  hashes

rest:
	TESTQ CX, CX
	JLE  end
	MOVL $-1, AX
	BZHIL CX, AX, AX
	KMOVB AX, K1
	JMP  hash

end:
	VZEROUPPER
	RET
