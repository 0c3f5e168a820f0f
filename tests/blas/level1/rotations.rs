//! The making of rotations: by what they do, since the signs are a convention.

use crate::common::{Rng, Sample, assert_near, devices, down, is_host, magnitude, refused, seeds, up};
use windlass::blas::{BlasElement, RealElement};
use windlass::reference;
use windlass::{Complex, Device};

fn rotg<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device, a: T, b: T) {
    let blas = device.blas();
    let what = format!("({a:?}, {b:?}) on {device:?}");
    let (c, s) = (up(device, [R::real(9.0)]), up(device, [T::real(9.0)]));
    let made = blas.rotg(up(device, [a]), up(device, [b]), c, s).unwrap().await_result().unwrap();
    let (r, z, c, s) =
        (down(device, &made.0)[0], down(device, &made.1)[0], down(device, &made.2)[0], down(device, &made.3)[0]);
    let (mut x, mut y) = ([a], [b]);
    reference::rot(1, &mut x, 1, &mut y, 1, c, s);
    let bound = 16.0 * T::UNIT * (magnitude(a) + magnitude(b)) + T::TINY;
    assert_near(x[0], r, bound, &format!("r of {what}"));
    assert_near(y[0], T::default(), bound, &format!("what is left of {what}"));
    let square: f64 = s.parts().iter().chain(&c.parts()).map(|x| x * x).sum();
    assert!((square - 1.0).abs() <= 16.0 * T::UNIT, "c^2 + |s|^2 is {square} for {what}");
    if T::COMPLEX {
        assert!(c.parts()[0] >= 0.0, "c is not negative for {what}");
        return;
    }
    let [a, b, r, z, c, s] = [a, b, r, z, T::real(c.parts()[0]), s].map(|x| x.parts()[0]);
    if a != 0.0 || b != 0.0 {
        assert_eq!(r < 0.0, if a.abs() > b.abs() { a < 0.0 } else { b < 0.0 }, "the sign of r for {what}");
    }
    // What z stands for.
    let (from_c, from_s) = match z {
        1.0 => (0.0, 1.0),
        z if z.abs() < 1.0 => ((1.0 - z * z).sqrt(), z),
        z => (1.0 / z, (1.0 - 1.0 / (z * z)).sqrt()),
    };
    // Where |a| = |b|, z = 1 / c is the root of two and all of it is well determined; near |z| = 1 a root loses half.
    let near = (2.0 * T::UNIT).sqrt() * 4.0;
    assert!((from_c - c).abs() <= near && (from_s - s).abs() <= near, "({c}, {s}) of z = {z} for {what}");
}

#[test]
fn a_rotation_takes_its_pair_to_the_first_axis() {
    fn all<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device, rng: &mut Rng) {
        for (a, b) in
            [(3.0, 4.0), (-3.0, 4.0), (4.0, -3.0), (-4.0, 3.0), (1.0, 0.0), (0.0, 2.0), (1.0, 1.0), (1e-3, 1e3)]
        {
            rotg::<T, R>(device, T::real(a), T::real(b));
        }
        for _ in 0..8 {
            rotg::<T, R>(device, T::sample(rng), T::sample(rng));
        }
    }
    for device in devices() {
        seeds(1, |rng, _| {
            all::<f32, f32>(&device, rng);
            all::<f64, f64>(&device, rng);
            all::<Complex<f32>, f32>(&device, rng);
            all::<Complex<f64>, f64>(&device, rng);
        });
    }
}

/// `z` where both are zero is a matter of the library; the rotation is none.
#[test]
fn the_rotation_of_nothing_changes_nothing() {
    for device in devices().into_iter().filter(is_host) {
        let of = |x: f64| up(&device, [x]);
        let made = device.blas().rotg(of(0.0), of(0.0), of(9.0), of(9.0)).unwrap().await_result().unwrap();
        let all = [down(&device, &made.0), down(&device, &made.1), down(&device, &made.2), down(&device, &made.3)];
        assert_eq!(all.concat(), [0.0, 0.0, 1.0, 0.0]);
    }
}

