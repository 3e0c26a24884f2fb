// Nodes of a table's index: decoded from the page, and searched as the engine does, with the same arithmetic.
"use strict";
const OgiveNodes = (() => {
  const { compare, fromHex } = OgiveKeys;
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const wordsOf = (text) => new BigUint64Array(bytesOf(text).buffer);
  const U64 = (number) => BigInt.asUintN(64, number);

  // The last position in 0..count for which `isBefore` holds, or -1; it holds for all positions up to some one.
  const lastBefore = (count, isBefore) => {
    let [low, high] = [-1, count - 1];
    while (low < high) {
      const middle = low + Math.ceil((high - low) / 2);
      if (isBefore(middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const varints = (bytes) => {
    let at = 0;
    const number = () => {
      let [value, shift] = [0, 1];
      for (;;) {
        const byte = bytes[at++];
        value += (byte & 127) * shift;
        if (byte < 128) return value;
        shift *= 128;
      }
    };
    return { number, take: (count) => bytes.subarray(at, (at += count)) };
  };
  const bitsAt = (bytes, offset, width) => {
    let value = 0n;
    for (let got = 0; got < width; ) {
      const bit = offset + got;
      const taken = Math.min(8 - (bit % 8), width - got);
      const part = (bytes[Math.floor(bit / 8)] >> bit % 8) & ((1 << taken) - 1);
      value |= BigInt(part) << BigInt(got);
      got += taken;
    }
    return value;
  };

  // A group of coded separators: separator(j) = start + rise(j) + (residual(j) - bias) << shift.
  const group = (start, packed, child, bits, stored) => {
    const field = (from, width) => Number((packed >> BigInt(from)) & ((1n << BigInt(width)) - 1n));
    const [count, shift, width, bias] = [field(0, 8) + 1, field(8, 6), field(14, 7), field(21, 8)];
    const [exponent, mantissa] = [field(29, 6), field(35, 28)];
    const rise = (j) => U64(((BigInt(mantissa) * BigInt(j)) << BigInt(exponent)) >> 28n);
    const residual = (j) => {
      const units = BigInt(bias) << BigInt(Math.min(Math.max(width - 8, 0), 56));
      const value = U64(bitsAt(stored, bits + (j - 1) * width, width) - units);
      return BigInt.asIntN(64, U64(value << BigInt(shift)));
    };
    const separator = (j) => (j === 0 ? start : U64(start + rise(j) + residual(j)));
    return { start, child, count, shift, width, slope: mantissa * 2 ** (exponent - 28), rise, residual, separator, bits };
  };

  // A line: its window at a key, within first child..=last child. Single f64 operations, as in the engine.
  const LIFT = 65536;
  const line = (key, child, slope, window, offset) => ({
    key,
    child,
    slope,
    window,
    offset,
    at: (x, lastChild) => {
      const last = Math.max(lastChild, child);
      const distance = x > key ? x - key : 0n;
      const lifted = Math.max(Math.min(Math.trunc(slope * Number(distance) + (offset + LIFT)), 2 ** 61), 0);
      const lowest = child + lifted;
      const cut = (value, end) => Math.min(Math.max(value - LIFT, child), Math.max(end, child));
      return [cut(lowest, Math.max(last - 1, child)), cut(lowest + window - 1, last), lifted - LIFT];
    },
  });

  // A run of nodes of one page: `start` and `end` bound its keys, `count` nodes lead to children.
  const run = (held, layer) => {
    const decoded = { page: held.page, isFirst: held.is_first, endChild: held.end_child, endKey: held.end_key };
    if (layer.kind === "strings") return strings(held, decoded);
    const end = held.end_key === "" ? null : BigInt(held.end_key);
    const common = { ...decoded, end, isLast: held.end_key === "" };
    if (layer.kind === "coded") return coded(held, layer, common);
    const keys = wordsOf(held.keys);
    const children = held.children;
    const next = (at) => (at + 1 < keys.length ? children[at + 1] : held.end_child);
    const find = (x) => Math.max(lastBefore(keys.length, (at) => keys[at] <= x), 0);
    const nodes = { ...common, start: keys[0], count: keys.length, key: (at) => keys[at], child: (at) => children[at], next };
    if (layer.kind === "steps") {
      const search = (x) => {
        const at = find(x);
        return { node: at, first: children[at], last: next(at) - 1, isExact: true, key: keys[at], nextKey: keys[at + 1] ?? end };
      };
      return { ...nodes, search };
    }
    const lineAt = (at) => line(keys[at], children[at], held.slopes[at], held.windows[at], held.offsets[at]);
    const lastChild = (at) => Math.min(next(at), layer.children - 1);
    const search = (x) => {
      const at = find(x);
      const one = lineAt(at);
      const [first, last, predicted] = one.at(x, lastChild(at));
      return { node: at, first, last, isExact: false, line: one, predicted };
    };
    return { ...nodes, search, line: lineAt, lastChild };
  };

  const coded = (held, layer, common) => {
    const headers = wordsOf(held.headers);
    const stored = bytesOf(held.residuals);
    const groups = [];
    let [child, bits] = [held.child, 0];
    for (let at = 0; at < headers.length; at += 2) {
      const one = group(headers[at], headers[at + 1], child, bits, stored);
      groups.push(one);
      child += one.count;
      bits += (one.count - 1) * one.width;
    }
    const search = (x) => {
      const at = Math.max(lastBefore(groups.length, (number) => groups[number].start <= x), 0);
      const one = groups[at];
      const j = Math.max(lastBefore(one.count, (number) => one.separator(number) <= x), 0);
      const first = (one.child + j) * layer.granule;
      const after = j + 1 < one.count ? one.separator(j + 1) : groups[at + 1]?.start ?? common.end;
      const last = Math.min(first + layer.granule - 1, layer.children - 1);
      return { node: at, first, last, isExact: true, group: one, j, key: one.separator(j), nextKey: after };
    };
    return {
      ...common,
      start: groups[0].start,
      count: groups.length,
      groups,
      key: (at) => groups[at].start,
      child: (at) => groups[at].child * layer.granule,
      next: (at) => Math.min((groups[at].child + groups[at].count) * layer.granule, layer.children),
      search,
    };
  };

  const strings = (held, decoded) => {
    const reader = varints(bytesOf(held.separators));
    const separators = [];
    let before = new Uint8Array();
    for (let at = 0; at < held.count; at += 1) {
      const shared = reader.number();
      const rest = reader.take(reader.number());
      const separator = new Uint8Array(shared + rest.length);
      separator.set(before.subarray(0, shared));
      separator.set(rest, shared);
      separators.push((before = separator));
    }
    const search = (key) => {
      const at = Math.max(lastBefore(separators.length, (number) => compare(separators[number], key) <= 0), 0);
      const child = Math.min(held.child + at, held.end_child - 1);
      return { node: at, first: child, last: child, isExact: true, key: separators[at], nextKey: separators[at + 1] };
    };
    return {
      ...decoded,
      start: separators[0],
end: held.end_key === "" ? null : fromHex(held.end_key),
      count: separators.length,
      key: (at) => separators[at],
      child: (at) => held.child + at,
      next: (at) => held.child + at + 1,
      search,
    };
  };

  // The nodes of a table, and searches through all its layers. `data` is as src/table/picture.rs writes it.
  const table = (data) => {
    const { layers, opening } = data.structure;
    const runs = data.layers.map((held, at) => held.runs.map((one) => run(one, layers[at])));
    const top = layers.length - 1;
    const numeric = data.is_numeric;
    const before = (one, other) => (numeric ? one < other : compare(one, other) < 0);
    // Where the key is: before (-1), in (0) or after (1) the keys of a run.
    const side = (one, target) => {
      if (before(target, one.start)) return -1;
      return one.end !== null && one.end !== undefined && !before(target, one.end) ? 1 : 0;
    };
    const covers = (one, target) => {
      const found = side(one, target);
      return found === 0 || (found === -1 && one.isFirst);
    };

    const places = data.places.map((held) => {
      const reader = varints(bytesOf(held.places));
      const found = [];
      let end = held.offset;
      for (let at = 0; at < held.count; at += 1) {
        const offset = end + reader.number();
        const bytes = reader.number();
        found.push({ offset, bytes });
        end = offset + bytes;
      }
      return { block: held.block, found };
    });
    const place = (block) => {
      const even = data.structure.even_blocks;
      if (even) {
        const offset = even.offset + block * even.bytes;
        return { offset, bytes: Math.min(even.bytes, data.data_end - offset) };
      }
      const held = places.find((one) => block >= one.block && block < one.block + one.found.length);
      return held ? held.found[block - held.block] : null;
    };

    // The pages or blocks first..=last of a level, as reads: neighbours together. Null if a place is unknown.
    const readsOf = (level, first, last) => {
      if (level > 0) {
        const { offset, page_bytes: bytes } = layers[level - 1];
        return [{ level, first, last, offset: offset + first * bytes, bytes: (last - first + 1) * bytes }];
      }
      const reads = [];
      for (let block = first; block <= last; block += 1) {
        const part = place(block);
        if (!part) return null;
        const open = reads[reads.length - 1];
        if (open && open.offset + open.bytes === part.offset) {
          open.bytes += part.bytes;
          open.last = block;
        } else reads.push({ level, first: block, last: block, ...part });
      }
      return reads;
    };

    // The search for a key, step by step. `missing` names the layer of which the page does not hold the part needed.
    const lookUp = (target) => {
      const steps = [];
      if (top < 0) {
        const last = data.report.blocks - 1;
        return { steps, first: 0, last, isExact: true, reads: readsOf(0, 0, last) };
      }
      let found = null;
      for (let at = top; at >= 0; at -= 1) {
        const isIn = (one) => at === top || (one.page >= found.first && one.page <= found.last);
        const one = runs[at].find((candidate) => isIn(candidate) && covers(candidate, target));
        const near = runs[at].filter(isIn);
        // The right page of an approximate window is known from its neighbours, even where a key is before its first node.
        const chosen = one ?? near.filter((candidate) => side(candidate, target) >= 0).pop();
        if (!chosen || (at === top && !one)) return { steps, missing: at };
        const step = { layer: at, run: chosen, pages: found, ...chosen.search(target) };
        step.reads = at === top ? [] : readsOf(at + 1, found.first, found.last);
        steps.push(step);
        found = { first: step.first, last: step.last, isExact: step.isExact };
      }
      return { steps, ...found, reads: readsOf(0, found.first, found.last) };
    };
    return { data, layers, runs, top, opening, lookUp, place, readsOf };
  };

  return { table, wordsOf, bytesOf, lastBefore };
})();
