//! One expression over random views, on devices and by the evaluator from the definition, bit for bit.

use super::functions::Functions;
use super::oracle::{At, Bits, evaluate};
use super::random::{Random, part_of};
use crate::common::edge::by_turns;
use windlass::expressions::{Expr, Scalar};
use windlass::tensor::Layout;
use windlass::{Complex, DType, Device, Element, op::AnyBuffer};

/// Bytes of an operand, with its layout.
struct Elements {
    bytes: Vec<u8>,
    dtype: DType,
    layout: Layout,
}

impl Elements {
    fn new(dtype: DType, layout: Layout, mut element: impl FnMut() -> Bits) -> Self {
        let len = layout.reach().map_or(0, |(_, highest)| highest + 1);
        let mut bytes = Vec::new();
        let size = part_of(dtype).size();
        for _ in 0..len {
            let parts = element();
            for word in parts.iter().take(dtype.size() / size) {
                bytes.extend_from_slice(&word.to_le_bytes()[..size]);
            }
        }
        Elements { bytes, dtype, layout }
    }

    fn at(&self, index: usize) -> Bits {
        let (mut rest, mut at) = (index, self.layout.offset() as isize);
        for (n, stride) in self.layout.shape().iter().zip(self.layout.strides()).rev() {
            at += (rest % n) as isize * stride;
            rest /= n;
        }
        let (size, whole) = (part_of(self.dtype).size(), self.dtype.size());
        let mut parts = [0; 2];
        let own = self.bytes[at as usize * whole..][..whole].chunks(size);
        for (word, bytes) in parts.iter_mut().zip(own) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        parts
    }

    /// On the device, behind `shift` elements that do not belong to it.
    fn up(&self, device: &Device, shift: usize) -> AnyBuffer {
        fn up<T: Element>(device: &Device, bytes: &[u8], shift: usize) -> AnyBuffer {
            let mut elements = vec![T::default(); shift + bytes.len() / size_of::<T>()];
            bytemuck::cast_slice_mut(&mut elements[shift..]).copy_from_slice(bytes);
            let mut buffer = by_turns(device, elements);
            buffer = buffer.narrow(shift..).unwrap();
            buffer.into()
        }
        each(self.dtype, |kind| match kind {
            Kind::Bool => up::<windlass::Bool>(device, &self.bytes, shift),
            Kind::I8 => up::<i8>(device, &self.bytes, shift),
            Kind::I16 => up::<i16>(device, &self.bytes, shift),
            Kind::I32 => up::<i32>(device, &self.bytes, shift),
            Kind::I64 => up::<i64>(device, &self.bytes, shift),
            Kind::U8 => up::<u8>(device, &self.bytes, shift),
            Kind::U16 => up::<u16>(device, &self.bytes, shift),
            Kind::U32 => up::<u32>(device, &self.bytes, shift),
            Kind::U64 => up::<u64>(device, &self.bytes, shift),
            Kind::E4 => up::<windlass::F8E4M3>(device, &self.bytes, shift),
            Kind::E5 => up::<windlass::F8E5M2>(device, &self.bytes, shift),
            Kind::F16 => up::<windlass::f16>(device, &self.bytes, shift),
            Kind::Bf16 => up::<windlass::bf16>(device, &self.bytes, shift),
            Kind::F32 => up::<f32>(device, &self.bytes, shift),
            Kind::F64 => up::<f64>(device, &self.bytes, shift),
            Kind::C32 => up::<Complex<f32>>(device, &self.bytes, shift),
            Kind::C64 => up::<Complex<f64>>(device, &self.bytes, shift),
        })
    }

    fn down(&mut self, device: &Device, buffer: AnyBuffer) {
        fn down<T: Element>(device: &Device, buffer: AnyBuffer) -> Vec<u8> {
            let buffer = buffer.downcast::<T>().unwrap();
            bytemuck::cast_slice(&device.download(&buffer).unwrap().await_result().unwrap()).to_vec()
        }
        self.bytes = each(self.dtype, |kind| match kind {
            Kind::Bool => down::<windlass::Bool>(device, buffer),
            Kind::I8 => down::<i8>(device, buffer),
            Kind::I16 => down::<i16>(device, buffer),
            Kind::I32 => down::<i32>(device, buffer),
            Kind::I64 => down::<i64>(device, buffer),
            Kind::U8 => down::<u8>(device, buffer),
            Kind::U16 => down::<u16>(device, buffer),
            Kind::U32 => down::<u32>(device, buffer),
            Kind::U64 => down::<u64>(device, buffer),
            Kind::E4 => down::<windlass::F8E4M3>(device, buffer),
            Kind::E5 => down::<windlass::F8E5M2>(device, buffer),
            Kind::F16 => down::<windlass::f16>(device, buffer),
            Kind::Bf16 => down::<windlass::bf16>(device, buffer),
            Kind::F32 => down::<f32>(device, buffer),
            Kind::F64 => down::<f64>(device, buffer),
            Kind::C32 => down::<Complex<f32>>(device, buffer),
            Kind::C64 => down::<Complex<f64>>(device, buffer),
        });
    }
}

enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    E4,
    E5,
    F16,
    Bf16,
    F32,
    F64,
    C32,
    C64,
}

fn each<R>(dtype: DType, f: impl FnOnce(Kind) -> R) -> R {
    f(match dtype {
        DType::Bool => Kind::Bool,
        DType::I8 => Kind::I8,
        DType::I16 => Kind::I16,
        DType::I32 => Kind::I32,
        DType::I64 => Kind::I64,
        DType::U8 => Kind::U8,
        DType::U16 => Kind::U16,
        DType::U32 => Kind::U32,
        DType::U64 => Kind::U64,
        DType::F8E4M3 => Kind::E4,
        DType::F8E5M2 => Kind::E5,
        DType::F16 => Kind::F16,
        DType::Bf16 => Kind::Bf16,
        DType::F32 => Kind::F32,
        DType::F64 => Kind::F64,
        DType::C32 => Kind::C32,
        DType::C64 => Kind::C64,
        other => panic!("{other}"),
    })
}

/// Compares one expression at all elements of random operands, on all devices.
pub(super) fn compare(
    devices: &[Device],
    functions: &Functions,
    expr: &Expr,
    extents: &[usize],
    random: &mut Random,
    seed: u64,
) {
    let dense = random.below(2) == 0;
    let shift = if random.below(3) == 0 { 1 + random.below(3) } else { 0 };
    let layout = |read: bool, random: &mut Random| {
        if dense { Layout::row_major(extents).unwrap() } else { random.layout(extents, read) }
    };
    let scalars: Vec<Scalar> = expr.parameters().iter().map(|dtype| random.scalar(*dtype)).collect();
    let mut inputs = Vec::new();
    for dtype in expr.inputs() {
        let layout = layout(true, random);
        inputs.push(Elements::new(*dtype, layout, || random.element(*dtype)));
    }
    let len: usize = extents.iter().product();
    let wanted: Vec<Vec<Bits>> = (0..len)
        .map(|index| {
            let elements: Vec<_> = inputs.iter().map(|input| input.at(index)).collect();
            let (mut position, mut rest) = (vec![0; extents.len()], index);
            for (position, n) in position.iter_mut().zip(extents).rev() {
                (*position, rest) = (rest % n, rest / n);
            }
            evaluate(expr, &scalars, &elements, &At { position: &position, extents }, functions)
        })
        .collect();
    let layouts: Vec<Layout> = expr.outputs().iter().map(|_| layout(false, random)).collect();
    const UNWRITTEN: u64 = 0xa5a5_a5a5_a5a5_a5a5;
    for device in devices {
        let mut outputs: Vec<Elements> = expr
            .output_types()
            .zip(&layouts)
            .map(|(dtype, layout)| Elements::new(dtype, layout.clone(), || [UNWRITTEN; 2]))
            .collect();
        let held: Vec<_> = inputs.iter().map(|input| input.up(device, shift)).collect();
        let reads = held.iter().zip(&inputs).map(|(buffer, input)| (buffer.as_in(), input.layout.clone())).collect();
        let writes = outputs.iter().map(|output| (output.up(device, shift), output.layout.clone())).collect();
        let pending =
            device.evaluate(expr, &scalars, reads, writes).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{expr}"));
        let buffers = pending.await_result().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{expr}"));
        for (output, buffer) in outputs.iter_mut().zip(buffers) {
            let before = output.bytes.len();
            output.down(device, buffer);
            assert_eq!(output.bytes.len(), before);
        }
        for (index, want) in wanted.iter().enumerate() {
            let got: Vec<_> = outputs.iter().map(|output| output.at(index)).collect();
            let elements: Vec<_> = inputs.iter().map(|input| input.at(index)).collect();
            assert!(
                want == &got,
                "seed {seed} on {device:?}, element {index} of {extents:?}: {got:x?}, but should be {want:x?}, from \
                 {elements:x?} and {scalars:?} by\n{expr}"
            );
        }
        // Nothing else was written.
        for (output, dtype) in outputs.iter().zip(expr.output_types()) {
            let untouched =
                output.bytes.chunks(dtype.size()).filter(|bytes| bytes.iter().all(|byte| *byte == 0xa5)).count();
            let elements = output.layout.reach().map_or(0, |(_, highest)| highest + 1);
            assert!(untouched + len >= elements, "seed {seed} on {device:?}: elements beside the output were written");
        }
    }
}