fn rotmg<T: Sample + RealElement>(device: &Device, d1: f64, d2: f64, x1: f64, y1: f64) {
    let of = |x: f64| up(device, [T::real(x)]);
    let param = up(device, [T::real(9.0); 5]);
    let made = device.blas().rotmg(of(d1), of(d2), of(x1), &of(y1), param).unwrap().await_result().unwrap();
    let one = |number: &windlass::Tensor<T>| down(device, number)[0].parts()[0];
    let (e1, e2, x2) = (one(&made.0), one(&made.1), one(&made.2));
    let p: Vec<f64> = down(device, &made.3).iter().map(|p| p.parts()[0]).collect();
    let what = format!("({d1}, {d2}, {x1}, {y1}) of {}: {e1}, {e2}, {x2}, {p:?} on {device:?}", T::DTYPE);
    let h = match p[0] {
        -1.0 => [[p[1], p[3]], [p[2], p[4]]],
        0.0 => [[1.0, p[3]], [p[2], 1.0]],
        1.0 => [[p[1], 1.0], [-1.0, p[4]]],
        -2.0 => [[1.0, 0.0], [0.0, 1.0]],
        flag => panic!("{flag} is no flag: {what}"),
    };
    // Relative to T as it holds the input.
    let [d1, d2, x1, y1] = [d1, d2, x1, y1].map(|x| T::real(x).parts()[0]);
    let bound = 64.0 * T::UNIT;
    let (first, second) = (h[0][0] * x1 + h[0][1] * y1, h[1][0] * x1 + h[1][1] * y1);
    assert!((first - x2).abs() <= bound * (h[0][0] * x1).abs().max((h[0][1] * y1).abs()), "the first part: {what}");
    let sizes = (h[1][0] * x1).abs().max((h[1][1] * y1).abs());
    let zero = d2 == 0.0 || y1 == 0.0 || second.abs() <= bound * sizes;
    assert!(zero, "the second part is {second}: {what}");
    let (was, is) = (d1 * x1 * x1 + d2 * y1 * y1, e1 * x2 * x2);
    assert!(p[0] == -2.0 || (was - is).abs() <= bound * was.abs(), "{was} became {is}: {what}");
    assert!(
        p[0] == -2.0 || e1 == 0.0 || (2.0f64.powi(-24)..=2.0f64.powi(24)).contains(&e1.abs()),
        "the scale of d1: {what}"
    );
}

#[test]
fn a_modified_rotation_takes_its_pair_to_the_first_axis() {
    fn all<T: Sample + RealElement>(device: &Device) {
        for (d1, d2, x1, y1) in [
            (1.0, 1.0, 2.0, 1.0),
            (1.0, 1.0, 1.0, 2.0),
            (0.5, 3.0, -1.0, 0.25),
            (2.0, 0.5, 1.0, -5.0),
            (1.0, 1.0, 2.0, 0.0),
            (1e9, 1.0, 2.0, 1.0),
            (1e-9, 1e-9, 1.0, 3.0),
            (1.0, 1e-10, 3.0, 2.0),
        ] {
            rotmg::<T>(device, d1, d2, x1, y1);
        }
    }
    for device in devices() {
        all::<f32>(&device);
        all::<f64>(&device);
    }
}

#[test]
fn rotations_of_empty_buffers_are_refused_and_all_come_back() {
    for device in devices() {
        let (of, none) = (|| up(&device, [1.0f64]), || up(&device, Vec::<f64>::new()));
        let rejected = device.blas().rotg(of(), none(), of(), of()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "b");
        assert!(rejected.back.is_some());
        let y1 = none();
        let rejected = device.blas().rotmg(of(), of(), of(), &y1, of()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "y1");
        let y1 = of();
        let rejected = device.blas().rotmg(of(), of(), of(), &y1, up(&device, [0.0; 4])).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "param");
        assert!(rejected.back.is_some_and(|(_, _, _, param)| param.len() == 4));
    }
}

/// What `c` and `s` held is not used, so they may be new; where they are the beginning of something, that is kept.
#[test]
fn a_rotation_is_made_into_new_buffers() {
    fn all<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device) {
        let (a, b) = (up(device, [T::real(3.0)]), up(device, [T::real(4.0)]));
        let (c, s) = (device.uninit::<R>(1).unwrap(), device.uninit::<T>(1).unwrap());
        let (r, _, c, s) = device.blas().rotg(a, b, c, s).unwrap().await_result().unwrap();
        let real = |x: f64| R::real(x).parts()[0];
        assert!((down(device, &r)[0].parts()[0].abs() - 5.0).abs() < 64.0 * T::UNIT);
        assert!((down(device, &c)[0].parts()[0].abs() - real(0.6)).abs() < 16.0 * T::UNIT);
        assert!((down(device, &s)[0].parts()[0].abs() - real(0.8)).abs() < 16.0 * T::UNIT);
        let of = |x: f64| up(device, [T::real(x)]);
        for (c, s, operand) in [(2, 1, "c"), (1, 2, "s")] {
            let (c, s) = (device.uninit::<R>(c).unwrap(), device.uninit::<T>(s).unwrap());
            let rejected = device.blas().rotg(of(3.0), of(4.0), c, s).unwrap_err();
            assert_eq!(refused(&rejected.error).0, operand, "an element that is not written stays without contents");
        }
        let (c, s) = (device.uninit::<R>(1).unwrap(), device.uninit::<T>(1).unwrap());
        let rejected = device.blas().rotg(of(3.0), device.uninit(1).unwrap(), c, s).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "b", "b is read");
    }
    for device in devices() {
        all::<f32, f32>(&device);
        all::<f64, f64>(&device);
        all::<Complex<f32>, f32>(&device);
        all::<Complex<f64>, f64>(&device);
    }
}

