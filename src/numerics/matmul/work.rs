//! The arithmetic of each type of scalars.

use num_complex::Complex;

/// The type in which a product is scaled and its epilogue is computed: the type of alpha and beta.
pub trait Work: Copy + Default + PartialEq + Send + Sync + 'static {
    /// The type of a sum of products.
    type Acc: Copy + Default + Send + Sync;
    const ONE: Self;

    /// Converts a sum of products to this type.
    fn from_acc(acc: Self::Acc) -> Self;
    fn mul(self, other: Self) -> Self;
    fn add(self, other: Self) -> Self;
    /// Converts a factor given in f32: scales exist only if this type is f32.
    fn factor(x: f32) -> Self;
    /// `max(x, 0)`, and whether `x > 0`. NaN becomes 0, as in the library.
    fn relu(self) -> (Self, bool);
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.
    fn gelu(self) -> Self;
    /// The derivative of `gelu`.
    fn dgelu(self) -> Self;
    /// The magnitude as the bits of an f32. The bits have the order of the magnitudes, with NaN above all.
    fn size_bits(self) -> u32;
}

macro_rules! real { ($($t:ty)*) => { $(
    impl Work for $t {
        type Acc = $t;
        const ONE: Self = 1.0;

        fn from_acc(acc: $t) -> Self {
            acc
        }
        fn mul(self, other: Self) -> Self {
            self * other
        }
        fn add(self, other: Self) -> Self {
            self + other
        }
        fn factor(x: f32) -> Self {
            x.into()
        }
        fn relu(self) -> (Self, bool) {
            let positive = self > 0.0;
            (if positive { self } else { 0.0 }, positive)
        }
        fn gelu(self) -> Self {
            let (t, _) = tanh_part(self);
            // At minus infinity the result is zero, not infinity times zero.
            if t == -1.0 { -0.0 } else { 0.5 * self * (1.0 + t) }
        }
        fn dgelu(self) -> Self {
            let (t, slope) = tanh_part(self);
            let fall = 1.0 - t * t;
            let bend = if fall == 0.0 { 0.0 } else { 0.5 * self * fall * slope };
            0.5 * (1.0 + t) + bend
        }
        fn size_bits(self) -> u32 {
            (self as f32).abs().to_bits()
        }
    }

    impl TanhPart for $t {
        fn tanh_part(self) -> (Self, Self) {
            /// The root of 2 / pi.
            const ROOT: $t = 0.797_884_560_802_865_4_f64 as $t;
            const CUBE: $t = 0.044715;
            let square = self * self;
            ((ROOT * self * (1.0 + CUBE * square)).tanh(), ROOT * (1.0 + 3.0 * CUBE * square))
        }
    }
)* } }

/// The hyperbolic tangent inside GELU.
trait TanhPart: Sized {
    /// Its value, and the derivative of its argument.
    fn tanh_part(self) -> (Self, Self);
}

fn tanh_part<T: TanhPart>(x: T) -> (T, T) {
    x.tanh_part()
}
real! { f32 f64 }

macro_rules! complex { ($($t:ty)*) => { $(
    // Complex numbers have no order: the front refuses activations for them, and these functions leave values
    // unchanged.
    impl Work for Complex<$t> {
        type Acc = Self;
        const ONE: Self = Complex { re: 1.0, im: 0.0 };

        fn from_acc(acc: Self) -> Self {
            acc
        }
        fn mul(self, other: Self) -> Self {
            self * other
        }
        fn add(self, other: Self) -> Self {
            self + other
        }
        fn factor(x: f32) -> Self {
            Complex { re: x.into(), im: 0.0 }
        }
        fn relu(self) -> (Self, bool) {
            (self, true)
        }
        fn gelu(self) -> Self {
            self
        }
        fn dgelu(self) -> Self {
            Self::ONE
        }
        fn size_bits(self) -> u32 {
            (self.re.abs().max(self.im.abs()) as f32).to_bits()
        }
    }
)* } }
complex! { f32 f64 }

impl Work for i32 {
    type Acc = i32;
    const ONE: Self = 1;

    fn from_acc(acc: i32) -> Self {
        acc
    }
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn factor(x: f32) -> Self {
        x as i32
    }
    fn relu(self) -> (Self, bool) {
        (self.max(0), self > 0)
    }
    // The front refuses GELU for integers, because no integer is near its values.
    fn gelu(self) -> Self {
        self
    }
    fn dgelu(self) -> Self {
        1
    }
    fn size_bits(self) -> u32 {
        (self.unsigned_abs() as f32).to_bits()
    }
}
