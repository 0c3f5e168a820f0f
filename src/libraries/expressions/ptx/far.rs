//! The forms of functions for large numbers: functions of the module, which a branch reaches, for they are long and rare.

use super::writer::{Class, Reg, Writer, ptx};
use crate::libraries::expressions::functions::{Function, expand_far};
use crate::libraries::expressions::low::{Lane, Low, LowOp, Uniform};

fn suffix(lane: Lane) -> &'static str {
    if lane == Lane::F64 { "f64" } else { "f32" }
}

/// The third register, or the far form of the second where the first is not 0.
pub(super) fn call(writer: &mut Writer, function: Function, lane: Lane, [is_far, x, near]: [Reg; 3]) -> Reg {
    let (t, class) = (suffix(lane), Class::for_lane(lane));
    let (condition, result, value) = (writer.reg(Class::Predicate), writer.reg(class), writer.reg(class));
    let label = writer.fresh_label();
    ptx!(writer, "setp.ne.u32 {condition}, {is_far}, 0");
    ptx!(writer, "mov.{t} {result}, {near}");
    ptx!(writer, "@!{condition} bra {label}");
    ptx!(writer, "call ({value}), {}_far_{t}, ({x})", function.name());
    ptx!(writer, "mov.{t} {result}, {value}");
    writer.label(&label);
    result
}

/// The function.
pub(super) fn function(function: Function, lane: Lane) -> String {
    let mut low = Low::default();
    let x = low.emit(LowOp::Input(0, 0), lane, []);
    let value = expand_far(function, lane, x, &mut low);
    let (t, mut writer) = (suffix(lane), Writer::default());
    let mut regs: Vec<Reg> = Vec::with_capacity(low.instrs().len());
    for instr in low.instrs() {
        let reg = match instr.op {
            LowOp::Input(..) => {
                let reg = writer.reg(Class::for_lane(lane));
                ptx!(writer, "mov.{t} {reg}, %x");
                reg
            }
            LowOp::Uniform(k) => {
                let bits = match low.uniforms().get(usize::from(k)) {
                    Some((Uniform::Constant(bits), _)) => *bits,
                    _ => 0,
                };
                writer.constant(instr.lane, bits)
            }
            _ => {
                let first = regs.first().copied();
                let arg = |value: u32| regs.get(value as usize).copied().or(first);
                // Operands come before it.
                let [Some(a), Some(b), Some(c)] = instr.args.map(arg) else { continue };
                writer.operation(instr, [a, b, c])
            }
        };
        regs.push(reg);
    }
    if let Some(result) = regs.get(value as usize) {
        ptx!(writer, "mov.{t} %result, {result}");
    }
    ptx!(writer, "ret");
    let name = function.name();
    format!(".func (.reg .{t} %result) {name}_far_{t}(.reg .{t} %x)\n{{\n{}}}\n", writer.finish())
}
