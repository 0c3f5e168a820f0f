//! What is printed, compared with NumPy: `shown.txt`, written by `shown.py`. `WINDLASS_TEST_SHOWN` names another file of it.

use crate::common::devices;
use windlass::{Bool, Complex, Device, Element, F8E4M3, F8E5M2, bf16, f16};

struct Case {
    dtype: String,
    extents: Vec<usize>,
    elements: Vec<String>,
    text: String,
}

fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = vec![];
    let text = std::env::var("WINDLASS_TEST_SHOWN").map(|file| std::fs::read_to_string(file).unwrap());
    for line in text.unwrap_or_else(|_| include_str!("shown.txt").to_owned()).lines() {
        if let Some(text) = line.strip_prefix('|') {
            let case = all.last_mut().unwrap();
            if !case.text.is_empty() {
                case.text.push('\n');
            }
            case.text.push_str(text);
            continue;
        }
        let (head, elements) = line.split_once(':').unwrap();
        let mut head = head.split_whitespace();
        let dtype = head.next().unwrap().to_owned();
        let extents: Vec<usize> = head.map(|n| n.parse().unwrap()).collect();
        let elements = elements.split_whitespace().map(str::to_owned).collect();
        all.push(Case { dtype, extents, elements, text: String::new() });
    }
    // The empty line between matrices stands for itself, after the first line of a text.
    all
}

fn shown<T: Element>(device: &Device, case: &Case, parse: impl Fn(&str) -> T, nth: impl Fn(usize) -> T) -> String {
    let elements: Vec<T> = match case.elements.first().map(String::as_str) {
        Some("arange") => (0..case.extents.iter().product()).map(nth).collect(),
        Some("cycle") => {
            let few: Vec<T> = case.elements[1..].iter().map(|x| parse(x)).collect();
            few.iter().copied().cycle().take(case.extents.iter().product()).collect()
        }
        _ => case.elements.iter().map(|x| parse(x)).collect(),
    };
    device.show(&device.tensor(&case.extents, elements).unwrap()).unwrap().to_string()
}

#[test]
fn tensors_are_printed_as_numpy_prints_arrays() {
    let device = &devices().pop().unwrap();
    let all = cases();
    assert!(all.len() > 400, "{}", all.len());
    let mut wrong = vec![];
    for case in &all {
        macro_rules! of {
            ($t:ty) => {
                shown(device, case, |x| x.parse::<$t>().unwrap(), |i| i as $t)
            };
        }
        let eighth = |i: usize| i as f64 / 8.0;
        let complex = |x: &str| {
            let (re, im) = x.split_once(',').unwrap();
            Complex::new(re.parse::<f64>().unwrap(), im.parse().unwrap())
        };
        let text = match &*case.dtype {
            "f64" => shown(device, case, |x| x.parse::<f64>().unwrap(), eighth),
            "f32" => of!(f32),
            "f16" => shown(device, case, |x| f16::from_f64(x.parse().unwrap()), |i| f16::from_f64(i as f64)),
            "bool" => shown(device, case, |x| Bool::from(x == "1"), |i| Bool::from(i > 0)),
            "i8" => of!(i8),
            "u8" => of!(u8),
            "i16" => of!(i16),
            "u16" => of!(u16),
            "i32" => of!(i32),
            "u32" => of!(u32),
            "i64" => of!(i64),
            "u64" => of!(u64),
            "c64" => shown(device, case, complex, |i| Complex::from(i as f64)),
            "c32" => {
                let single = |x: Complex<f64>| Complex::new(x.re as f32, x.im as f32);
                shown(device, case, |x| single(complex(x)), |i| Complex::from(i as f32))
            }
            other => panic!("{other}"),
        };
        if text != case.text {
            wrong.push(format!(
                "{} {:?}: {:?}\nwindlass: {text}\nNumPy:    {}",
                case.dtype, case.extents, case.elements, case.text
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n\n"));
}

#[test]
fn only_the_edges_of_a_long_tensor_are_copied_to_the_host() {
    for device in devices() {
        let x = device.zeros::<f64>([1000, 1000]).unwrap();
        let before = device.stats().bytes_down;
        device.show(&x).unwrap();
        assert_eq!(device.stats().bytes_down - before, 36 * 8);
    }
}

#[test]
fn types_that_numpy_does_not_have_are_printed_with_as_few_digits_as_tell_them_apart() {
    let device = &devices().pop().unwrap();
    let text = |x: windlass::Result<windlass::Tensor<bf16>>| device.show(&x.unwrap()).unwrap().to_string();
    let halves = [0.1f32, 3.140625, -200.0, 1.0].map(bf16::from_f32);
    assert_eq!(text(device.tensor([4], halves)), "[ 1.00e-01  3.14e+00 -2.00e+02  1.00e+00]");
    assert_eq!(text(device.tensor([2], [0.1f32, 0.75].map(bf16::from_f32))), "[0.1  0.75]");
    let eight = device.tensor([3], [448.0f32, 0.5, -1.75].map(F8E4M3::from_f32)).unwrap();
    assert_eq!(device.show(&eight).unwrap().to_string(), "[450.    0.5  -1.8]");
    let eight = device.tensor([2], [F8E5M2::from_bits(0xfc), F8E5M2::from_f32(2.0)]).unwrap();
    assert_eq!(device.show(&eight).unwrap().to_string(), "[-inf   2.]");
}
