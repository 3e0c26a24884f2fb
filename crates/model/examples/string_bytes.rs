use ogive_model::coded::*;
use std::time::Instant;
struct C {
    keys: Vec<Vec<u8>>,
    cum: Vec<u64>,
    room: u64,
    slack: f64,
}
impl StringCuts for C {
    fn ends(&self, b: usize) -> Option<(usize, usize)> {
        let base = self.cum[b];
        let l = self.cum.partition_point(|&c| c - base.min(c) <= self.room && c >= base || c < base) - 1;
        if l >= self.keys.len() {
            return None;
        }
        let least = (self.room as f64 * (1.0 - self.slack)) as u64;
        let f = self.cum.partition_point(|&c| c < base + least).max(b + 1).min(l);
        Some((f, l))
    }
    fn key(&self, r: usize) -> &[u8] {
        &self.keys[r]
    }
    fn ahead(&self, b: usize, c: usize) -> Option<usize> {
        let t = self.cum[b] + (c as f64 * self.room as f64 * 0.97) as u64;
        let r = self.cum.partition_point(|&x| x < t);
        (r < self.keys.len()).then_some(r)
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let slack: f64 = a[1].parse().unwrap();
    for f in &a[2..] {
        let d = std::fs::read(f).unwrap();
        let keys: Vec<Vec<u8>> = d.split(|&b| b == b'\n').filter(|k| !k.is_empty()).map(|k| k.to_vec()).collect();
        let mut cum = vec![0];
        for k in &keys {
            cum.push(cum.last().unwrap() + k.len() as u64 + 8 + 1 + 2);
        }
        let c = C { keys, cum, room: 4088, slack };
        let t = Instant::now();
        let mut layer = StringLayer::new();
        let (mut at, mut first) = (0, vec![]);
        let mut seps: Vec<(usize)> = vec![0];
        loop {
            let g = fit_strings(first.clone(), at, &c, 256);
            let last = *g.begins.last().unwrap_or(&at);
            seps.extend(&g.begins);
            layer.push(g);
            match c.ends(last) {
                Some((f, l)) => {
                    let (e, s) = cheapest_border(b"", f, l, &c);
                    at = e;
                    first = s;
                    seps.push(at);
                }
                None => break,
            }
        }
        let n = layer.children();
        println!(
            "{f}: {n} blocks {:.3} B/block, group {:.1}, fill {:.4}, {:.1} ms",
            layer.total_len() as f64 / n as f64,
            n as f64 / layer.groups() as f64,
            *c.cum.last().unwrap() as f64 / n as f64 / 4096.0,
            t.elapsed().as_secs_f64() * 1e3
        );
        let mut out = vec![];
        layer.encode(0..layer.groups(), &mut out);
        assert_eq!(out.len(), layer.total_len());
        let t = Instant::now();
        let mut bad = 0;
        for (i, k) in c.keys.iter().enumerate() {
            let b = search_strings(&out, layer.groups(), k).unwrap() as usize;
            let want = seps.partition_point(|&s| s <= i) - 1;
            if b != want {
                bad += 1;
                if bad < 5 {
                    println!("bad {i} {b} {want}");
                }
            }
        }
        println!("bad {bad}, {:.0} ns/search", t.elapsed().as_secs_f64() * 1e9 / c.keys.len() as f64);
    }
}
