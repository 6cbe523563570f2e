// Random cases for the crate ruvector-attn-mincut and what it makes of them, a case a line:
//
//     cut TOKENS LAMBDA EPS COST MASK LOGITS...
//     flips TAU MASK RESULT MASK RESULT...
//     attend TOKENS LAMBDA EPS QUERIES... KEYS... VALUES... OUTPUTS...
//
// Masks are digits, 1 for what is kept. Tensors have 32 floats a token.
use ruvector_attn_mincut::{attn_mincut, dynamic_min_cut, HysteresisTracker};

const DIMENSION: usize = 32;

struct Generator(u64);

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
    fn pick(&mut self, choices: &[f32]) -> f32 {
        choices[self.below(choices.len() as u64) as usize]
    }
    /// Multiples of 1/128 in [-1, 1).
    fn tensor(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.below(256) as f32 / 128.0 - 1.0).collect()
    }
}

fn digits(mask: &[bool]) -> String {
    mask.iter().map(|&kept| if kept { '1' } else { '0' }).collect()
}

fn numbers(values: &[f32]) -> String {
    values.iter().map(|value| format!("{value}")).collect::<Vec<_>>().join(" ")
}

fn main() {
    let mut random = Generator(16);
    for _ in 0..150 {
        let tokens = 1 + random.below(8) as usize;
        let shift = random.pick(&[-1.0, -0.5, -0.2, 0.5]);
        let logits: Vec<f32> = random.tensor(tokens * tokens).iter().map(|x| 1.5 * x + shift).collect();
        let (lambda, eps) = (random.pick(&[0.0, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0]), random.pick(&[0.0, 0.01, 0.3]));
        let result = dynamic_min_cut(&logits, tokens, lambda, 2, eps);
        println!(
            "cut {tokens} {lambda} {eps} {} {} {}",
            result.cut_cost,
            digits(&result.keep_mask),
            numbers(&logits)
        );
    }
    for tau in [0, 1, 2, 3, 5] {
        let mut tracker = HysteresisTracker::new(tau);
        let mut line = format!("flips {tau}");
        for _ in 0..24 {
            let mask: Vec<bool> = (0..8).map(|_| random.below(4) == 0).collect();
            let result = tracker.apply(&mask);
            line += &format!(" {} {}", digits(&mask), digits(&result));
        }
        println!("{line}");
    }
    for (tokens, lambda, eps) in [(1, 0.5, 0.01), (2, 8.0, 0.2), (5, 0.5, 0.01), (5, 8.0, 0.0)] {
        let (q, k, v) =
            (random.tensor(tokens * DIMENSION), random.tensor(tokens * DIMENSION), random.tensor(tokens * DIMENSION));
        let result = attn_mincut(&q, &k, &v, DIMENSION, tokens, lambda, 2, eps);
        println!(
            "attend {tokens} {lambda} {eps} {} {} {} {}",
            numbers(&q),
            numbers(&k),
            numbers(&v),
            numbers(&result.output)
        );
    }
}
