//! The names of the elementary functions.

use serde::{Deserialize, Serialize};

macro_rules! functions { ($($(#[$meta:meta])* $name:ident $text:literal $arity:literal;)*) => {
    /// An elementary function of one or two real arguments.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum Function { $($(#[$meta])* $name,)* }

    impl Function {
        /// All functions.
        pub const ALL: &'static [Function] = &[$(Function::$name),*];

        /// The number of arguments.
        pub const fn arity(self) -> usize {
            match self { $(Function::$name => $arity,)* }
        }

        /// The name as the methods of a symbol have it.
        pub const fn name(self) -> &'static str {
            match self { $(Function::$name => $text,)* }
        }
    }
} }

functions! {
    /// e^x.
    Exp "exp" 1;
    /// 2^x.
    Exp2 "exp2" 1;
    /// e^x - 1.
    Expm1 "expm1" 1;
    /// The natural logarithm.
    Log "log" 1;
    /// The logarithm to the base 2.
    Log2 "log2" 1;
    /// The logarithm to the base 10.
    Log10 "log10" 1;
    /// The natural logarithm of 1 + x.
    Log1p "log1p" 1;
    /// x^y.
    Pow "pow" 2;
    /// 1 / sqrt(x).
    Rsqrt "rsqrt" 1;
    /// The cubic root.
    Cbrt "cbrt" 1;
    /// sqrt(x^2 + y^2) without overflow.
    Hypot "hypot" 2;
    /// The sine.
    Sin "sin" 1;
    /// The cosine.
    Cos "cos" 1;
    /// The tangent.
    Tan "tan" 1;
    /// The inverse of the sine.
    Asin "asin" 1;
    /// The inverse of the cosine.
    Acos "acos" 1;
    /// The inverse of the tangent.
    Atan "atan" 1;
    /// The angle of the point (y, x): the first argument is y.
    Atan2 "atan2" 2;
    /// The hyperbolic sine.
    Sinh "sinh" 1;
    /// The hyperbolic cosine.
    Cosh "cosh" 1;
    /// The hyperbolic tangent.
    Tanh "tanh" 1;
    /// The inverse of the hyperbolic sine.
    Asinh "asinh" 1;
    /// The inverse of the hyperbolic cosine.
    Acosh "acosh" 1;
    /// The inverse of the hyperbolic tangent.
    Atanh "atanh" 1;
    /// The error function.
    Erf "erf" 1;
    /// 1 - erf(x).
    Erfc "erfc" 1;
    /// 1 / (1 + e^-x).
    Sigmoid "sigmoid" 1;
    /// x times the normal distribution function.
    Gelu "gelu" 1;
    /// The approximation of gelu by tanh.
    GeluTanh "gelu_tanh" 1;
    /// x * sigmoid(x).
    Silu "silu" 1;
    /// log(1 + e^x).
    Softplus "softplus" 1;
}
