// The look-up explorer: the search for a key, step by step, on the nodes that the page holds.
"use strict";
(() => {
  const { formats } = OgiveCharts;
  const data = JSON.parse(document.getElementById("table-data").textContent);
  const nodes = OgiveNodes.table(data);
  const { layers, top, structure = data.structure } = nodes;
  const result = document.getElementById("explorer-result");
  const input = document.getElementById("explorer-key");
  const grouped = (number) => BigInt(Math.round(Number(number))).toLocaleString("en-US");
  const whole = (number) => number.toLocaleString("en-US");
  const counted = (number, noun, nouns = noun + "s") => `${whole(number)} ${number === 1 ? noun : nouns}`;

  // An element; text is text, never markup.
  const element = (name, properties = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "class") made.className = value;
      else if (key.startsWith("data-") || key.startsWith("aria-") || key === "scope" || key === "role") made.setAttribute(key, value);
      else made[key] = value;
    }
    made.append(...children);
    return made;
  };
  const isolated = (text) => element("bdi", {}, text);

  const shownElement = document.getElementById("curve-shown");
  const kinds = {
    steps: ["plain separator", "plain separators"], lines: ["line", "lines"],
    coded: ["group of coded separators", "groups of coded separators"], strings: ["separator", "separators"],
  };
  const nameOf = (at) => (at === top ? "root" : `layer ${at + 1}`);
  const shown = ({ from, to, blocks, records, hidden, separators }) => {
    const range = (pair) => `${grouped(Math.floor(pair[0]))} to ${grouped(Math.ceil(pair[1]))}`;
    const parts = [
      "Shown: keys ", isolated(from), " to ", isolated(to), `; blocks ${range(blocks)}; records about ${range(records)}.`,
    ];
    if (separators) parts.push(separators === 1 ? " The only separator." : ` Each step is one of ${whole(separators)} separators.`);
    if (hidden.length) parts.push(` Zoom in to see the nodes of ${hidden.map(nameOf).join(" and ")}.`);
    shownElement.replaceChildren(...parts);
  };
  const curveElement = document.getElementById("curve");
  const curve = data.curve.keys.length ? OgiveCurve.draw(curveElement, nodes, (x) => pick(x), shown) : null;

  const profiles = ["nvme", "ssd", "nfs", "s3"].map((name) => data.profiles.find((one) => one.name === name)).filter(Boolean);
  const time = (profile, bytes) => profile.latency_us + bytes * profile.byte_us;
  const keyText = (key) => (typeof key === "bigint" ? OgiveKeys.show(data.report.key_type, OgiveKeys.bigEndian(key, 8)) : OgiveKeys.show(data.report.key_type, key));
  const blocksText = (level, first, last) => {
    const unit = level === 0 ? "block" : `page`;
    const of = level === 0 ? "" : ` of layer ${level}`;
    return first === last ? `${unit} ${whole(first)}${of}` : `${unit}s ${whole(first)} to ${whole(last)}${of}`;
  };
  const readText = (read) => `Reads ${whole(read.bytes)} bytes at offset ${whole(read.offset)}: ${blocksText(read.level, read.first, read.last)}.`;

  // The arithmetic of one step, in words and as a sum.
  const arithmetic = (step, target) => {
    const { run, layer } = step;
    const to = blocksText(layer, step.first, step.last);
    const position = `${whole(step.node + 1)} of ${whole(run.count)}`;
    const where = layer === top && !data.layers[top].is_complete ? `Node ${position} of the part in this page` : `Node ${position}`;
    if (step.line) {
      const { line, predicted } = step;
      const distance = target > line.key ? target - line.key : 0n;
      // Rounded down, as the sum is: 0.9999 is not 1.
      const offset = (Math.floor(line.offset * 1000) / 1000).toFixed(3);
      const at = line.child + predicted;
      const end = predicted < 0 ? "the first" : "the last";
      const cut = at === step.first ? "" : `; the node leads to ${whole(step.first)} as ${end}`;
      const sum = `${whole(line.child)} + ⌊${offset} + ${line.slope.toPrecision(6)} × (${keyText(target)} − ${keyText(line.key)})⌋ = ${whole(at)}${cut}`;
      const count = whole(line.window);
      return {
        text: `${where} is a line from key ${keyText(line.key)} on, ${whole(Number(distance))} below the key. It predicts the first of ${count} that may hold the key: an approximate node, with a window of ${count}. So: ${to}.`,
        sum,
      };
    }
    if (step.group) {
      const { group, j } = step;
      const residual = j === 0 ? 0n : group.residual(j);
      const sum = j === 0
        ? `separator(0) = start = ${keyText(group.start)}`
        : `separator(${j}) = ${keyText(group.start)} + ${group.slope.toPrecision(6)} × ${j} ${residual < 0n ? "−" : "+"} ${whole(residual < 0n ? -residual : residual)} = ${keyText(step.key)}`;
      const next = step.nextKey === null || step.nextKey === undefined ? "" : ` and below the next one, ${keyText(step.nextKey)}`;
      return {
        text: `${where} is a group of ${counted(group.count, "coded separator")}: a line, and for each separator ${counted(group.width, "bit")} for its distance from the line. The key is not below separator ${j}${next}. So: ${to}, exactly.`,
        sum,
      };
    }
    const next = step.nextKey === null || step.nextKey === undefined ? "" : ` < ${keyText(step.nextKey)}`;
    return {
      text: `Separator ${position} is the last one that is not above the key. So: ${to}, exactly.`,
      sum: `${keyText(step.key)} ≤ ${keyText(target)}${next}`,
    };
  };

  // A B-tree over blocks of 4 KiB: the best case, bulk-loaded with full pages, over the same data bytes.
  const btree = (keyBytes) => {
    const fanout = Math.max(Math.floor(4096 / (keyBytes + 8)), 2);
    const leaves = Math.max(Math.ceil(data.report.data_bytes / 4096), 1);
    let [levels, pages] = [0, leaves];
    while (pages > 1) {
      pages = Math.ceil(pages / fanout);
      levels += 1;
    }
    return { fanout, leaves, levels };
  };

  const svg = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, String(value)));
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // The file from its first to its last byte, and what is read of it.
  const fileMap = (reads) => {
    const end = data.report.file_bytes;
    const map = svg("svg", { class: "filemap", viewBox: "0 0 1000 54", role: "img", preserveAspectRatio: "none" });
    const sum = reads.reduce((bytes, read) => bytes + read.bytes, 0);
    map.append(svg("title", {}, `The file, ${formats.bytes(end)}, and the ${formats.bytes(sum)} that this lookup reads of it`));
    map.append(svg("rect", { x: 0, y: 16, width: 1000, height: 18, class: "whole" }));
    for (const read of reads) {
      const [x, width] = [(read.offset / end) * 1000, Math.max((read.bytes / end) * 1000, 4)];
      const color = read.kind === "data" ? "f4" : "f" + (read.level === 0 ? top % 4 : (read.level - 1) % 4);
      const mark = svg("rect", { x: Math.min(x, 1000 - width), y: 10, width, height: 30, class: color });
      mark.append(svg("title", {}, `${read.name}: ${whole(read.bytes)} bytes at ${whole(read.offset)}`));
      map.append(mark);
    }
    return map;
  };

  const timesTable = (reads, key) => {
    const head = element("tr", {}, element("th", { scope: "col" }, "read"), element("th", { scope: "col", class: "number" }, "bytes"));
    profiles.forEach((profile) => head.append(element("th", { scope: "col", class: "number" }, `on ${profile.name}`)));
    const rowOf = (name, bytes, times, isTotal) => {
      const line = element("tr", { class: isTotal ? "total" : "" }, element("th", { scope: "row" }, name));
      line.append(element("td", { class: "number" }, whole(bytes)));
      times.forEach((us) => line.append(element("td", { class: "number" }, formats.us(us))));
      return line;
    };
    const body = element("tbody");
    const sum = (list) => list.reduce((bytes, read) => bytes + read.bytes, 0);
    const total = (list, at) => list.reduce((us, read) => us + time(profiles[at], read.bytes), 0);
    reads.forEach((read) => body.append(rowOf(read.name, read.bytes, profiles.map((one) => time(one, read.bytes)), false)));
    const open = reads.filter((read) => read.kind === "layer" || read.kind === "data");
    body.append(rowOf("together, from cold", sum(reads), profiles.map((_, at) => total(reads, at)), true));
    body.append(rowOf("together, once the table is open", sum(open), profiles.map((_, at) => total(open, at)), true));
    const tree = btree(key.length);
    const path = (count) => new Array(count).fill({ bytes: 4096 });
    const row = (name, list) => rowOf(name, sum(list), profiles.map((_, at) => total(list, at)), true);
    body.append(row(`a B-tree, from cold (${counted(tree.levels + 1, "read")})`, path(tree.levels + 1)));
    body.append(row(`a B-tree, its root in memory (${counted(Math.max(tree.levels, 1), "read")})`, path(Math.max(tree.levels, 1))));
    const table = element("table", { class: "times" }, element("caption", {}, "Modelled time of each read, T(n) = latency + n / bandwidth of the named storage"));
    table.append(element("thead", {}, head), body);
    const region = element("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Times of the reads" }, table);
    const note = `The B-tree: pages of 4 KiB, all full, ${whole(tree.fanout)} keys of ${key.length} bytes with pointers of 8 bytes in each inner page; ${counted(tree.leaves, "leaf", "leaves")} of the same data; ${counted(tree.levels, "level")} of inner pages.`;
    return [region, element("p", { class: "note" }, note)];
  };

  // What the engine did with the same key when the report was made.
  const engineNote = (hex, reads) => {
    const asked = data.keys.find((one) => one.hex === hex);
    if (!asked) return "";
    const wanted = reads.filter((read) => read.kind === "layer" || read.kind === "data");
    const made = asked.reads.filter((read) => read.purpose !== "filter");
    const same = wanted.length === made.length && wanted.every((read, at) => read.offset === made[at].offset && read.bytes === made[at].bytes);
    const skipped = !asked.is_found && made.length < wanted.length && structure.filter;
    const how = same ? "with exactly these reads" : skipped ? "and the filter saved the read of data" : "with other reads than these";
    return `The engine looked this key up when the report was made, ${how}: it is ${asked.is_found ? "present" : "absent"}.`;
  };

  const missingText = (at, text) =>
    `This page holds a part of the index only, and ${nameOf(at)} is not held around this key. Make a report around it: ogive report ${data.name} --key '${text}' -o report.html`;

  const explain = (key, text) => {
    const target = data.is_numeric ? OgiveKeys.word(key) : key;
    const found = nodes.lookUp(target);
    const list = element("ol", { class: "steps" });
    const { opening } = structure;
    const file = structure.data_file;
    const reads = [{ kind: "open", name: "open: root, locations, metadata", level: 0, ...opening }];
    const step = (name, heading, ...parts) => list.append(element("li", { class: name }, element("h4", {}, heading), ...parts));
    const line = (name, text) => element("p", { class: name }, isolated(text));
    step("open", "Open the table", line("", "The last bytes of the file hold the root of the index and the metadata. They stay in memory."), line("read", `Reads ${whole(opening.bytes)} bytes at offset ${whole(opening.offset)}: once, for all lookups.`));
    for (const one of found.steps) {
      const { text: words, sum } = arithmetic(one, target);
      const parts = (one.reads ?? []).map((read) => line("read", readText(read)));
      (one.reads ?? []).forEach((read) => reads.push({ kind: "layer", name: `layer ${read.level}`, ...read }));
      step("layer" + (one.layer % 4), `Ask ${one.layer === top ? "the root" : nameOf(one.layer)}`, ...parts, line("", words), line("sum", sum));
    }
    const answer = element("p", { class: "answer" });
    result.dataset.state = "missing";
    if (found.missing !== undefined) {
      answer.append(isolated(missingText(found.missing, text)));
      result.replaceChildren(answer, list);
      return;
    }
    if (structure.filter && structure.filter_is_used) {
      reads.push({ kind: "filter", name: "filter, once", level: 0, ...structure.filter });
      step("open", "Ask the filter", line("", "A Bloom filter, read once, tells that most absent keys are absent, without a read of data. (This page does not compute it.)"), line("read", `Holds ${whole(structure.filter.bytes)} bytes at offset ${whole(structure.filter.offset)}.`));
    }
    const dataReads = found.reads ?? [];
    dataReads.forEach((read) => reads.push({ kind: "data", name: "data", ...read }));
    const where = blocksText(0, found.first, found.last);
    const proof = found.isExact ? "If the table has the key, it is there." : "If the table has the key, it is there; the engine checks that what it read surrounds the key, and else reads more.";
    step("data", `Read ${where}, and search there`, ...dataReads.map((read) => line("read", readText(read) + (file ? ` (In ${file}.)` : ""))), line("", found.reads ? proof : "The place of the block is not in this page."));
    Object.assign(result.dataset, { state: "found", first: found.first, last: found.last, reads: JSON.stringify(reads.map((read) => [read.kind, read.offset, read.bytes])) });
    const bytes = dataReads.reduce((sum, read) => sum + read.bytes, 0);
    answer.append("Key ", isolated(keyText(target)), ` is in ${where}, or nowhere: `, element("strong", {}, `${formats.bytes(bytes)} of ${formats.bytes(data.report.data_bytes)}`), " of data to read.");
    const note = engineNote(OgiveKeys.toHex(key), reads);
    const caption = element("p", { class: "read" }, "The file, from its first byte to its last, and the reads:");
    const map = file ? [] : [caption, fileMap(reads)];
    result.replaceChildren(answer, ...(note ? [element("p", {}, note)] : []), list, ...map, ...timesTable(reads, key));
    if (curve) curve.mark(key, found.first, found.last);
    last = key;
  };

  let last = null;
  const lookUp = (text) => {
    const key = OgiveKeys.parse(data.report.key_type, text);
    if (key && !(data.is_numeric && key.length !== 8)) return explain(key, text);
    result.dataset.state = "invalid";
    const wrong = `This is not a key of type ${data.report.key_type}. Type one as \`ogive get\` takes it, or its bytes as 0x and hexadecimal digits.`;
    result.replaceChildren(element("p", { class: "problem" }, wrong));
  };
  const pick = (x) => {
    const text = curve.keys.show(x);
    input.value = text;
    lookUp(text);
  };
  document.getElementById("explorer-form").addEventListener("submit", (event) => {
    event.preventDefault();
    lookUp(input.value);
  });
  const examples = document.getElementById("explorer-examples");
  for (const asked of data.keys) {
    const button = element("button", { type: "button", "data-hex": asked.hex }, isolated(asked.text === "" ? "(empty)" : asked.text));
    button.addEventListener("click", () => {
      input.value = asked.text;
      explain(OgiveKeys.fromHex(asked.hex), asked.text);
    });
    examples.append(button, asked.is_found ? "" : " (absent)");
  }
  const press = (id, action) => document.getElementById(id).addEventListener("click", action);
  if (curve) {
    press("curve-in", () => curve.zoom(4, 0.5));
    press("curve-out", () => curve.zoom(0.25, 0.5));
    press("curve-all", () => curve.reset());
    press("curve-block", () => last && curve.focus(last, 3));
  }
  const legend = document.getElementById("curve-layers");
  layers.forEach((layer, at) => {
    const what = layer.kind === "lines" ? "approximate: each line with its window" : "exact";
    const name = at === top ? "root, in memory" : `layer ${at + 1}, read on demand`;
    const part = data.layers[at].is_complete ? "" : "; a part is in this page";
    legend.prepend(element("li", { class: "layer" + (at % 4) }, `${name}: ${counted(layer.nodes, ...kinds[layer.kind])}, ${what}${part}`));
  });
  if (data.keys.length) {
    input.value = data.keys[0].text;
    explain(OgiveKeys.fromHex(data.keys[0].hex), data.keys[0].text);
  }
})();
