//! Principal components of a set of images: one singular value decomposition, and the components as a picture.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example pca # 600 images of 32 x 32, into target/pca.png
//! cargo run --release -p windlass-more-examples --example pca -- 2000 out.png
//! WINDLASS_DEVICE=cuda:0 cargo run --release -p windlass-more-examples --example pca
//! ```
//!
//! The images are drawn by the program: faces of a kind, a disc with two eyes and a mouth, whose place, width, brightness and
//! smile vary at random. The mean image and the first components come out as ghostly faces, in the order of how much of the
//! variation each explains. The program checks that the components are orthogonal and that together they explain all of it.

#[path = "../output.rs"]
mod output;
mod picture;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use windlass::solver::{Svd, Vectors};
use windlass::tensor::Layout;
use windlass::{Device, Tensor};

/// Pixels across an image.
const SIZE: usize = 32;
/// Components in the picture, beside the mean.
const SHOWN: usize = 15;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pca: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(600), |text| text.parse())?;
    let file = output::file(arguments.next(), "pca.png")?;
    if count < SHOWN + 1 {
        return Err(format!("{count} images are too few to show {SHOWN} components").into());
    }

    // A column an image, less the mean image.
    let pixels = SIZE * SIZE;
    let mut random = Random(7);
    let mut images: Vec<f32> = (0..count).flat_map(|_| face(&mut random)).collect();
    let mean: Vec<f32> =
        (0..pixels).map(|i| images.iter().skip(i).step_by(pixels).sum::<f32>() / count as f32).collect();
    images.chunks_exact_mut(pixels).for_each(|image| image.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean));
    let variation: f64 = images.iter().map(|x| f64::from(*x).powi(2)).sum();

    let device = Device::from_env()?;
    let start = Instant::now();
    let svd = decomposed(&device, (pixels, count), &images)?;
    let values = device.to_vec(&svd.values)?;
    println!("{} ({}): {pixels} x {count} decomposed in {:.2?}", device.name(), device.info().name, start.elapsed());

    let explained = |k: usize| values.iter().take(k).map(|s| f64::from(*s).powi(2)).sum::<f64>() / variation;
    for k in [1, 2, 4, 8, SHOWN, values.len()] {
        println!("{k:>5} components explain {:.2} % of the variation", 100.0 * explained(k));
    }
    let Some(u) = svd.u else { return Err("the decomposition returned no components".into()) };
    let k = values.len();
    let product = own_product(&device, &u)?;
    let unit = |at: usize| if at % k == at / k { 1.0 } else { 0.0 };
    let worst = product.iter().enumerate().map(|(at, x)| (x - unit(at)).abs()).fold(0.0, f32::max);
    if worst > 1e-3 || (explained(k) - 1.0).abs() > 1e-3 {
        return Err(format!(
            "the components are {worst} from orthogonal and explain {} of the variation",
            explained(k)
        )
        .into());
    }

    let u = device.to_vec(u.transpose())?; // column by column
    let mut shown = vec![&mean[..]];
    shown.extend(u.chunks_exact(pixels).take(SHOWN));
    picture::write(&file, &shown, SIZE, 4, 4)?;
    println!("the mean and {SHOWN} components are in {}", file.display());
    Ok(())
}

fn decomposed(device: &Device, (rows, cols): (usize, usize), images: &[f32]) -> windlass::Result<Svd<f32>> {
    let images = device.buffer(images)?.with_layout(Layout::columns(rows, cols))?;
    Ok(device.solver().svd(Vectors::Thin, images)?.await_result()?)
}

/// `U^T * U`, which is the unit matrix if the columns of U are orthogonal.
fn own_product(device: &Device, u: &Tensor<f32>) -> windlass::Result<Vec<f32>> {
    device.to_vec(&device.matmul(u.transpose(), u)?)
}

/// One face: a disc, two eyes, a mouth.
fn face(random: &mut Random) -> Vec<f32> {
    let mut about = |middle: f32, spread: f32| middle + spread * (2.0 * random.unit() - 1.0);
    let (x, y, width, height) = (about(15.5, 1.5), about(15.5, 1.5), about(10.0, 1.5), about(13.0, 1.0));
    let (bright, light, apart, smile) = (about(0.8, 0.15), about(0.0, 0.3), about(4.0, 0.8), about(0.0, 0.12));
    let soft = |distance: f32| 1.0 / (1.0 + (4.0 * distance).exp());
    let pixel = |at: usize| {
        let (dx, dy) = ((at % SIZE) as f32 - x, (at / SIZE) as f32 - y);
        let disc = soft((dx / width).hypot(dy / height) * 4.0 - 4.0);
        let eye = soft(((dx.abs() - apart).hypot(dy + 3.5) - 1.6) * 1.5);
        let mouth = soft(((dy - 6.0 + smile * dx * dx).abs() - 0.8) * 2.0) * soft(dx.abs() - 4.5);
        disc * (bright + light * dx / width) - 0.6 * (eye + mouth)
    };
    (0..SIZE * SIZE).map(pixel).collect()
}

/// Numbers that are the same everywhere: SplitMix64.
struct Random(u64);

impl Random {
    /// Between 0 and 1.
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    }
}
