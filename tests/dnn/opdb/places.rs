//! Rows that take elements at places: tables, grids, other extents.

use super::cases::Case;
use super::node::{Answer, Made, Node, Real};
use windlass::dnn::{Beyond, Coordinates, GridSample, Interpolation, Nearest, Pool, Resize, Sampling};

pub(super) fn of_tables(case: &Case) -> Option<&'static str> {
    if case.setting("max_norm").is_some() {
        return Some("rows of a table that are shortened");
    }
    case.flag("scale_grad_by_freq", false).then_some("gradients of a table by frequency")
}

pub(super) fn embedding<T: Real>(n: &Node<'_>) -> Made {
    let (table, dnn) = (n.typed::<T>("weight"), n.device.dnn());
    let indices = n.cast::<i64>("indices")?;
    let answer = Answer::of(dnn.embedding(&table, &indices)?.await_result()?);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    let rows = table.shape()[0];
    let padding = n.case.setting("padding_idx").and_then(|row| row.as_i64());
    let padding = padding.map(|row| row.rem_euclid(rows as i64) as usize);
    Ok(answer.gradient("weight", dnn.embedding_gradient(&dy, &indices, rows, padding)?.await_result()?))
}

pub(super) fn grid_sample<T: Real>(n: &Node<'_>) -> Made {
    let sampling = match n.case.text("mode", "bilinear") {
        "nearest" => Sampling::Nearest,
        "bicubic" => Sampling::Cubic,
        _ => Sampling::Linear,
    };
    let beyond = match n.case.text("padding_mode", "zeros") {
        "border" => Beyond::Border,
        "reflection" => Beyond::Reflection,
        _ => Beyond::Zeros,
    };
    let spec = GridSample::new(sampling).beyond(beyond).align_corners(n.case.flag("align_corners", false));
    let (x, grid) = (n.typed::<T>("input"), n.typed::<T>("grid"));
    let dnn = n.device.dnn();
    let answer = Answer::of(dnn.grid_sample(&x, &grid, spec)?.await_result()?);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    let dx = dnn.grid_sample_gradient(&dy, &grid, x.shape(), spec)?.await_result()?;
    let of_grid = dnn.grid_sample_grid_gradient(&x, &grid, &dy, spec)?.await_result()?;
    Ok(answer.gradient("input", dx).gradient("grid", of_grid))
}

pub(super) fn resized<T: Real>(n: &Node<'_>) -> Made {
    let (x, to, dnn) = (n.typed::<T>("input"), n.case.outputs[0].shape(), n.device.dnn());
    let standard = if n.case.op == "upsample_bilinear" { "bilinear" } else { "nearest" };
    let mode = n.case.text("mode", standard);
    if mode == "area" {
        let pool = Pool::adaptive(&to[2..]);
        let answer = Answer::of(dnn.average_pool(&x, &pool)?.await_result()?);
        let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
        return Ok(answer.gradient("input", dnn.average_pool_gradient(&dy, x.shape(), &pool)?.await_result()?));
    }
    let (interpolation, usual) = match mode {
        "nearest" => (Interpolation::Nearest(Nearest::Floor), Coordinates::Asymmetric),
        "nearest-exact" => (Interpolation::Nearest(Nearest::RoundPreferCeil), Coordinates::HalfPixel),
        "bicubic" => (Interpolation::Cubic(-0.75), Coordinates::HalfPixel),
        _ => (Interpolation::Linear, Coordinates::HalfPixel),
    };
    let aligned = n.case.flag("align_corners", n.case.op == "upsample_bilinear");
    let coordinates = if aligned { Coordinates::AlignCorners } else { usual };
    let resize = Resize::new(interpolation).coordinates(coordinates).antialias(n.case.flag("antialias", false));
    let mut scales = vec![1.0; x.rank()];
    let own = n.case.setting("scale_factor").filter(|_| !n.case.flag("recompute_scale_factor", false));
    if let Some(given) = own {
        let all = given.as_array().map_or(vec![given.clone(); x.rank() - 2], Vec::clone);
        scales.iter_mut().skip(2).zip(all).for_each(|(scale, given)| *scale = given.as_f64().unwrap());
    }
    // The corners say where the others are.
    let scales = own.filter(|_| !aligned).map(|_| &scales[..]);
    let answer = Answer::of(dnn.resize(&x, to, scales, resize)?.await_result()?);
    let Some(dy) = n.optional::<T>("dy") else { return Ok(answer) };
    Ok(answer.gradient("input", dnn.resize_gradient(&dy, x.shape(), scales, resize)?.await_result()?))
}