/// Where hardly a digit is left of the numbers, or their squares are past the end, `c` and `s` have all of theirs.
#[test]
fn a_rotation_of_tiny_or_huge_numbers_is_one() {
    fn check<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device, a: T, b: T) {
        let of = |x: T| up(device, [x]);
        let c = up(device, [R::real(9.0)]);
        let made = device.blas().rotg(of(a), of(b), c, of(T::real(9.0))).unwrap().await_result().unwrap();
        let (r, c, s) = (down(device, &made.0)[0], down(device, &made.2)[0], down(device, &made.3)[0]);
        let what = format!("({a:?}, {b:?}): r {r:?}, c {c:?}, s {s:?}");
        let square: f64 = s.parts().iter().chain(&c.parts()).map(|x| x * x).sum();
        assert!((square - 1.0).abs() <= 16.0 * T::UNIT, "c^2 + |s|^2 is {square} of {what}");
        // A power of two changes neither.
        let scale = 2f64.powi(if magnitude(a).max(magnitude(b)) < 1.0 { 90 } else { -90 });
        let [x, y] = [a, b].map(|z| z.parts().iter().map(|part| part * scale).collect::<Vec<_>>());
        let norm = x.iter().chain(&y).fold(0.0f64, |norm, part| norm.hypot(*part));
        let size = x.iter().fold(0.0f64, |norm, part| norm.hypot(*part));
        assert!((c.parts()[0].abs() - size / norm).abs() <= 16.0 * T::UNIT, "c is not {} of {what}", size / norm);
    }
    for device in devices().into_iter().filter(is_host) {
        for (a, b) in [(5.4e-323, 1e-323), (-1e-323, 5.4e-323), (5e-324, 5e-324), (1.5e308, -1.7e308), (1e-310, 0.0)] {
            check::<f64, f64>(&device, a, b);
            check::<Complex<f64>, f64>(&device, Complex::new(a, b), Complex::new(b, a));
            check::<Complex<f64>, f64>(&device, Complex::new(a, 0.0), Complex::new(0.0, b));
        }
        for (a, b) in [(1.5e-44f32, 3e-45), (-3e-45, 1.5e-44), (1e-45, 1e-45), (3e38, -3.3e38), (1e-40, 0.0)] {
            check::<f32, f32>(&device, a, b);
            check::<Complex<f32>, f32>(&device, Complex::new(a, b), Complex::new(b, a));
        }
    }
}

/// What has no weight makes no infinity of what has.
#[test]
fn a_modified_rotation_of_what_has_no_weight_is_finite() {
    fn check<T: Sample + RealElement>(device: &Device, d1: f64, d2: f64, x1: f64, y1: f64) {
        let of = |x: f64| up(device, [T::real(x)]);
        let y = of(y1);
        let param = up(device, [T::real(9.0); 5]);
        let made = device.blas().rotmg(of(d1), of(d2), of(x1), &y, param).unwrap().await_result().unwrap();
        let all = [down(device, &made.0), down(device, &made.1), down(device, &made.2), down(device, &made.3)].concat();
        let all: Vec<f64> = all.iter().map(|x| x.parts()[0]).collect();
        assert!(all.iter().all(|x| x.is_finite()), "{all:?} of ({d1}, {d2}, {x1}, {y1})");
        let [d1, d2, x1, y1] = [d1, d2, x1, y1].map(|x| T::real(x).parts()[0]);
        let (was, is) = (d1 * x1 * x1 + d2 * y1 * y1, all[0] * all[2] * all[2]);
        assert!((was - is).abs() <= 64.0 * T::UNIT * was, "{was} became {is}");
    }
    for device in devices().into_iter().filter(is_host) {
        check::<f32>(&device, 0.0, 4.8e-11, -7.8e17, -2.3e-22);
        check::<f32>(&device, 1e-30, 1.0, 1e-10, 1e-8);
        check::<f64>(&device, 0.0, 4.8e-11, -7.8e200, -2.3e-122);
    }
}
