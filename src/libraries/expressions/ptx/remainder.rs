//! The remainder of floating point division, which is exact and has no instruction.
//!
//! Both magnitudes are integers times a power of two; the larger one's integer is shifted up by as many bits as fit and
//! reduced by the smaller one's, until the exponents are equal. The result is scaled back by a product with a power of
//! two, or two of them, which are exact: a remainder is a multiple of the smaller operand's unit.

use crate::libraries::expressions::low::Lane;
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

/// Calls the function for a lane.
pub(super) fn call(writer: &mut Writer, lane: Lane, a: Reg, b: Reg) -> Reg {
    let (t, class, text) =
        if lane == Lane::F64 { ("f64", Class::Double, DOUBLE) } else { ("f32", Class::Single, SINGLE) };
    let result = writer.reg(class);
    ptx!(writer, "call.uni ({result}), rem_{t}, ({a}, {b})");
    writer.function(format!("rem_{t}"), || text.to_owned());
    result
}

/// Single precision is computed in double, where all of its values are normal.
const SINGLE: &str = "\
.func (.reg .f32 %result) rem_f32(.reg .f32 %x, .reg .f32 %y)
{
	.reg .pred %p<6>;
	.reg .b64 %q<10>;
	.reg .b32 %r<10>;
	.reg .f64 %d<8>;
	.reg .f32 %f<4>;
	abs.f32 %f0, %x;
	abs.f32 %f1, %y;
	mov.b32 %f2, 0x7f800000;
	mov.b32 %result, 0x7fffffff;
	setp.geu.f32 %p0, %f0, %f2;
	@%p0 bra DONE;
	setp.equ.f32 %p0, %f1, 0f00000000;
	@%p0 bra DONE;
	mov.f32 %result, %x;
	setp.lt.f32 %p0, %f0, %f1;
	@%p0 bra DONE;
	cvt.f64.f32 %d0, %f0;
	cvt.f64.f32 %d1, %f1;
	mov.b64 %q0, %d0;
	mov.b64 %q1, %d1;
	shr.u64 %q2, %q0, 52;
	shr.u64 %q3, %q1, 52;
	cvt.u32.u64 %r0, %q2;
	cvt.u32.u64 %r1, %q3;
	and.b64 %q0, %q0, 0xfffffffffffff;
	or.b64 %q0, %q0, 0x10000000000000;
	and.b64 %q1, %q1, 0xfffffffffffff;
	or.b64 %q1, %q1, 0x10000000000000;
	shr.u64 %q0, %q0, 29;
	shr.u64 %q1, %q1, 29;
	sub.s32 %r2, %r0, %r1;
	rem.u64 %q0, %q0, %q1;
LOOP:
	setp.le.s32 %p1, %r2, 0;
	@%p1 bra SCALE;
	min.s32 %r3, %r2, 40;
	shl.b64 %q0, %q0, %r3;
	rem.u64 %q0, %q0, %q1;
	sub.s32 %r2, %r2, %r3;
	bra LOOP;
SCALE:
	cvt.rn.f64.u64 %d2, %q0;
	sub.s32 %r4, %r1, 23;
	cvt.u64.u32 %q4, %r4;
	shl.b64 %q4, %q4, 52;
	mov.b64 %d3, %q4;
	mul.rn.f64 %d4, %d2, %d3;
	cvt.rn.f32.f64 %f3, %d4;
	mov.b32 %r5, %f3;
	mov.b32 %r6, %x;
	and.b32 %r6, %r6, 0x80000000;
	or.b32 %r5, %r5, %r6;
	mov.b32 %result, %r5;
DONE:
	ret;
}
";

const DOUBLE: &str = "\
.func (.reg .f64 %result) rem_f64(.reg .f64 %x, .reg .f64 %y)
{
	.reg .pred %p<6>;
	.reg .b64 %q<10>;
	.reg .b32 %r<10>;
	.reg .f64 %d<8>;
	abs.f64 %d0, %x;
	abs.f64 %d1, %y;
	mov.b64 %d2, 0x7ff0000000000000;
	mov.b64 %result, 0x7fffffffffffffff;
	setp.geu.f64 %p0, %d0, %d2;
	@%p0 bra DONE;
	setp.equ.f64 %p0, %d1, 0d0000000000000000;
	@%p0 bra DONE;
	mov.f64 %result, %x;
	setp.lt.f64 %p0, %d0, %d1;
	@%p0 bra DONE;
	mov.b64 %q0, %d0;
	mov.b64 %q1, %d1;
	shr.u64 %q2, %q0, 52;
	shr.u64 %q3, %q1, 52;
	cvt.u32.u64 %r0, %q2;
	cvt.u32.u64 %r1, %q3;
	and.b64 %q0, %q0, 0xfffffffffffff;
	and.b64 %q1, %q1, 0xfffffffffffff;
	setp.eq.u32 %p2, %r0, 0;
	setp.eq.u32 %p3, %r1, 0;
	or.b64 %q4, %q0, 0x10000000000000;
	or.b64 %q5, %q1, 0x10000000000000;
	selp.b64 %q0, %q0, %q4, %p2;
	selp.b64 %q1, %q1, %q5, %p3;
	max.u32 %r0, %r0, 1;
	max.u32 %r1, %r1, 1;
	sub.s32 %r2, %r0, %r1;
	rem.u64 %q0, %q0, %q1;
LOOP:
	setp.le.s32 %p1, %r2, 0;
	@%p1 bra SCALE;
	min.s32 %r3, %r2, 11;
	shl.b64 %q0, %q0, %r3;
	rem.u64 %q0, %q0, %q1;
	sub.s32 %r2, %r2, %r3;
	bra LOOP;
SCALE:
	cvt.rn.f64.u64 %d3, %q0;
	max.s32 %r4, %r1, 53;
	sub.s32 %r4, %r4, 52;
	cvt.u64.u32 %q4, %r4;
	shl.b64 %q4, %q4, 52;
	mov.b64 %d4, %q4;
	mul.rn.f64 %d5, %d3, %d4;
	setp.ge.s32 %p4, %r1, 53;
	@%p4 bra SIGN;
	add.s32 %r5, %r1, 1022;
	cvt.u64.u32 %q6, %r5;
	shl.b64 %q6, %q6, 52;
	mov.b64 %d6, %q6;
	mul.rn.f64 %d5, %d3, %d6;
	mov.b64 %d7, 0x0000000000000001;
	mul.rn.f64 %d5, %d5, %d7;
SIGN:
	mov.b64 %q7, %d5;
	mov.b64 %q8, %x;
	and.b64 %q8, %q8, 0x8000000000000000;
	or.b64 %q7, %q7, %q8;
	mov.b64 %result, %q7;
DONE:
	ret;
}
";
