//! The kernels under test, each with its twin.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use bytemuck::{Pod, Zeroable};
use windlass::nvrtc::{DevicePtr, Len, Plain, Read, TypedKernel, Write};
use windlass::{Device, Kernel, Module, nvrtc::Image};

pub(crate) const PTX: &str = include_str!("kernels.ptx");
pub(crate) const GLOBALS: &str = include_str!("globals.ptx");

/// `struct Mix` of `kernels.cu`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Mix {
    pub(crate) a: u32,
    pub(crate) b: f32,
    pub(crate) c: [u8; 4],
}

pub(crate) fn module(device: &Device) -> Module {
    device.nvrtc().load(&Image::ptx(PTX).unwrap()).unwrap()
}

/// `dst = a * src + b`.
pub(crate) type Axpb = (Read<f32>, Write<f32>, Len, f32, f32);

pub(crate) fn axpb(device: &Device) -> Kernel {
    let kernel = module(device).kernel("axpb_f32").unwrap();
    kernel
        .twin_fn::<Axpb>(|at, (src, dst, n, a, b)| {
            if at.x() < n {
                dst.set(at.x(), a.mul_add(src.get(at.x()), b));
            }
        })
        .unwrap()
}

/// `data += 1`.
pub(crate) fn add_one(device: &Device) -> TypedKernel<(Write<f32>, Len)> {
    let kernel = module(device).kernel("add_one_f32").unwrap();
    // SAFETY: the kernel's own parameters; it stays below the length.
    let kernel = unsafe { kernel.typed::<(Write<f32>, Len)>() }.unwrap();
    kernel
        .twin_fn(|at, (data, n)| {
            if at.x() < n {
                data.set(at.x(), data.get(at.x()) + 1.0);
            }
        })
        .unwrap()
}

/// Sixteen parameters of eleven types.
pub(crate) type Sixteen = (
    Read<f32>,
    Read<f64>,
    Read<i32>,
    Read<u8>,
    Read<u64>,
    Read<i16>,
    Write<f64>,
    Write<u32>,
    f32,
    f64,
    i8,
    u16,
    i64,
    Plain<Mix>,
    Len,
    DevicePtr,
);

pub(crate) fn sixteen(device: &Device) -> Kernel {
    let kernel = module(device).kernel("sixteen").unwrap();
    let twin =
        kernel.twin_fn::<Sixteen>(|at, (f, d, i4, u1, u8s, i2, sum, index, sf, sd, s1, s2, s8, mix, n, pointer)| {
            let i = at.x();
            if i < n {
                let buffers = f64::from(f.get(i)) + d.get(i) + f64::from(i4.get(i)) + f64::from(u1.get(i));
                let wide = u8s.get(i) as f64 + f64::from(i2.get(i)) + s8 as f64;
                let scalars = f64::from(sf) + sd + f64::from(s1) + f64::from(s2);
                let mixed = f64::from(mix.a) + f64::from(mix.b) + f64::from(mix.c[3]);
                let flag = f64::from(u8::from(pointer.0 != 0));
                sum.set(i, sum.get(i) + buffers + wide + scalars + mixed + flag);
                index.set(i, i as u32);
            }
        });
    twin.unwrap()
}

/// Each element is that of the next thread of its block.
pub(crate) fn turn_blocks(device: &Device) -> Kernel {
    let kernel = module(device).kernel("turn_blocks").unwrap();
    kernel
        .twin_fn::<(Read<f32>, Write<f32>, usize)>(|at, (x, y, n)| {
            let (first, next) = (at.x() - at.thread.x as usize, (at.thread.x + 1) % at.block_dim.x);
            let from = first + next as usize;
            if at.x() < n {
                y.set(at.x(), if from < n { x.get(from) } else { 0.0 });
            }
        })
        .unwrap()
}

/// Every thread says where it is.
pub(crate) fn where_am_i(device: &Device) -> Kernel {
    let kernel = module(device).kernel("where_am_i").unwrap();
    kernel
        .twin_fn::<(Write<u32>,)>(|at, (out,)| {
            let width = (at.grid.x * at.block_dim.x) as usize;
            let height = (at.grid.y * at.block_dim.y) as usize;
            let word = (at.z() << 20) | (at.y() << 10) | at.x();
            out.set((at.z() * height + at.y()) * width + at.x(), word as u32);
        })
        .unwrap()
}
