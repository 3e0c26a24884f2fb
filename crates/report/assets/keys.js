// Keys: from text to the bytes that the engine compares, and back. Specified in docs/format/types.md.
"use strict";
const OgiveKeys = (() => {
  const integer = /^([ui])(8|16|32|64|128)$/;
  const units = { s: 0, ms: 3, us: 6, ns: 9 };

  const toHex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const fromHex = (hex) => {
    if (hex.length % 2 || /[^0-9a-f]/i.test(hex)) return null;
    return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  };
  const bigEndian = (number, width) => fromHex(BigInt.asUintN(width * 8, number).toString(16).padStart(width * 2, "0"));
  const word = (bytes) => BigInt("0x" + (toHex(bytes) || "0"));
  const flipped = (number, width) => bigEndian(number ^ (1n << BigInt(width * 8 - 1)), width);
  const signed = (bytes) => {
    const bits = bytes.length * 8;
    return BigInt.asIntN(bits, word(bytes) ^ (1n << BigInt(bits - 1)));
  };
  const whole = (text) => (/^[+-]?\d{1,40}$/.test(text) ? BigInt(text.replace("+", "")) : null);

  const compare = (one, other) => {
    const length = Math.min(one.length, other.length);
    for (let at = 0; at < length; at += 1) if (one[at] !== other[at]) return one[at] - other[at];
    return one.length - other.length;
  };

  // Escapes \n, \r, \t, \xNN and \\; text with any other backslash is taken as it is.
  const unescaped = (text) => {
    const plain = new TextEncoder().encode(text);
    if (!text.includes("\\")) return plain;
    if (/\\(?!n|r|t|\\|x[0-9a-f]{2})/i.test(text.replaceAll("\\\\", ""))) return plain;
    const bytes = [];
    const single = { n: 10, r: 13, t: 9, "\\": 92 };
    for (let at = 0; at < plain.length; at += 1) {
      if (plain[at] !== 92) bytes.push(plain[at]);
      else if (String.fromCharCode(plain[at + 1]) === "x") {
        bytes.push(parseInt(String.fromCharCode(plain[at + 2], plain[at + 3]), 16));
        at += 3;
      } else {
        bytes.push(single[String.fromCharCode(plain[at + 1])]);
        at += 1;
      }
    }
    return Uint8Array.from(bytes);
  };
  const escaped = (bytes) => {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      if (!/[\p{Cc}]/u.test(text)) return text;
    } catch {
      // Not text: shown byte by byte.
    }
    const shown = (byte) => (byte >= 32 && byte < 127 && byte !== 92 ? String.fromCharCode(byte) : "\\x" + toHex([byte]));
    return [...bytes].map(shown).join("");
  };

  const float = (text, width) => {
    const names = { inf: Infinity, "+inf": Infinity, "-inf": -Infinity, nan: NaN };
    const number = names[text.toLowerCase()] ?? (text.trim() === "" ? null : Number(text));
    if (number === null || (Number.isNaN(number) && text.toLowerCase() !== "nan")) return null;
    const view = new DataView(new ArrayBuffer(width));
    const value = number === 0 ? 0 : number;
    if (width === 8) view.setFloat64(0, value);
    else view.setFloat32(0, value);
    let bits = word(new Uint8Array(view.buffer));
    const sign = 1n << BigInt(width * 8 - 1);
    if (Number.isNaN(value)) bits &= sign - 1n;
    return bigEndian(bits & sign ? ~bits : bits | sign, width);
  };
  const floatText = (bytes) => {
    const width = bytes.length;
    const sign = 1n << BigInt(width * 8 - 1);
    const stored = word(bytes);
    const bits = stored & sign ? stored ^ sign : ~stored;
    const view = new DataView(bigEndian(bits, width).buffer);
    return String(width === 8 ? view.getFloat64(0) : view.getFloat32(0));
  };

  const daysOf = (text) => {
    const parts = /^([+-]?\d{4,6})-(\d\d)-(\d\d)$/.exec(text);
    if (!parts) return null;
    const date = new Date(0);
    date.setUTCFullYear(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]));
    return date.getUTCDate() === Number(parts[3]) ? BigInt(Math.round(date.getTime() / 86400000)) : null;
  };
  const timeOf = (text, digits) => {
    const parts = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$/.exec(text);
    if (!parts) return null;
    const seconds = Number(parts[1]) * 3600 + Number(parts[2]) * 60 + Number(parts[3] ?? 0);
    return BigInt(seconds) * 10n ** BigInt(digits) + BigInt((parts[4] ?? "").padEnd(digits, "0").slice(0, digits) || 0);
  };
  const timeText = (units, digits) => {
    const scale = 10n ** BigInt(digits);
    const clock = new Date(Number(units / scale) * 1000).toISOString().slice(11, 19);
    const part = (units % scale).toString().padStart(digits, "0").replace(/0+$/, "");
    return part && digits ? `${clock}.${part}` : clock;
  };
  const dateText = (days) => {
    const date = new Date(Number(days) * 86400000);
    return Number.isNaN(date.getTime()) ? `day ${days}` : date.toISOString().split("T")[0];
  };

  // The bytes of a key of a scalar type; null if the text is none of its keys.
  const scalar = (type, text) => {
    const number = integer.exec(type);
    if (number) {
      const [width, value] = [Number(number[2]) / 8, whole(text.trim())];
      const [low, high] = number[1] === "u" ? [0n, 1n << BigInt(number[2])] : [-(1n << BigInt(number[2] - 1)), 1n << BigInt(number[2] - 1)];
      if (value === null || value < low || value >= high) return null;
      return number[1] === "u" ? bigEndian(value, width) : flipped(value, width);
    }
    if (type === "text" || type === "bytes") return unescaped(text);
    if (type === "bool") return text === "true" ? Uint8Array.of(1) : text === "false" ? Uint8Array.of(0) : null;
    if (type === "f32" || type === "f64") return float(text, type === "f64" ? 8 : 4);
    if (type === "uuid") {
      const bytes = fromHex(text.replaceAll("-", ""));
      return bytes && bytes.length === 16 ? bytes : null;
    }
    const fixed = /^bytes(\d+)$/.exec(type);
    if (fixed) {
      const bytes = unescaped(text);
      return bytes.length === Number(fixed[1]) ? bytes : null;
    }
    if (type === "date") {
      const days = daysOf(text.trim());
      return days === null ? null : flipped(days, 4);
    }
    const clock = /^(time|timestamp)\((s|ms|us|ns)\)$/.exec(type);
    if (!clock) return null;
    const digits = units[clock[2]];
    if (clock[1] === "time") {
      const time = timeOf(text.trim(), digits);
      return time === null ? null : bigEndian(time, 8);
    }
    const [date, time] = text.trim().replace(/Z$/, "").split(/[T ]/);
    const [days, rest] = [daysOf(date), time === undefined ? 0n : timeOf(time, digits)];
    return days === null || rest === null ? null : flipped(days * 86400n * 10n ** BigInt(digits) + rest, 8);
  };
  const scalarText = (type, bytes) => {
    const number = integer.exec(type);
    if (number) return (number[1] === "u" ? word(bytes) : signed(bytes)).toString();
    if (type === "bool") return String(bytes[0] === 1);
    if (type === "f32" || type === "f64") return floatText(bytes);
    if (type === "uuid") return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    if (type === "date") return dateText(signed(bytes));
    const clock = /^(time|timestamp)\((s|ms|us|ns)\)$/.exec(type);
    if (!clock) return escaped(bytes);
    const digits = units[clock[2]];
    if (clock[1] === "time") return timeText(word(bytes), digits);
    const day = 86400n * 10n ** BigInt(digits);
    const since = signed(bytes);
    const rest = ((since % day) + day) % day;
    return `${dateText((since - rest) / day)}T${timeText(rest, digits)}`;
  };

  // The components of a tuple type such as (text, timestamp(us) desc, f64? nulls first).
  const components = (type) => {
    if (!type.startsWith("(") || !type.endsWith(")")) return null;
    const parts = type.slice(1, -1).match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
    return parts.map((part) => {
      const [, name, question, rest] = /^\s*([a-z0-9]+(?:\([^)]*\))?)(\?)?(.*)$/.exec(part) ?? [];
      const descending = / desc/.test(rest ?? "");
      const last = / nulls last/.test(rest ?? "") || (!descending && !/ nulls first/.test(rest ?? ""));
      return { name, descending, nullable: question === "?", nullsLast: last };
    });
  };
  const fields = (line) => {
    const found = [];
    const field = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/y;
    for (let match; field.lastIndex < line.length || found.length === 0; ) {
      match = field.exec(line);
      if (!match) return null;
      found.push({ text: match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'), quoted: match[1] !== undefined });
      if (field.lastIndex === line.length) break;
    }
    return found;
  };
  const width = (name) => {
    const number = integer.exec(name);
    if (number) return Number(number[2]) / 8;
    const fixed = /^bytes(\d+)$/.exec(name);
    return fixed ? Number(fixed[1]) : { bool: 1, f32: 4, f64: 8, uuid: 16, date: 4 }[name] ?? (/^time/.test(name) ? 8 : null);
  };
  const tuple = (parts, text) => {
    const given = fields(text);
    if (!given || given.length !== parts.length) return null;
    const bytes = [];
    for (const [at, part] of parts.entries()) {
      const { text: field, quoted } = given[at];
      if (part.nullable && field === "" && !quoted) {
        bytes.push(part.nullsLast ? 2 : 0, ...new Array(width(part.name) ?? 0).fill(0));
        continue;
      }
      const value = scalar(part.name, field);
      if (!value) return null;
      const stored = [];
      if (part.name === "text" || part.name === "bytes") {
        value.forEach((byte) => (byte === 0 ? stored.push(0, 255) : stored.push(byte)));
        stored.push(0, 0);
      } else stored.push(...value);
      if (part.nullable) bytes.push(1);
      bytes.push(...(part.descending ? stored.map((byte) => 255 - byte) : stored));
    }
    return Uint8Array.from(bytes);
  };

  // The bytes of a key as it is typed: text of its type, or 0x and hexadecimal digits. Null if it is none.
  const parse = (type, text) => {
    const parts = components(type);
    const key = parts ? tuple(parts, text) : scalar(type, text);
    if (key) return key;
    return /^0x/i.test(text.trim()) ? fromHex(text.trim().slice(2)) : null;
  };
  const show = (type, bytes) => (components(type) || width(type) === undefined ? "0x" + toHex(bytes) : scalarText(type, bytes));

  return { parse, show, compare, toHex, fromHex, bigEndian, word };
})();
