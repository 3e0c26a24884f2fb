// The key curve with the layers over it: drawn again for each view, from 2^64 keys down to a few.
"use strict";
const OgiveCurve = (() => {
  const { formats, color, faint, axis, onChange, zoomable } = OgiveCharts;
  const { lastBefore } = OgiveNodes;
  const { compare, fromHex, toHex, bigEndian, word } = OgiveKeys;

  // Nodes of one layer that are drawn at once, and separators; of more, the view shows none and says so.
  const NODES_MAX = 400;
  const SEPARATORS_MAX = 3000;
  const SPAN_MIN = 8n;
  const INCREMENTS = Array.from({ length: 60 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));

  // Keys as numbers on the axis, as src/table/axis.rs does it.
  const axisOf = (data) => {
    const prefix = fromHex(data.prefix);
    const width = data.is_numeric ? 8 : 24;
    const ofHex = (hex) => BigInt("0x" + hex.padEnd(width * 2, "0"));
    const known = data.curve.keys.map(ofHex);
    const at = (key) => {
      const head = key.subarray(0, prefix.length);
      const side = data.is_numeric ? 0 : compare(head, prefix);
      if (side < 0) return 0n;
      if (side > 0) return (1n << BigInt(width * 8)) - 1n;
      const padded = new Uint8Array(width);
      padded.set(key.subarray(prefix.length, prefix.length + width));
      return word(padded);
    };
    // A key at a place, as text. Of byte strings, the last one that the curve names: others may be no text.
    const show = (number) => {
      if (data.is_numeric) return OgiveKeys.show(data.report.key_type, bigEndian(number, 8));
      const at = Math.max(lastBefore(known.length, (position) => known[position] <= number), 0);
      const key = new Uint8Array([...prefix, ...fromHex(data.curve.keys[at])]);
      const fixed = /^(?:bytes\d+|uuid|[ui]\d+|f\d+|date)$/.test(data.report.key_type);
      return fixed ? "0x" + toHex(key) : OgiveKeys.show(data.report.key_type, key);
    };
    return { at, show, known };
  };

  // The curve of the index: the block at a key, from the points in the page.
  const curveOf = (data, xs) => {
    const { blocks, records } = data.curve;
    const between = (x, values) => {
      const left = Math.max(lastBefore(xs.length, (at) => xs[at] <= x), 0);
      const right = Math.min(left + 1, xs.length - 1);
      const width = Number(xs[right] - xs[left]);
      const share = width > 0 && x > xs[left] ? Math.min(Number(x - xs[left]) / width, 1) : 0;
      return values[left] + (values[right] - values[left]) * share;
    };
    return { xs, blocks, block: (x) => between(x, blocks), record: (x) => between(x, records) };
  };

  // Draws the curve of `nodes` in `element`; `pick` is called with a place on the axis that was clicked.
  const draw = (element, nodes, pick, shown) => {
    const { data, layers, runs, top } = nodes;
    const keys = axisOf(data);
    const curve = curveOf(data, keys.known);
    const [low, high] = [curve.xs[0], curve.xs[curve.xs.length - 1]];
    const whole = { from: low, to: high > low + SPAN_MIN ? high : low + SPAN_MIN };
    let view = { ...whole };
    let marked = null;
    let plot = null;
    let drawn = { nodes: [], separators: 0 };
    const place = (key) => (typeof key === "bigint" ? key : keys.at(key));
    // Numbers are drawn as they are; byte strings, whose windows are longer, in thousandths of the view.
    const unit = () => (data.is_numeric ? 1 : Number(view.to - view.from) / 1000);
    const relative = (x) => Number(x - view.from) / unit();

    // The nodes of a layer that the view shows: positions within runs.
    const visible = (at) => {
      const found = [];
      for (const run of runs[at]) {
        const last = lastBefore(run.count, (node) => place(run.key(node)) <= view.to);
        const first = Math.max(lastBefore(run.count, (node) => place(run.key(node)) <= view.from), 0);
        if (last < 0 || (run.end !== null && run.end !== undefined && place(run.end) < view.from)) continue;
        if (found.length + last - first > NODES_MAX) return null;
        for (let node = first; node <= last; node += 1) found.push([run, node]);
      }
      return found;
    };
    // A run of a page of byte strings has no end of its own: the next one begins there.
    const endOf = (at, run, node) => {
      if (node + 1 < run.count) return place(run.key(node + 1));
      if (run.end !== null && run.end !== undefined) return place(run.end);
      const next = runs[at].indexOf(run) + 1;
      return next < runs[at].length && runs[at][next].page === run.page + 1 ? place(runs[at][next].start) : high;
    };

    // Separators of the bottom layer in the view, as a staircase: null if there are too many, or lines.
    const staircase = () => {
      if (top < 0 || layers[0].kind === "lines" || !data.layers[0].is_complete) return null;
      const points = [];
      for (const run of runs[0]) {
        if (run.end !== null && run.end !== undefined && place(run.end) < view.from) continue;
        if (place(run.start) > view.to) break;
        const first = Math.max(lastBefore(run.count, (node) => place(run.key(node)) <= view.from), 0);
        for (let node = first; node < run.count && place(run.key(node)) <= view.to; node += 1) {
          const group = run.groups?.[node];
          for (let j = 0; j < (group?.count ?? 1); j += 1) {
            const [x, block] = group
              ? [group.separator(j), (group.child + j) * layers[0].granule]
              : [place(run.key(node)), run.child(node)];
            if (x <= view.to) points.push([x, block]);
          }
          if (points.length > SEPARATORS_MAX) return null;
        }
      }
      const begin = lastBefore(points.length, (at) => points[at][0] <= view.from);
      return points.slice(Math.max(begin, 0));
    };

    // The curve in the view.
    const points = () => {
      const steps = staircase();
      drawn.separators = steps ? steps.length : 0;
      const xs = [];
      const ys = [];
      const push = (x, y) => {
        const at = Math.max(relative(x), 0);
        if (xs.length && at <= xs[xs.length - 1]) ys[ys.length - 1] = y;
        else {
          xs.push(at);
          ys.push(y);
        }
      };
      if (steps && steps.length) {
        steps.forEach(([x, block]) => push(x, block));
        push(view.to, steps[steps.length - 1][1]);
      } else {
        push(view.from, curve.block(view.from));
        const first = lastBefore(curve.xs.length, (at) => curve.xs[at] <= view.from) + 1;
        for (let at = first; at < curve.xs.length && curve.xs[at] < view.to; at += 1) push(curve.xs[at], curve.blocks[at]);
        push(view.to, curve.block(view.to));
      }
      return { xs, ys, isSteps: Boolean(steps && steps.length) };
    };

    const overlay = (u) => {
      const { ctx, bbox } = u;
      const pixel = devicePixelRatio;
      drawn.nodes = layers.map(() => 0);
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      const x = (key) => u.valToPos(relative(key), "x", true);
      const y = (block) => u.valToPos(block, "y", true);
      for (let at = top; at >= 0; at -= 1) {
        const found = visible(at);
        if (!found) continue;
        drawn.nodes[at] = found.length;
        ctx.strokeStyle = color("c" + (at % 4));
        ctx.fillStyle = faint("c" + (at % 4), 0.13);
        ctx.lineWidth = pixel * (at === top ? 1.5 : 1);
        for (const [run, node] of found) {
          const [from, to] = [place(run.key(node)), endOf(at, run, node)];
          ctx.beginPath();
          if (at === 0 && layers[0].kind === "lines") band(ctx, run, node, from, to, x, y);
          else {
            const [start, end] = at === 0 ? [run.child(node), run.next(node)] : [curve.block(from), curve.block(to)];
            ctx.rect(x(from), y(end), Math.max(x(to) - x(from), pixel), Math.max(y(start) - y(end), pixel));
          }
          ctx.fill();
          ctx.stroke();
        }
      }
      if (marked) {
        ctx.strokeStyle = color("c4");
        ctx.fillStyle = faint("c4", 0.35);
        ctx.lineWidth = pixel * 2;
        ctx.beginPath();
        ctx.moveTo(x(marked.x), bbox.top);
        ctx.lineTo(x(marked.x), bbox.top + bbox.height);
        ctx.stroke();
        if (marked.first !== undefined) {
          const [bottom, height] = [y(marked.first), Math.max(y(marked.first) - y(marked.last + 1), 2 * pixel)];
          ctx.fillRect(bbox.left, bottom - height, bbox.width, height);
        }
      }
      ctx.restore();
      element.dataset.nodes = drawn.nodes.join(",");
      element.dataset.separators = String(drawn.separators);
    };
    // The window of a line between two keys: the line, and as many blocks above it as it may be wrong.
    const band = (ctx, run, node, from, to, x, y) => {
      const one = run.line(node);
      const [begin, end] = [from > view.from ? from : view.from, to < view.to ? to : view.to];
      if (begin > end) return;
      const height = (key) => one.child + one.offset + one.slope * Number(key > from ? key - from : 0n);
      const [lowest, highest] = [one.child, run.lastChild(node) + 1];
      // An edge of the window: the line, flat where its children end.
      const edge = (above) => {
        const bends = [lowest, highest].map((bound) => {
          const distance = (bound - above - one.child - one.offset) / one.slope;
          return Number.isFinite(distance) && distance > 0 ? from + BigInt(Math.round(distance)) : begin;
        });
        const keys = [begin, ...bends.filter((key) => key > begin && key < end), end];
        return keys.map((key) => [x(key), y(Math.min(Math.max(height(key) + above, lowest), highest))]);
      };
      const outline = [...edge(0), ...edge(one.window).reverse()];
      ctx.moveTo(...outline[0]);
      outline.slice(1).forEach((point) => ctx.lineTo(...point));
      ctx.closePath();
    };

    // Texts that follow each other without repeats, short, and with as many letters as tell them apart.
    const distinct = (texts) => {
      const apart = [...new Set(texts)];
      const first = apart[0];
      let shared = 0;
      while (apart.length > 1 && shared < first.length && apart.every((text) => text[shared] === first[shared])) shared += 1;
      const begin = shared > 3 ? shared - 2 : 0;
      const cut = (text, length) => (begin ? "…" : "") + text.slice(begin, begin + length) + (text.length > begin + length ? "…" : "");
      let length = 10;
      while (length < 20 && new Set(apart.map((text) => cut(text, length))).size < apart.length) length += 1;
      const short = texts.map((text) => cut(text, length));
      return short.map((text, at) => (short.indexOf(text) < at ? "" : text));
    };
    const labels = (ticks) => {
      const texts = ticks.map((tick) => keys.show(view.from + BigInt(Math.max(Math.round(tick * unit()), 0))));
      const number = /^[ui]\d+$/.test(data.report.key_type);
      const isLong = texts.some((text) => text.length > 12);
      if (!number) return distinct(texts);
      if (!isLong) return texts;
      const span = Number(view.to - view.from);
      // Long numbers that differ little are shown from the left edge on, whose key is stated below.
      if (span < Number(view.from) / 1000) return ticks.map((tick) => "+" + formats.count(tick));
      return texts.map((text) => formats.count(Number(text)));
    };
    // What the plot reads when it draws: set for each view.
    let current = null;
    const stepped = uPlot.paths.stepped({ align: 1 });
    const linear = uPlot.paths.linear();
    const options = () => ({
      width: Math.max(element.clientWidth, 280),
      height: Math.min(Math.max(element.clientWidth * 0.5, 280), 440),
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: {
        x: { time: false, range: () => [0, current.span] },
        y: { range: () => [current.bottom - current.height * 0.04, current.bottom + current.height * 1.06] },
      },
      axes: [
        { ...axis("key", "count"), values: (_, ticks) => labels(ticks), space: 110, incrs: INCREMENTS },
        { ...axis("block", "count"), size: 64, incrs: INCREMENTS },
      ],
      series: [
        {},
        {
          stroke: color("ink"),
          width: 1.5,
          points: { show: false },
          paths: (...all) => (current.isSteps ? stepped : linear)(...all),
        },
      ],
      hooks: { draw: [overlay] },
    });
    const show = () => {
      const { xs, ys, isSteps } = points();
      const [bottom, top] = [ys[0], ys[ys.length - 1]];
      current = { span: relative(view.to), bottom, height: Math.max(top - bottom, 1), isSteps };
      if (plot) plot.setData([xs, ys]);
      else plot = new uPlot(options(), [xs, ys], element);
      const hidden = layers.map((_, at) => at).filter((at) => visible(at) === null);
      shown({
        from: keys.show(view.from),
        to: keys.show(view.to),
        blocks: [curve.block(view.from), curve.block(view.to)],
        records: [curve.record(view.from), curve.record(view.to)],
        separators: drawn.separators,
        hidden,
      });
    };
    const rebuild = () => {
      if (plot) plot.destroy();
      plot = null;
      show();
    };
    const limit = (from, to) => {
      let width = to - from;
      if (width < SPAN_MIN) width = SPAN_MIN;
      if (width >= whole.to - whole.from) return { ...whole };
      let start = from < whole.from ? whole.from : from;
      if (start + width > whole.to) start = whole.to - width;
      return { from: start, to: start + width };
    };
    const width = () => view.to - view.from;
    const share = (part) => BigInt(Math.round(Number(width()) * part));
    const set = (from, to) => {
      view = limit(from, to);
      show();
    };
    const zoom = (factor, at) => {
      const center = view.from + share(at);
      const part = (distance) => BigInt(Math.round(Number(distance) / factor));
      set(center - part(center - view.from), center + part(view.to - center));
    };
    const reset = () => set(whole.from, whole.to);
    const pan = (part) => set(view.from + share(part), view.to + share(part));
    zoomable(element, () => plot.over, { zoom, pan, reset, click: (at) => pick(view.from + share(at)) });
    onChange(element, rebuild);
    show();
    // Marks a key and the blocks that its lookup reads, and brings it into view.
    const mark = (key, first, last) => {
      const x = keys.at(key);
      marked = { x, first, last };
      if (x < view.from || x > view.to) {
        const half = width() / 2n;
        view = limit(x - half, x + half);
      }
      show();
    };
    // Shows about `count` blocks around a key.
    const focus = (key, count) => {
      const x = keys.at(key);
      const per = (curve.block(high) - curve.block(low)) / Math.max(Number(high - low), 1);
      const left = Math.max(lastBefore(curve.xs.length, (at) => curve.xs[at] <= x), 0);
      const right = Math.min(left + 1, curve.xs.length - 1);
      const rise = (curve.blocks[right] - curve.blocks[left]) / Math.max(Number(curve.xs[right] - curve.xs[left]), 1);
      const half = BigInt(Math.max(Math.round(count / 2 / (rise || per || 1)), 4));
      set(x - half, x + half);
    };
    element.ogive = { view: () => ({ from: view.from.toString(), to: view.to.toString() }), drawn: () => drawn };
    return { mark, focus, zoom, reset, keys, curve };
  };
  return { draw };
})();
