//! Formulas that are kept: an expression with what engines made of it.

use super::build::{Open, Outputs, Raw, Symbols, sealed};
use super::ir::Expr;
use super::scalar::Scalar;
use super::shape::Shape;
use crate::core::cache::{Cache, Words};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Mutex};
use crate::device::tensor::Layout;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::marker::PhantomData;
use std::sync::{LazyLock, OnceLock};

/// An expression, shared by all formulas and operations that are equal to it.
pub(crate) struct Kept {
    pub(crate) expr: Expr,
    hash: u64,
    #[cfg(feature = "host")]
    program: OnceLock<super::host::Program>,
    /// The latest ones, each at a place of its own.
    shapes: Mutex<Shapes>,
}

#[derive(Default)]
struct Shapes {
    kept: [Option<Arc<Shape>>; SHAPES],
    next: usize,
}

/// How many shapes an expression keeps: those of a step of a loop, not of a program.
const SHAPES: usize = 4;

/// How many expressions the process keeps beside those that formulas hold, with the host's programs.
const MOST: usize = 256;
const MOST_NODES: usize = 1 << 16;

type Known = Cache<u64, Arc<Kept>, BuildHasherDefault<Words>>;
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(|| Mutex::new(Cache::new(MOST, MOST_NODES)));

impl Kept {
    /// The one of this expression.
    pub(crate) fn for_expr(expr: Expr) -> Arc<Self> {
        let hash = BuildHasherDefault::<Words>::default().hash_one(&expr);
        let mut known = KNOWN.lock();
        if let Some(kept) = known.get(&hash).filter(|kept| kept.expr == expr) {
            return kept.clone();
        }
        let nodes = expr.nodes().len();
        let kept = Arc::new(Kept {
            expr,
            hash,
            #[cfg(feature = "host")]
            program: OnceLock::new(),
            shapes: Mutex::default(),
        });
        let out = known.insert(hash, kept.clone(), nodes);
        drop(known);
        drop(out);
        kept
    }

    /// The one of these layouts, with what earlier calls found of it.
    pub(in crate::libraries) fn shape(&self, outputs: &[Layout], inputs: &[Layout], in_place: bool) -> Arc<Shape> {
        let mut shapes = self.shapes.lock();
        if let Some(known) = shapes.kept.iter().flatten().find(|shape| shape.is(outputs, inputs, in_place)) {
            return known.clone();
        }
        let shape = Arc::new(Shape::new(outputs.to_vec(), inputs.to_vec(), in_place));
        let next = shapes.next;
        shapes.next = (next + 1) % SHAPES;
        let out = shapes.kept.get_mut(next).and_then(|place| place.replace(shape.clone()));
        drop(shapes);
        drop(out);
        shape
    }

    #[cfg(feature = "host")]
    pub(crate) fn program(&self) -> &super::host::Program {
        self.program.get_or_init(|| super::host::Program::new(&self.expr))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.hash == other.hash && self.expr == other.expr)
    }
}

impl Eq for Kept {}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.expr.fmt(f)
    }
}

/// A shared expression that crosses as the expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shared(pub(crate) Arc<Kept>);

impl Serialize for Shared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.expr.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Expr::deserialize(deserializer).map(|expr| Shared(Kept::for_expr(expr)))
    }
}

/// What was recorded: the expression and the values of its parameters.
pub(crate) struct Recorded {
    pub(crate) kept: Arc<Kept>,
    pub(crate) scalars: Vec<Scalar>,
}

/// Records a closure on symbols of these types; `run` calls it.
pub(crate) fn record(types: &[DType], run: impl FnOnce(&Open) -> Vec<Raw>) -> Result<Recorded> {
    let open = Open::new(types);
    let outputs = run(&open);
    let (expr, scalars) = open.finish(&outputs)?;
    Ok(Recorded { kept: Kept::for_expr(expr), scalars })
}

