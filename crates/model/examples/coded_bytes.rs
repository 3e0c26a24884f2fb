use ogive_model::coded::*;
use std::time::Instant;
struct C<'a> {
    keys: &'a [u64],
    cap: usize,
    slack: usize,
    target: usize,
}
impl Cuts for C<'_> {
    fn ends(&self, b: usize) -> Option<(usize, usize)> {
        let l = b + self.cap;
        (l < self.keys.len()).then_some((l - self.slack, l))
    }
    fn coordinate(&self, r: usize) -> u64 {
        self.keys[r]
    }
    fn ahead(&self, b: usize, c: usize) -> Option<usize> {
        let r = b + c * self.target;
        (r < self.keys.len()).then_some(r)
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let cap: usize = a[1].parse().unwrap();
    let slack: usize = a[2].parse().unwrap();
    let target: usize = a[3].parse().unwrap();
    for f in &a[4..] {
        let d = std::fs::read(f).unwrap();
        let keys: Vec<u64> = d[8..].chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect();
        let c = C { keys: &keys, cap, slack, target };
        let t = Instant::now();
        let mut layer = CodedLayer::new();
        let (mut at, mut start) = (0, 0);
        loop {
            let g = fit_flexible(start, at, &c, 256, Effort::Full);
            let last = *g.begins.last().unwrap_or(&at);
            layer.push(g.header, g.residuals);
            match c.ends(last) {
                Some((_, l)) => {
                    at = l;
                    start = keys[l];
                }
                None => break,
            }
        }
        let n = layer.children();
        println!(
            "{f}: {n} blocks {:.3} B/block, group {:.1}, fill {:.4}, {:.1} ms, {:.2} us/block",
            layer.total_len() as f64 / n as f64,
            n as f64 / layer.groups() as f64,
            keys.len() as f64 / n as f64 * 16.0 / 4096.0,
            t.elapsed().as_secs_f64() * 1e3,
            t.elapsed().as_secs_f64() * 1e6 / n as f64
        );
    }
}
