//! The types of PTX: what an instruction takes the bits of a register for.

/// What the bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    /// IEEE: 16, 32 or 64 bits.
    Float,
    /// A bfloat16.
    Brain,
    /// Two halves in 32 bits.
    Halves,
    /// Two bfloat16 in 32 bits.
    Brains,
    Predicate,
}

/// A type: its kind and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    /// 1 for a predicate.
    pub(crate) bits: u32,
}

impl Type {
    pub(super) const B32: Type = Type { kind: Kind::Bits, bits: 32 };
    pub(super) const B64: Type = Type { kind: Kind::Bits, bits: 64 };
    pub(super) const U32: Type = Type { kind: Kind::Unsigned, bits: 32 };
    pub(super) const PRED: Type = Type { kind: Kind::Predicate, bits: 1 };

    /// The type of that name, without the dot.
    pub(super) fn parse(name: &str) -> Option<Type> {
        let of = |kind, bits| Some(Type { kind, bits });
        match name {
            "pred" => return Some(Type::PRED),
            "f16x2" => return of(Kind::Halves, 32),
            "bf16" => return of(Kind::Brain, 16),
            "bf16x2" => return of(Kind::Brains, 32),
            _ => {}
        }
        let (kind, bits) = name.split_at_checked(1)?;
        let kind = match kind {
            "b" => Kind::Bits,
            "u" => Kind::Unsigned,
            "s" => Kind::Signed,
            "f" => Kind::Float,
            _ => return None,
        };
        match (bits, kind) {
            ("8", Kind::Float) => None,
            ("8", _) => of(kind, 8),
            ("16", _) => of(kind, 16),
            ("32", _) => of(kind, 32),
            ("64", _) => of(kind, 64),
            _ => None,
        }
    }

    pub(super) fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }

    pub(super) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Brain | Kind::Halves | Kind::Brains)
    }
}

/// Where an address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    /// A thread's own memory: also the parameters of the functions that it calls.
    Local,
    Const,
    /// The parameters of the kernel.
    Param,
}

impl Space {
    pub(super) fn parse(name: &str) -> Option<Space> {
        Some(match name {
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    }
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Space::Generic | Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "parameter",
        })
    }
}
