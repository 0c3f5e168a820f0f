//! What is printed, compared with NumPy: `shown.txt`, written by `shown.py`.

use crate::common::devices;
use windlass::{Complex, Device, Element, f16};

struct Case {
    dtype: String,
    extents: Vec<usize>,
    elements: Vec<String>,
    text: String,
}

fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = vec![];
    for line in include_str!("shown.txt").lines() {
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
        _ => case.elements.iter().map(|x| parse(x)).collect(),
    };
    device.show(&device.tensor(&case.extents, elements).unwrap()).unwrap().to_string()
}

#[test]
fn tensors_are_printed_as_numpy_prints_arrays() {
    let device = &devices().pop().unwrap();
    let all = cases();
    assert!(all.len() > 90, "{}", all.len());
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
        let x = device.zeros_tensor::<f64>([1000, 1000]).unwrap();
        let before = device.stats().bytes_down;
        device.show(&x).unwrap();
        assert_eq!(device.stats().bytes_down - before, 36 * 8);
    }
}
