//! A scalar of every element type as an argument: `put(T* x, T v)`, by its twin, and compiled where that can be.

use super::here::nvrtc;
use crate::common::{devices, down, is_host};
use windlass::nvrtc::{Image, LaunchConfig, Out, Source};
use windlass::{Complex, Device, Element, F8E4M3, F8E5M2, bf16, f16};

/// Types as wide and as aligned as those of CUDA's own headers, which need not be there.
const SOURCE: &str = "
struct half { unsigned short bits; };
struct brain { unsigned short bits; };
struct e4m3 { unsigned char bits; };
struct e5m2 { unsigned char bits; };
struct alignas(8) c32 { float re, im; };
struct alignas(16) c64 { double re, im; };
template <class T> __global__ void put(T* x, T v) { x[blockIdx.x * blockDim.x + threadIdx.x] = v; }
";

fn put<T: Element + PartialEq>(device: &Device, image: Option<&Image>, name: &str, value: T) {
    let nvrtc = device.nvrtc();
    let module = image.map_or_else(|| nvrtc.twins(), |image| nvrtc.load(image).unwrap());
    let kernel = module.kernel(name).unwrap();
    // SAFETY: the source is above; each thread writes its own element, and there are as many as elements (below).
    let kernel = unsafe { kernel.typed::<(Out<T>, T)>() }.unwrap().twin_fn(|at, (x, v)| x.set(at.x(), v)).unwrap();
    let x = device.uninit::<T>(64).unwrap();
    let x = kernel.launch(LaunchConfig::new(2, 32), (x, value)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &x), [value; 64], "{} on {device:?}", T::DTYPE);
}

macro_rules! all { ($($t:ty as $name:literal = $value:expr),* $(,)?) => {
    const NAMES: &[&str] = &[$(concat!("put<", $name, ">")),*];

    fn put_all(device: &Device, image: Option<&Image>) {
        $(put::<$t>(device, image, concat!("put<", $name, ">"), $value);)*
    }
} }
all! {
    f32 as "float" = -1.5, f64 as "double" = 1e300, f16 as "half" = f16::from_f32(-2.5),
    bf16 as "brain" = bf16::from_f32(3.5), F8E4M3 as "e4m3" = F8E4M3::from_f32(-4.5),
    F8E5M2 as "e5m2" = F8E5M2::from_f32(0.375), Complex<f32> as "c32" = Complex::new(1.5, -2.5),
    Complex<f64> as "c64" = Complex::new(-1e300, 1e-300), i8 as "signed char" = -101, u8 as "unsigned char" = 202,
    i16 as "short" = -30_001, u16 as "unsigned short" = 60_002, i32 as "int" = -2_000_000_003,
    u32 as "unsigned" = 4_000_000_004, i64 as "long long" = i64::MIN + 5, u64 as "unsigned long long" = u64::MAX - 6,
}

#[test]
fn a_scalar_of_every_element_type_reaches_its_kernel() {
    assert_eq!(NAMES.len(), 16);
    for device in devices().iter().filter(|device| is_host(device)) {
        put_all(device, None);
    }
    if !nvrtc() {
        return;
    }
    let program = NAMES.iter().fold(Source::new(SOURCE), |program, name| program.expression(*name));
    for device in devices() {
        // On a host device what the compiler made says whether the arguments fit, and the twin runs.
        put_all(&device, Some(&device.nvrtc().compile(&program).unwrap()));
    }
}
