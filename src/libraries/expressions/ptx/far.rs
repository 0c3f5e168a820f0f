//! The forms of functions for large numbers: functions of the module, which a branch reaches, for they are long and rare.

use super::formula::append;
use crate::libraries::expressions::functions::{Function, expand_far};
use crate::libraries::expressions::low::{Lane, Low, LowOp, Uniform};
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

fn suffix(lane: Lane) -> &'static str {
    if lane == Lane::F64 { "f64" } else { "f32" }
}

/// The third register, or the far form of the second where the first is not 0.
pub(super) fn call(writer: &mut Writer, function: Function, lane: Lane, [is_far, x, near]: [Reg; 3]) -> Reg {
    let (t, class) = (suffix(lane), Class::for_lane(lane));
    let (condition, result, value) = (writer.reg(Class::Predicate), writer.reg(class), writer.reg(class));
    let label = writer.fresh_label();
    let name = format!("{}_far_{t}", function.name());
    ptx!(writer, "setp.ne.u32 {condition}, {is_far}, 0");
    ptx!(writer, "mov.{t} {result}, {near}");
    ptx!(writer, "@!{condition} bra {label}");
    ptx!(writer, "call ({value}), {name}, ({x})");
    ptx!(writer, "mov.{t} {result}, {value}");
    writer.label(&label);
    writer.function(name, || text(function, lane));
    result
}

/// The function.
fn text(function: Function, lane: Lane) -> String {
    let mut low = Low::default();
    let x = low.emit(LowOp::Input(0, 0), lane, []);
    let value = expand_far(function, lane, x, &mut low);
    let (t, mut writer) = (suffix(lane), Writer::default());
    let regs = append(&mut writer, &low, &mut |writer, op| match op {
        LowOp::Input(..) => {
            let reg = writer.reg(Class::for_lane(lane));
            ptx!(writer, "mov.{t} {reg}, %x");
            Some(reg)
        }
        LowOp::Uniform(k) => match low.uniforms().get(usize::from(k)) {
            Some((Uniform::Constant(bits), lane)) => Some(writer.constant(*lane, *bits)),
            _ => None,
        },
        _ => None,
    });
    if let Some(result) = regs.get(value as usize) {
        ptx!(writer, "mov.{t} %result, {result}");
    }
    ptx!(writer, "ret");
    let name = function.name();
    format!(".func (.reg .{t} %result) {name}_far_{t}(.reg .{t} %x)\n{{\n{}}}\n", writer.body())
}
