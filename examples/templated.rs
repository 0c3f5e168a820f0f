//! One template, a kernel for each type: name expressions give the names that its instances have in the image. They run on the CPU
//! as well, but need NVRTC there too.
//!
//! ```text
//! cargo run --release -p windlass --features nvrtc --example templated
//! ```

use windlass::nvrtc::{LaunchConfig, Len, Module, Source, Write};
use windlass::{Device, Element, Error, Result};

const SOURCE: &str = r"
template <class T, int POWER>
__global__ void raise(T* x, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    T base = x[i], power = base;
    for (int k = 1; k < POWER; ++k) power *= base;
    x[i] = power;
}";

/// What `raise` needs of a type: its name in CUDA C++, and a product.
trait Number: Element + std::ops::Mul<Output = Self> {
    const NAME: &str;
}

impl Number for f32 {
    const NAME: &str = "float";
}
impl Number for f64 {
    const NAME: &str = "double";
}
impl Number for i32 {
    const NAME: &str = "int";
}
impl Number for u64 {
    const NAME: &str = "unsigned long long";
}

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    // Every instance that is wanted is asked for, and the program is compiled once.
    let wanted = [f32::NAME, f64::NAME, i32::NAME, u64::NAME].map(|name| [expression(name, 2), expression(name, 5)]);
    let program = wanted.iter().flatten().fold(Source::new(SOURCE).name("raise.cu"), Source::expression);
    let image = match device.nvrtc().compile(&program) {
        Err(Error::LibraryMissing { help, .. }) => {
            println!("nothing to show: a template needs a compiler ({help})");
            return Ok(());
        }
        compiled => compiled?,
    };
    for (asked, lowered) in image.names() {
        println!("{asked:<32} is {lowered}");
    }
    let module = device.nvrtc().load(&image)?;
    raise::<f32, 2>(&module, &device, &[0.5, 1.5, -3.0])?;
    raise::<f64, 5>(&module, &device, &[0.5, 1.5, -3.0])?;
    raise::<i32, 5>(&module, &device, &[2, -3, 10])?;
    raise::<u64, 2>(&module, &device, &[1 << 20, 3_000_000_000])?;
    Ok(())
}

fn expression(name: &str, power: u32) -> String {
    format!("raise<{name}, {power}>")
}

/// Raises on the device and compares with the CPU's own products.
fn raise<T: Number, const POWER: u32>(module: &Module, device: &Device, numbers: &[T]) -> Result<()> {
    let power = |base: T| (1..POWER).fold(base, |power, _| power * base);
    let kernel = module.kernel(&expression(T::NAME, POWER))?;
    // SAFETY: an instance of the template above: these parameters, and nothing past the length.
    let kernel = unsafe { kernel.typed::<(Write<T>, Len)>() }?;
    let x = device.buffer(numbers)?;
    let x = kernel.launch(LaunchConfig::for_elements(numbers.len())?, (x, Len))?.await_result()?;
    let raised = device.to_vec(&x)?;
    assert_eq!(raised, numbers.iter().map(|x| power(*x)).collect::<Vec<_>>());
    println!("{} to the power of {POWER}: {numbers:?} -> {raised:?}", T::NAME);
    Ok(())
}