/// A formula for elements: a closure that was recorded once, to be called often
/// ([`Device::apply`](crate::Device::apply)).
///
/// It takes symbols of the types `I` and gives the outputs `O`. Every number in the closure is a parameter, whose value
/// [`with_scalars`](Self::with_scalars) changes without another kernel.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::expressions::{Formula, Symbol};
/// let device = windlass::Device::best()?;
/// let axpy = Formula::new(|(x, y): (Symbol<f32>, Symbol<f32>)| 2.0 * x + y)?;
/// let (x, y) = (device.tensor([3], [1.0f32, 2.0, 3.0])?, device.full([3], 0.5f32)?);
/// let z = device.apply(&axpy, (&x, &y))?.into_output();
/// let z = device.apply(&axpy.with_scalars([3.0f64])?, (&x, &z))?.await_result()?;
/// assert_eq!(device.show(&z)?.to_string(), "[ 5.5 10.5 15.5]");
/// # Ok(()) }
/// ```
pub struct Formula<I, O> {
    pub(in crate::libraries) kept: Arc<Kept>,
    pub(in crate::libraries) scalars: Vec<Scalar>,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Clone for Formula<I, O> {
    fn clone(&self) -> Self {
        Formula { kept: self.kept.clone(), scalars: self.scalars.clone(), types: PhantomData }
    }
}

impl<I, O> std::fmt::Debug for Formula<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Formula({} inputs, {} nodes", self.kept.expr.inputs().len(), self.kept.expr.nodes().len())?;
        write!(f, ", {:?})", self.scalars)
    }
}

impl<I: Symbols, O: Outputs> Formula<I, O> {
    /// Records the closure.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the first operation in the closure that has no meaning, with its operands: an
    /// operation that its type does not have, a number that the type of its partner does not hold, symbols of two closures;
    /// more than 4096 nodes or 128 numbers.
    ///
    /// ```
    /// use windlass::expressions::{Formula, Symbol};
    /// let wrong = Formula::new(|n: Symbol<i32>| (n + 1).sqrt()).unwrap_err();
    /// assert_eq!(wrong.to_string(), "argument `formula`: sqrt of add(input 0, parameter 0): i32 is no floating point number: cast it");
    /// ```
    pub fn new(f: impl FnOnce(I) -> O) -> Result<Self> {
        let recorded = record(I::DTYPES, |open| sealed::Symbols::raws(f(I::inputs(open, 0))))?;
        Ok(Formula { kept: recorded.kept, scalars: recorded.scalars, types: PhantomData })
    }
}

/// What a [`Formula`] takes that updates in place: the symbols `O` of what is updated, and the symbols `I` of the inputs.
pub struct InPlace<O, I>(PhantomData<fn(O, I)>);

impl<O: Outputs, I: Symbols> Formula<InPlace<O, I>, O> {
    /// Records a closure for [`Device::apply_update`](crate::Device::apply_update). It takes the symbols of what is updated and
    /// those of the inputs, and returns the new values.
    ///
    /// # Errors
    /// As [`new`](Formula::new).
    pub fn in_place(f: impl FnOnce(O, I) -> O) -> Result<Self> {
        let recorded = record_update(f)?;
        Ok(Formula { kept: recorded.kept, scalars: recorded.scalars, types: PhantomData })
    }
}

/// Records a closure that updates.
pub(super) fn record_update<O: Symbols, I: Symbols>(f: impl FnOnce(O, I) -> O) -> Result<Recorded> {
    let types: SmallVec<[DType; 8]> = O::DTYPES.iter().chain(I::DTYPES).copied().collect();
    record(&types, |open| f(O::inputs(open, 0), I::inputs(open, O::DTYPES.len())).raws())
}

impl<I, O> Formula<I, O> {
    /// The expression.
    pub fn expr(&self) -> &Expr {
        &self.kept.expr
    }

    /// The values of the parameters, in the order in which the closure met them.
    pub fn scalars(&self) -> &[Scalar] {
        &self.scalars
    }

    /// The same formula with other values of the parameters. Each takes the type of its parameter, if that holds it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of values, or a value that the parameter's type does not hold.
    pub fn with_scalars<S: Into<Scalar>>(&self, scalars: impl IntoIterator<Item = S>) -> Result<Self> {
        let types = self.kept.expr.parameters();
        let mut adopted = Vec::with_capacity(types.len());
        for (k, scalar) in scalars.into_iter().enumerate() {
            let scalar: Scalar = scalar.into();
            let invalid = |what: String| Error::invalid("scalars", what);
            let more = || invalid(format!("more than {k} values, but the formula has {} parameters", types.len()));
            let dtype = types.get(k).ok_or_else(more)?;
            let value = scalar.adopt(*dtype);
            adopted.push(value.ok_or_else(|| invalid(format!("{scalar:?} is no value of {dtype} (parameter {k})")))?);
        }
        if adopted.len() != types.len() {
            let what = format!("{} values, but the formula has {} parameters", adopted.len(), types.len());
            return Err(Error::invalid("scalars", what));
        }
        Ok(Formula { kept: self.kept.clone(), scalars: adopted, types: PhantomData })
    }
}
