//! Formulas, reductions and moves on the CPU, as another program asks: `arrays.py` has NumPy and this one work in turn, row by row.
//!
//! It prints the names of its rows and an empty line. Each line of the standard input, the name of a row, is then answered by the
//! milliseconds of the fastest of some calls. The first operand has 16 MiB, and results go to memory that is there.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};
use windlass::arrays::SearchSide;
use windlass::expressions::{Formula, Symbol};
use windlass::reductions::All;
use windlass::tensor::TensorRef;
use windlass::{Bool, Device, Element, Tensor, f16};

const BYTES: usize = 16 << 20;
const COLUMNS: usize = 1024;
/// For how long a row runs when it is asked for.
const LONG: Duration = Duration::from_millis(60);

type Call = Box<dyn FnMut()>;
type Rows = Vec<(String, Call)>;
type View<T> = TensorRef<'static, T>;

/// Numbers from 0.1 to 1.1, in rows of 1024.
fn array<T: Element>(device: &Device, of: impl Fn(f64) -> T) -> View<T> {
    let len = BYTES / size_of::<T>();
    let numbers: Vec<T> = (0..len).map(|k| of((k * 7919 % 100_003) as f64 / 100_003.0 + 0.1)).collect();
    device.tensor([len / COLUMNS, COLUMNS], numbers).unwrap().share()
}

/// A call that writes the same tensor again and again.
fn again<T: Element>(out: Tensor<T>, mut next: impl FnMut(Tensor<T>) -> Tensor<T> + 'static) -> Call {
    let mut out = Some(out);
    Box::new(move || out = out.take().map(&mut next))
}

/// A formula of one input.
fn one<T: Element, R: Element>(device: &Device, x: &View<T>, f: impl FnOnce(Symbol<T>) -> Symbol<R>) -> Call {
    let (formula, device, x) = (Formula::new(f).unwrap(), device.clone(), x.clone());
    let out = device.zeros::<R>(x.shape()).unwrap();
    again(out, move |out| device.apply_into(&formula, &x, out).unwrap().await_result().unwrap())
}

fn of_floats<T: Element>(rows: &mut Rows, device: &Device, x: &View<T>, text: &str) {
    let formula = Formula::new(|(a, b, c): (Symbol<T>, Symbol<T>, Symbol<T>)| a * b + c).unwrap();
    let copy = || device.contiguous(x).unwrap().await_result().unwrap().share();
    let (a, b, c, own) = (x.clone(), copy(), copy(), device.clone());
    let out = device.zeros::<T>(x.shape()).unwrap();
    let product = again(out, move |out| own.apply_into(&formula, (&a, &b, &c), out).unwrap().await_result().unwrap());
    rows.push((format!("a * b + c, {text}"), product));
    rows.push((format!("exp, {text}"), one(device, x, Symbol::exp)));
    rows.push((format!("log, {text}"), one(device, x, Symbol::log)));
    rows.push((format!("sin, {text}"), one(device, x, Symbol::sin)));
    rows.push((format!("tanh, {text}"), one(device, x, Symbol::tanh)));
    rows.push((format!("transposed copy, {text}"), turned(device, x)));
}

/// A transposed copy.
fn turned<T: Element>(device: &Device, x: &View<T>) -> Call {
    let (view, own) = (x.transpose(), device.clone());
    let out = device.zeros::<T>(view.shape()).unwrap();
    again(out, move |out| own.assign(out, &view).unwrap().await_result().unwrap())
}

macro_rules! reductions { ($rows:ident, $device:ident, $x:ident, $text:literal, $($name:ident),*) => { $(
    for (along, axis) in [("inner", 1), ("outer", 0)] {
        let (device, x) = ($device.clone(), $x.clone());
        let call = move || drop(device.$name(&x, axis).unwrap().await_result().unwrap());
        $rows.push((format!("{} along the {along} axis, {}", stringify!($name), $text), Box::new(call)));
    }
)* } }

macro_rules! whole { ($rows:ident, $device:ident, $x:ident, $text:literal, $($name:ident),*) => { $(
    let (device, x) = ($device.clone(), $x.clone());
    let call = move || drop(device.$name(&x, All).unwrap().await_result().unwrap());
    $rows.push((format!("{} of all, {}", stringify!($name), $text), Box::new(call)));
)* } }

macro_rules! spread {
    ($rows:ident, $device:ident, $x:ident, $text:literal) => {
        for (along, axes) in
            [("along the inner axis", vec![1]), ("along the outer axis", vec![0]), ("of all", vec![0, 1])]
        {
            let (device, x) = ($device.clone(), $x.clone());
            let call = move || drop(device.var(&x, axes.clone(), 0).unwrap().await_result().unwrap());
            $rows.push((format!("var {along}, {}", $text), Box::new(call)));
        }
    };
}

