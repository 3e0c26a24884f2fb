// Charts: formats, colours, zoom by wheel, touch and keys, and plain charts from their data. Drawn by uPlot.
"use strict";
const OgiveCharts = (() => {
  const short = (number) => {
    const size = Math.abs(number);
    if (size >= 100 || Number.isInteger(number)) return number.toFixed(0);
    return String(Number(number.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3)));
  };
  const scaled = (number, step, units) => {
    let at = 0;
    while (Math.abs(number) >= step * 0.9995 && at + 1 < units.length) {
      number /= step;
      at += 1;
    }
    return short(number) + units[at];
  };
  const formats = {
    count: (number) => scaled(number, 1000, ["", " k", " M", " G", " T", " P", " E"]),
    bytes: (number) => scaled(number, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]),
    us: (us) =>
      us !== 0 && Math.abs(us) < 1 ? short(us * 1000) + " ns" : scaled(us, 1000, [" us", " ms", " s", " ks"]),
  };

  // A colour of the page, as the scheme and print have it now.
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const faint = (name, alpha) => {
    const hex = color(name).replace("#", "");
    const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
    const part = (at) => parseInt(full.slice(at, at + 2), 16);
    return `rgba(${part(0)},${part(2)},${part(4)},${alpha})`;
  };

  const axis = (label, unit) => ({
    label,
    labelSize: 24,
    stroke: color("quiet"),
    grid: { stroke: color("grid"), width: 1 },
    ticks: { stroke: color("grid"), width: 1 },
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : formats[unit](tick))),
  });

  // Calls `redraw` when the scheme, the width, or the medium changes.
  const redraws = [];
  const onChange = (element, redraw) => {
    redraws.push(redraw);
    let width = element.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(element.clientWidth - width) > 1) {
        width = element.clientWidth;
        redraw();
      }
    }).observe(element);
  };
  const redrawAll = () => redraws.forEach((redraw) => redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  const printing = (is) => {
    document.documentElement.classList.toggle("printing", is);
    redrawAll();
  };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));

  // Zoom by wheel (while the element has the focus, or with Ctrl), by two fingers, by dragging and by keys.
  //
  // `view` has zoom(factor, share): a factor above 1 shows less, and `share` (0 to 1) of the width stays in place;
  // pan(share): moves right by a share of the width; reset(); and click(share), which is optional.
  const zoomable = (element, area, view) => {
    element.classList.add("zooms");
    const share = (event) => {
      const box = area().getBoundingClientRect();
      return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    };
    element.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !element.contains(document.activeElement)) return;
        event.preventDefault();
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / 600);
        else view.zoom(Math.exp(-event.deltaY / 300), share(event));
      },
      { passive: false },
    );
    const fingers = new Map();
    let dragged = 0;
    element.addEventListener("pointerdown", (event) => {
      if (event.target.closest("button, input, .u-legend")) return;
      element.focus({ preventScroll: true });
      fingers.set(event.pointerId, event);
      dragged = 0;
    });
    element.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const width = area().getBoundingClientRect().width;
      if (fingers.size === 1) {
        dragged += Math.abs(event.clientX - before.clientX);
        if (dragged > 4) view.pan((before.clientX - event.clientX) / width);
      } else {
        const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
        const apart = (finger) => Math.max(Math.abs(finger.clientX - other.clientX), 10);
        view.zoom(apart(event) / apart(before), share(other));
        dragged = 100;
      }
      fingers.set(event.pointerId, event);
    });
    const lift = (event) => {
      if (fingers.delete(event.pointerId) && dragged <= 4 && event.type === "pointerup" && view.click) {
        view.click(share(event));
      }
    };
    ["pointerup", "pointercancel", "pointerleave"].forEach((name) => element.addEventListener(name, lift));
    const keys = {
      "+": () => view.zoom(2, 0.5),
      "=": () => view.zoom(2, 0.5),
      "-": () => view.zoom(0.5, 0.5),
      ArrowLeft: () => view.pan(-0.2),
      ArrowRight: () => view.pan(0.2),
      Home: () => view.reset(),
      0: () => view.reset(),
    };
    element.addEventListener("keydown", (event) => {
      if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  };

  const range = (values) => {
    const known = values.filter((value) => Number.isFinite(value));
    return known.length ? [known[0], known[known.length - 1]] : [0, 1];
  };

  // A chart from its data, as src/chart.rs writes it.
  const plain = (element) => {
    const data = JSON.parse(element.querySelector("script").textContent);
    const [low, high] = range(data.xs);
    let view = [low, high > low ? high : low + 1];
    let plot = null;
    const show = () => plot.setScale("x", { min: view[0], max: view[1] });
    const within = (from, to) => {
      const width = Math.min(to - from, high - low) || 1;
      const start = Math.min(Math.max(from, low), high - width);
      view = [start, start + width];
      show();
    };
    const series = (one, at) => {
      const stroke = color("c" + (at % 6));
      const paths = {
        steps: uPlot.paths.stepped({ align: 1 }),
        bars: uPlot.paths.bars({ size: [0.9, 60] }),
        points: () => null,
      };
      const value = (_, shown) => (shown === null || shown === undefined ? "" : formats[data.y.unit](shown));
      const filled = one.style === "bars" ? faint("c" + (at % 6), 0.6) : undefined;
      const look = { label: one.name, stroke, width: 2, paths: paths[one.style], fill: filled, value };
      return one.style === "points" ? { ...look, points: { show: true, size: 6 } } : look;
    };
    const draw = () => {
      if (plot) plot.destroy();
      const x = (_, shown) => (shown === null || shown === undefined ? "" : formats[data.x.unit](shown));
      plot = new uPlot(
        {
          width: Math.max(element.clientWidth, 280),
          height: 320,
          cursor: { drag: { x: false, y: false } },
          scales: { x: { time: false, distr: data.x.is_log ? 3 : 1 }, y: { distr: data.y.is_log ? 3 : 1 } },
          axes: [axis(data.x.label, data.x.unit), { ...axis(data.y.label, data.y.unit), size: 70 }],
          series: [{ label: data.x.label, value: x }, ...data.series.map(series)],
        },
        [data.xs, ...data.series.map((one) => one.values)],
        element,
      );
      show();
    };
    const zoom = (factor, share) => {
      const [from, to] = view;
      const center = from + (to - from) * share;
      within(center - (center - from) / factor, center + (to - center) / factor);
    };
    draw();
    onChange(element, draw);
    zoomable(element, () => plot.over, {
      zoom,
      pan: (share) => within(view[0] + (view[1] - view[0]) * share, view[1] + (view[1] - view[0]) * share),
      reset: () => within(low, high),
    });
    element.ogive = { view: () => [...view] };
  };

  document.querySelectorAll("[data-chart=plain]").forEach(plain);
  return { formats, color, faint, axis, onChange, zoomable };
})();
