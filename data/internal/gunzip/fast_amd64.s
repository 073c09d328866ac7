//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// REFILL makes 56 to 63 bits in AX. Of BX, how many there are, only the lowest
// byte counts.
#define REFILL \
	MOVQ  (SI), CX \
	SHLXQ BX, CX, CX \
	ORQ   CX, AX \
	MOVL  BX, CX \
	SHRL  $3, CX \
	ANDL  $7, CX \
	ADDQ  $7, SI \
	SUBQ  CX, SI \
	ORL   $56, BX

// LOOK finds the entry of a literal or length, of codes that are not long.
#define LOOK \
	MOVL AX, DX \
	ANDL $const_litMask, DX \
	MOVL (R11)(DX*4), DX

// LITERAL writes the literal, or the two, of the entry.
#define LITERAL \
	MOVL  DX, CX \
	SHRXQ DX, AX, AX \
	SUBL  DX, BX \
	SHRL  $const_valueShift, CX \
	SHRL  $const_countShift, DX \
	MOVW  CX, (DI) \
	ANDL  $3, DX \
	ADDQ  DX, DI

// func unpack(z *Reader)
TEXT ·unpack(SB), NOSPLIT, $16-8
	MOVQ z+0(FP), DX
	MOVQ Reader_src(DX), SI
	MOVQ (Reader_src+8)(DX), R8
	LEAQ -const_spareIn(SI)(R8*1), R8
	ADDQ Reader_pos(DX), SI
	MOVQ Reader_buf(DX), DI
	MOVQ (Reader_buf+8)(DX), R9
	LEAQ -const_spareOut(DI)(R9*1), R9
	MOVQ DI, R10
	ADDQ Reader_began(DX), R10
	ADDQ Reader_w(DX), DI
	MOVQ Reader_bits(DX), AX
	MOVQ Reader_n(DX), BX
	LEAQ Reader_lit(DX), R11
	LEAQ Reader_dist(DX), R12

loop:
	CMPQ SI, R8
	JHI  done
	CMPQ DI, R9
	JCC  done
	REFILL
	LOOK
	TESTL $const_literal, DX
	JEQ  match
	LITERAL
	LOOK
	TESTL $const_literal, DX
	JEQ  later
	LITERAL
	LOOK
	TESTL $const_literal, DX
	JEQ  later
	LITERAL
	LOOK
	TESTL $const_literal, DX
	JEQ  later
	LITERAL
	LOOK
	TESTL $const_literal, DX
	JEQ  later
	LITERAL
	JMP  loop

later:
	REFILL

match:
	MOVQ AX, bits-16(SP)
	MOVQ BX, n-8(SP)
	TESTL $const_exceptional, DX
	JNE  longCode

length:
	BZHIQ DX, AX, CX
	SHRXQ DX, AX, AX
	SUBL  DX, BX
	MOVL  DX, R15
	SHRL  $const_codeShift, R15 // the bits above those of the code are 0
	SHRXQ R15, CX, CX
	SHRL  $const_valueShift, DX
	ADDQ  DX, CX // the length
	MOVL  AX, DX
	ANDL  $const_distMask, DX
	MOVL  (R12)(DX*4), DX
	TESTL $const_exceptional, DX
	JNE   longDistance

distance:
	BZHIQ DX, AX, R15
	SHRXQ DX, AX, AX
	SUBL  DX, BX
	MOVL  DX, R13
	SHRL  $const_codeShift, R13
	SHRXQ R13, R15, R15
	SHRL  $const_valueShift, DX
	ADDQ  DX, R15 // the distance
	MOVQ  DI, R13
	SUBQ  R15, R13
	CMPQ  R13, R10
	JCS   back
	LEAQ  (DI)(CX*1), R14
	CMPQ  R15, $16
	JCS   near

far:
	MOVOU (R13), X0
	MOVOU X0, (DI)
	ADDQ $16, R13
	ADDQ $16, DI
	CMPQ DI, R14
	JCS  far
	MOVQ R14, DI
	JMP  loop

near:
	MOVQ (R13), DX
	CMPQ R15, $8
	JCS  nearer
	MOVQ DX, (DI)
	ADDQ $8, R13
	ADDQ $8, DI
	CMPQ DI, R14
	JCS  near
	MOVQ R14, DI
	JMP  loop

nearer: // of the eight bytes as many are right as the distance says
	MOVQ DX, (DI)
	ADDQ R15, DI
	CMPQ DI, R14
	JCS  nearer
	MOVQ R14, DI
	JMP  loop

longCode:
	MOVL  DX, CX
	SHRL  $const_codeShift, DX
	ANDL  $const_codeMask, DX
	SHRL  $const_valueShift, CX
	JEQ   back
	MOVQ  AX, R15
	SHRQ  $const_litBits, R15
	BZHIQ DX, R15, R15
	ADDQ  R15, CX
	MOVL  (R11)(CX*4), DX
	TESTL $const_exceptional, DX
	JNE   back
	TESTL $const_literal, DX
	JEQ   length
	LITERAL
	JMP   loop

longDistance:
	MOVL  DX, R13
	SHRL  $const_codeShift, DX
	ANDL  $const_codeMask, DX
	SHRL  $const_valueShift, R13
	JEQ   back
	MOVQ  AX, R15
	SHRQ  $const_distBits, R15
	BZHIQ DX, R15, R15
	ADDQ  R15, R13
	MOVL  (R12)(R13*4), DX
	TESTL $const_exceptional, DX
	JEQ   distance

back:
	MOVQ bits-16(SP), AX
	MOVQ n-8(SP), BX

done:
	MOVQ z+0(FP), DX
	ANDL $63, BX
	MOVQ AX, Reader_bits(DX)
	MOVQ BX, Reader_n(DX)
	SUBQ Reader_src(DX), SI
	MOVQ SI, Reader_pos(DX)
	SUBQ Reader_buf(DX), DI
	MOVQ DI, Reader_w(DX)
	RET
