//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// BASE leaves of a node where its children start.
#define BASE(node) \
	SHRQ $16, node \
	ANDL $0xffffff, node

// STEP puts into X2 the cost of the best way on from character DI on, and into
// AX the word it begins with, of one character or of two. X1 is the cost from
// the next character on, X0, which is lost, from the one after that.
#define STEP \
	MOVWLZX (SI)(DI*2), AX \
	MOVQ (R8)(DI*8), BX \
	SHLQ $4, AX \
	MOVWLZX BX, R11 \
	SHRQ $40, BX \
	MOVSD character_cost(R10)(AX*1), X2 \
	MOVQ character_word(R10)(AX*1), AX \
	ADDSD X1, X2 \
	ADDSD (R9)(R11*8), X0 \
	MOVQ AX, R11 \
	SARQ $63, R11 \
	MOVQ R11, X4 \ // all bits if the character separates
	SHLQ $16, BX \
	ORQ  $2, BX \
	UCOMISD X0, X2 \
	CMOVQHI BX, AX \
	MINSD X0, X2

// STORE writes what STEP found, and makes X0 and X1 of the next.
#define STORE \
	ANDNPD X2, X4 \
	MOVSD X4, (R12)(DI*8) \
	MOVQ AX, (R13)(DI*8) \
	MOVAPD X1, X0 \
	MOVAPD X4, X1 \
	DECQ DI

// func solveFast(s *solver)
TEXT ·solveFast(SB), NOSPLIT, $0-8
	MOVQ s+0(FP), DX
	MOVQ solver_codes(DX), SI
	MOVQ solver_checks(DX), R15
	MOVQ solver_nodes(DX), R11
	MOVQ solver_roots(DX), R13
	MOVQ solver_pairs(DX), R8
	MOVQ solver_inner(DX), R10
	MOVQ solver_longer(DX), R14
	MOVQ solver_n(DX), DX
	DECQ DX // the last character

	// What follows waits for memory more than for anything else. So each step is a
	// pass of its own that does not need what it asks for: the next pass does.
	//
	// The slots of all pairs.
	XORL DI, DI
	XORL R9, R9
	XORL R12, R12
	MOVWLZX (SI), AX
	CMPQ DI, DX
	JGE  pairs

check:
	MOVL (R13)(AX*4), BX
	MOVWLZX 2(SI)(DI*2), AX
	ADDQ AX, BX
	MOVL BX, (R8)(DI*8)
	PREFETCHT0 (R15)(BX*2)
	INCQ DI
	CMPQ DI, DX
	JLT  check

	// Slot 0 in place of those that start no word.
	XORL DI, DI

slot:
	MOVL (R8)(DI*8), BX
	MOVWLZX 2(SI)(DI*2), AX
	CMPW AX, (R15)(BX*2)
	CMOVQNE R9, BX
	MOVL BX, (R8)(DI*8)
	PREFETCHT0 (R11)(BX*8)
	INCQ DI
	CMPQ DI, DX
	JLT  slot

	// Their nodes, and which pairs longer words start with.
	XORL DI, DI

pair:
	MOVL (R8)(DI*8), BX
	MOVQ (R11)(BX*8), CX
	MOVQ CX, (R8)(DI*8)
	MOVL DI, (R10)(R12*4)
	BASE(CX)
	NEGL CX
	ADCQ $0, R12
	INCQ DI
	CMPQ DI, DX
	JLT  pair

pairs:
	MOVQ R9, (R8)(DX*8)
	MOVQ s+0(FP), R13
	MOVQ solver_slots(R13), R13

	// Of these the slots with the character after them. No character comes after
	// the last pair, which is the last of them if it is there.
	TESTQ R12, R12
	JEQ  triples
	MOVL -4(R10)(R12*4), DI
	LEAQ 2(DI), AX
	CMPQ AX, DX
	SETGT CX
	MOVBLZX CX, CX
	SUBQ CX, R12
	JEQ  triples
	XORL CX, CX

ahead:
	MOVL (R10)(CX*4), DI
	MOVL 2(R8)(DI*8), BX
	ANDL $0xffffff, BX
	MOVWLZX 4(SI)(DI*2), AX
	ADDQ AX, BX
	MOVL BX, (R13)(CX*4)
	PREFETCHT0 (R15)(BX*2)
	INCQ CX
	CMPQ CX, R12
	JLT  ahead

	// And their nodes, from right to left.
triple:
	MOVL -4(R10)(R12*4), DI
	MOVL -4(R13)(R12*4), BX
	MOVWLZX 4(SI)(DI*2), AX
	XORL CX, CX
	CMPW AX, (R15)(BX*2)
	SETEQ CX
	CMOVQNE R9, BX
	PREFETCHT0 (R11)(BX*8)
	MOVQ DI, longer_at(R14)
	MOVQ BX, longer_slot(R14)
	SHLQ $4, CX
	ADDQ CX, R14
	DECQ R12
	JNE  triple

triples:
	MOVQ $-1, AX
	MOVQ AX, longer_at(R14)

	MOVQ DX, DI
	MOVQ s+0(FP), DX
	MOVQ solver_costs(DX), R9
	MOVQ solver_characters(DX), R10
	MOVQ solver_best(DX), R12
	MOVQ solver_words(DX), R13
	MOVQ solver_longer(DX), R14
	MOVQ solver_n(DX), DX
	XORPS X0, X0
	XORPS X1, X1
	MOVSD X1, (R12)(DX*8)

next:
	MOVQ longer_at(R14), CX
	CMPQ DI, CX
	JEQ  happens

plain:
	STEP
	STORE
	CMPQ DI, CX
	JNE  plain

happens:
	TESTQ DI, DI
	JLT  done
	STEP
	MOVQ s+0(FP), R11
	MOVQ solver_nodes(R11), R11
	MOVQ longer_slot(R14), BX
	MOVQ (R11)(BX*8), BX
	LEAQ 3(DI), CX // where the word ends

word:
	MOVWLZX BX, R11
	MOVSD (R9)(R11*8), X3
	ADDSD (R12)(CX*8), X3
	MOVQ BX, R11
	SHRQ $40, R11
	SHLQ $16, R11
	SUBQ DI, R11
	ADDQ CX, R11
	UCOMISD X3, X2
	CMOVQHI R11, AX
	MINSD X3, X2
	BASE(BX)
	JZ   found
	CMPQ CX, DX
	JGE  found
	MOVWLZX (SI)(CX*2), R11
	ADDQ R11, BX
	CMPW R11, (R15)(BX*2)
	JNE  found
	MOVQ s+0(FP), R11
	MOVQ solver_nodes(R11), R11
	MOVQ (R11)(BX*8), BX
	INCQ CX
	JMP  word

found:
	STORE
	ADDQ $longer__size, R14
	JMP  next

done:
	RET
