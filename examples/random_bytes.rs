//! An endless stream of random bytes on standard output, for batteries of tests:
//!
//! ```text
//! cargo run --release -p windlass --example random_bytes | dieharder -a -g 200
//! cargo run --release -p windlass --example random_bytes -- 42 xorwow | head -c 1000000 > file
//! ```
//!
//! The arguments are the seed (1) and the generator: `philox` (the default), `xorwow`, `mrg32k3a`, `mtgp32`.

use std::error::Error;
use std::io::{ErrorKind, Write};
use windlass::Device;
use windlass::rng::{Generator, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let generator = match arguments.next().as_deref() {
        None | Some("philox") => Generator::Philox,
        Some("xorwow") => Generator::Xorwow,
        Some("mrg32k3a") => Generator::Mrg32k3a,
        Some("mtgp32") => Generator::Mtgp32,
        Some(other) => return Err(format!("the generator `{other}` is unknown").into()),
    };
    let device = Device::from_env()?;
    let mut rng = device.rng_of(Stream::new(generator, seed));
    let mut out = std::io::stdout().lock();
    loop {
        let words = device.to_vec(&rng.bits::<u32>([1 << 20])?)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        match out.write_all(&bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            answer => answer?,
        }
    }
}
