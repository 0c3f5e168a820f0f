//! Instructions that several lanes execute together.

use super::Faulty;
use super::code::{Barrier, Combine, Op, Reg, Shuffle, ShuffleMode, Vote, Voting, ZERO};
use super::decode::Decoder;
use super::text::Operand;
use super::types::Type;

impl Decoder<'_> {
    pub(super) fn together(&mut self, name: &str, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        match name {
            "bar" if mods.first() == Some(&"warp") => {
                let [mask] = o else { return Err(self.fault("`bar.warp.sync` takes a mask")) };
                let mask = self.value(mask, Type::U32)?;
                self.emit(Op::WarpBarrier, ZERO, [mask, ZERO, ZERO])
            }
            "bar" | "barrier" => self.barrier(name, mods, o),
            "shfl" => self.shuffle(mods, o),
            "vote" => self.vote(mods, o),
            "match" => self.matching(mods, o),
            "redux" => self.redux(mods, o),
            _ => {
                let to = self.result(o.first())?;
                self.emit(Op::Active, to, [ZERO; 3])
            }
        }
    }

    /// A result, or a result with a predicate.
    fn pair(&mut self, operand: Option<&Operand>) -> Faulty<(Reg, Option<Reg>)> {
        match operand {
            Some(Operand::Pair(value, predicate)) => {
                let (value, predicate) = (Operand::Name(value.clone()), Operand::Name(predicate.clone()));
                let value = if value == Operand::Name("_".into()) { Operand::Nothing } else { value };
                Ok((self.result(Some(&value))?, Some(self.register(&predicate)?)))
            }
            other => Ok((self.result(other)?, None)),
        }
    }

    fn predicate(&mut self, operand: &Operand) -> Faulty<(Reg, bool)> {
        match operand {
            Operand::Not(name) => Ok((self.register(&Operand::Name(name.clone()))?, true)),
            other => Ok((self.value(other, Type::PRED)?, false)),
        }
    }

    fn barrier(&mut self, name: &str, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let aligned = name == "bar" || mods.contains(&"aligned");
        let reduce = match () {
            () if !mods.contains(&"red") => None,
            () if mods.contains(&"popc") => Some(Voting::Count),
            () if mods.contains(&"and") => Some(Voting::All),
            () => Some(Voting::Any),
        };
        let arrive = mods.contains(&"arrive");
        let (to, o) = match (reduce, o) {
            (None, o) => (ZERO, o),
            (Some(_), [to, rest @ ..]) => (self.result(Some(to))?, rest),
            _ => return Err(self.fault("it has too few operands")),
        };
        let (o, (predicate, negated)) = match (reduce, o) {
            (Some(_), [o @ .., predicate]) => (o, self.predicate(predicate)?),
            (_, o) => (o, (ZERO, false)),
        };
        let number = o.first().map(|one| self.value(one, Type::U32)).transpose()?.unwrap_or(ZERO);
        let counted = o.get(1).map(|one| self.value(one, Type::U32)).transpose()?;
        let barrier = Barrier { counted: counted.is_some(), arrive, aligned, reduce, negated };
        self.emit(Op::Barrier(barrier), to, [number, counted.unwrap_or(ZERO), predicate])
    }

    fn shuffle(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let [to, a, b, c, mask] = o else { return Err(self.fault("`shfl.sync` has five operands")) };
        let mode = match mods.get(1) {
            Some(&"up") => ShuffleMode::Up,
            Some(&"down") => ShuffleMode::Down,
            Some(&"bfly") => ShuffleMode::Butterfly,
            Some(&"idx") => ShuffleMode::Index,
            _ => return Err(self.unsupported(format!("`shfl.{}`", mods.join(".")))),
        };
        let (to, found) = self.pair(Some(to))?;
        let from = [self.value(a, Type::B32)?, self.value(b, Type::U32)?, self.value(c, Type::U32)?];
        let mask = self.value(mask, Type::U32)?;
        self.emit(Op::Shuffle(Shuffle { mode, found, mask }), to, from)
    }

    fn vote(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let [to, predicate, mask] = o else { return Err(self.fault("`vote.sync` has three operands")) };
        let voting = match mods.get(1) {
            Some(&"all") => Voting::All,
            Some(&"any") => Voting::Any,
            Some(&"uni") => Voting::Uniform,
            Some(&"ballot") => Voting::Ballot,
            _ => return Err(self.unsupported(format!("`vote.{}`", mods.join(".")))),
        };
        let to = self.result(Some(to))?;
        let ((predicate, negated), mask) = (self.predicate(predicate)?, self.value(mask, Type::U32)?);
        self.emit(Op::Vote(Vote { voting, negated }), to, [predicate, mask, ZERO])
    }

    fn matching(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let [to, value, mask] = o else { return Err(self.fault("`match.sync` has three operands")) };
        let bits = mods.last().and_then(|m| Type::parse(m)).map_or(32, |ty| ty.bits);
        let (to, agreed) = self.pair(Some(to))?;
        let from = [self.value(value, Type::B64)?, self.value(mask, Type::U32)?, ZERO];
        self.emit(Op::Match { all: mods.first() == Some(&"all"), bits, agreed }, to, from)
    }

    fn redux(&mut self, mods: &[&str], o: &[Operand]) -> Faulty<()> {
        let combine = match mods.get(1) {
            Some(&"add") => Combine::Add,
            Some(&"min") => Combine::Min,
            Some(&"max") => Combine::Max,
            Some(&"and") => Combine::And,
            Some(&"or") => Combine::Or,
            Some(&"xor") => Combine::Xor,
            _ => return Err(self.unsupported(format!("`redux.{}`", mods.join(".")))),
        };
        let ty = mods.last().and_then(|m| Type::parse(m)).filter(|ty| ty.bits == 32 && !ty.is_float());
        let Some(ty) = ty else { return Err(self.unsupported(format!("`redux.{}`", mods.join(".")))) };
        let (to, from) = self.operands(o, 2)?;
        self.emit(Op::Reduce(combine, ty), to, from)
    }
}
