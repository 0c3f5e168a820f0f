//! Undoes a blur: of all pictures whose points are between 0 (dark) and 1 (bright), finds the one that comes closest to the
//! photograph once it is blurred.

use windlass::{Device, Result};

/// Steps of the projected gradient method with Nesterov's momentum.
pub(crate) const STEPS: usize = 1000;
/// Calls to the device in each of them: two products and a formula.
pub(crate) const CALLS: usize = 3 * STEPS;

/// A blurred picture of `height * width` points, row by row, and the blur as two symmetric matrices: that of `height * height`
/// blurs its columns, that of `width * width` its rows. Returns the picture before the blur.
pub(crate) fn sharpen(device: &Device, [column_blur, row_blur]: [&[f64]; 2], photograph: &[f64]) -> Result<Vec<f64>> {
    let (height, width) = (column_blur.len().isqrt(), row_blur.len().isqrt());
    let (column_blur, row_blur) =
        (device.tensor([height, height], column_blur)?, device.tensor([width, width], row_blur)?);
    let photograph = device.tensor([height, width], photograph)?;

    // Each call returns at once, its result is what the next one reads, and nothing waits before the last line.
    let column_twice = device.matmul(&column_blur, &column_blur)?;
    let row_twice = device.matmul(&row_blur, &row_blur)?;
    let blurred = device.matmul(&device.matmul(&column_blur, &photograph)?, &row_blur)?;

    let (mut picture, mut ahead) = (device.zeros([height, width])?, device.zeros([height, width])?);
    for step in 0..STEPS {
        // `twice - blurred` is the gradient of half the squared distance. The step is 1, for no eigenvalue of a blur is above 1.
        let twice = device.matmul(&device.matmul(&column_twice, &ahead)?, &row_twice)?;
        let momentum = step as f64 / (step + 3) as f64;
        let next = device.update((picture, ahead), (&twice, &blurred), |(picture, ahead), (twice, blurred)| {
            let next = (ahead - (twice - blurred)).max(0.0).min(1.0);
            (next, next + (next - picture) * momentum)
        });
        (picture, ahead) = next?.into_output();
    }
    device.to_vec(&picture)
}