/// Numbers below one million, in no order: `arrays.py` makes the same.
fn mixed(len: usize) -> impl Iterator<Item = u32> {
    (0..len as u64).map(|k| (k * 7_368_787 % 15_485_863 % 1_000_000) as u32)
}

/// What is counted, chosen and searched.
fn chosen(rows: &mut Rows, device: &Device) {
    const MILLION: usize = 1_000_000;
    let mut row = |name: &str, call: Call| rows.push((name.to_owned(), call));
    let share = |x: Tensor<f64>| x.share();
    let numbers =
        device.tensor([4 * MILLION], mixed(4 * MILLION).map(|x| x as i32 % 1000).collect::<Vec<_>>()).unwrap();
    let own = device.clone();
    row(
        "bincount of 4e6, 1000 bins",
        Box::new(move || drop(own.bincount(&numbers, 1000).unwrap().await_result().unwrap())),
    );
    let x = share(device.tensor([MILLION], mixed(MILLION).map(f64::from).collect::<Vec<_>>()).unwrap());
    let (own, view) = (device.clone(), x.clone());
    let call = move || drop(own.histogram(&view, 100, None).unwrap().0.await_result().unwrap());
    row("histogram of 1e6, 100 bins", Box::new(call));
    let truth =
        device.tensor([MILLION], mixed(MILLION).map(|x| Bool((x % 2) as u8)).collect::<Vec<_>>()).unwrap().share();
    let (own, view) = (device.clone(), truth.clone());
    row("nonzero of 1e6", Box::new(move || drop(own.nonzero(&view).unwrap().await_result().unwrap())));
    let plane = truth.reshape([1000, 1000]).unwrap();
    let own = device.clone();
    row("nonzero of 1000 x 1000", Box::new(move || drop(own.nonzero(&plane).unwrap().await_result().unwrap())));
    let (own, view) = (device.clone(), x.clone());
    row(
        "masked_select of 1e6",
        Box::new(move || drop(own.masked_select(&view, &truth).unwrap().await_result().unwrap())),
    );
    let sorted = device.sort(&x, 0).unwrap().await_result().unwrap();
    let own = device.clone();
    let call = move || drop(own.searchsorted(&sorted, &x, SearchSide::Left).unwrap().await_result().unwrap());
    row("searchsorted of 1e6 in 1e6", Box::new(call));
    let lines = device.tensor([256, 32_000], mixed(256 * 32_000).map(|x| x as f32).collect::<Vec<_>>()).unwrap();
    let own = device.clone();
    row("top 50 of 256 x 32000", Box::new(move || drop(own.top_k(&lines, 50, 1).unwrap().await_result().unwrap())));
}

fn rows(device: &Device) -> Rows {
    let mut rows = Rows::new();
    let (x, y) = (array(device, |x| x as f32), array(device, |x| x));
    let whole = array(device, |x| (x * 1e6) as i32);
    of_floats(&mut rows, device, &x, "f32");
    of_floats(&mut rows, device, &y, "f64");
    rows.push(("transposed copy, f16".to_owned(), turned(device, &array(device, f16::from_f64))));
    rows.push(("cast f32 to f16".to_owned(), one(device, &x, Symbol::cast::<f16>)));
    rows.push(("cast f64 to f16".to_owned(), one(device, &y, Symbol::cast::<f16>)));
    rows.push(("cast f64 to f32".to_owned(), one(device, &y, Symbol::cast::<f32>)));
    rows.push(("cast i32 to f32".to_owned(), one(device, &whole, Symbol::cast::<f32>)));
    reductions!(rows, device, x, "f32", sum, max, mean, argmax);
    reductions!(rows, device, y, "f64", sum, max, mean, argmax);
    whole!(rows, device, x, "f32", sum, max, argmax);
    whole!(rows, device, y, "f64", sum, max, argmax);
    spread!(rows, device, x, "f32");
    spread!(rows, device, y, "f64");
    for (axis, name) in [(1, "inner"), (0, "outer")] {
        let (device, x) = (device.clone(), x.clone());
        let call = move || drop(device.cumsum(&x, axis).unwrap().await_result().unwrap());
        rows.push((format!("cumsum along the {name} axis, f32"), Box::new(call)));
    }
    let (own, view) = (device.clone(), x.clone());
    rows.push((
        "softmax, f32".to_owned(),
        Box::new(move || drop(own.softmax(&view, 1).unwrap().await_result().unwrap())),
    ));
    chosen(&mut rows, device);
    rows
}

fn main() {
    let device = Device::host().unwrap();
    let mut rows = rows(&device);
    rows.iter().for_each(|(name, _)| println!("{name}"));
    println!();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (_, call) = rows.iter_mut().find(|(name, _)| *name == line).unwrap();
        let (begin, mut best) = (Instant::now(), Duration::MAX);
        while begin.elapsed() < LONG {
            let start = Instant::now();
            call();
            best = best.min(start.elapsed());
        }
        println!("{}", best.as_secs_f64() * 1e3);
        std::io::stdout().flush().unwrap();
    }
}
