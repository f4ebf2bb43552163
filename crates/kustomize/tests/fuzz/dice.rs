//! Random choices from a seed: the generator of the simulator's tape (SplitMix64), without the
//! tape.

#[derive(Clone, Debug)]
pub(super) struct Dice {
    state: u64,
    /// Documents of this case may have flow style. They then have no omitted values, because
    /// kustomize turns these into empty strings at the end if a patch moves them into flow style.
    pub(super) has_flow: bool,
}

impl Dice {
    /// Returns the dice of one case of a run. A case does not depend on the cases before it.
    pub(super) fn of(seed: u64, case: u64) -> Self {
        let mut dice = Self { state: seed, has_flow: false };
        dice.state = dice.draw() ^ case.wrapping_mul(0xa076_1d64_78bd_642f);
        dice.has_flow = dice.percent(60);
        dice
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, which must not be zero.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((n as u128 * u128::from(self.draw())) >> 64) as usize
    }

    /// Returns true in so many of a hundred cases.
    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
