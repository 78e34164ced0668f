"use strict";
// What the pages of queries and of programs share. Everything that comes from a query, a program or its data is put into
// the page as text, never as HTML.
const parts = (data) => {
  const put = (kind, attributes = {}, ...children) => {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const many = (n, what) => `${n.toLocaleString("en")} ${n === 1 ? what : what === "match" ? "matches" : what + "s"}`;

  // --- values as texts ------------------------------------------------------------------------------------------

  const plain = (value) => {
    if (value === null) return "NULL";
    if (Array.isArray(value)) return value.map(plain).join(", ");
    if (typeof value === "object") return Object.entries(value).map(([name, each]) => `${name} ${plain(each)}`).join(", ");
    return String(value);
  };
  const short = (value) => {
    if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
    if (Array.isArray(value)) return value.map(short).join(", ");
    return typeof value === "string" ? value : plain(value);
  };

  // Long names often differ at their end, so what is left out is the middle.
  const shortened = (text, size) => text.length <= size ? text : `${text.slice(0, Math.ceil(size / 2) - 1)}…${text.slice(-Math.floor(size / 2))}`;

  // --- the axis -------------------------------------------------------------------------------------------------

  const DAY = 86400000;
  const two = (n, width = 2) => String(n).padStart(width, "0");
  const day = (at) => `${two(at.getUTCFullYear(), 4)}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  // A place on the axis as a text, with no more digits than a step of this length needs.
  const axisText = (x, step) => {
    if (!data.timed) return Math.round(x).toLocaleString("en");
    const ms = data.origin + x, at = new Date(ms);
    if (Number.isNaN(at.getTime())) return String(Math.round(ms));
    if (step >= DAY) return day(at);
    if (ms % DAY === 0) return day(at).slice(-5);
    const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    if (step >= 60000) return clock;
    if (step >= 1000) return `${clock}:${two(at.getUTCSeconds())}`;
    const digits = Math.min(9, Math.max(1, Math.ceil(-Math.log10(step / 1000))));
    const seconds = (((ms % 60000) + 60000) % 60000) / 1000;
    return `${clock}:${two(seconds.toFixed(digits), digits + 3)}`;
  };
  const stepOf = (span, most) => {
    const round = data.timed
      ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5,
        DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY]
      : [];
    const found = span / most >= 1 ? round.find((step) => span / step <= most) : undefined;
    if (found) return found;
    const power = 10 ** Math.floor(Math.log10(span / most));
    const step = [1, 2, 5, 10].map((n) => n * power).find((each) => span / each <= most);
    return data.timed ? step : Math.max(1, step);
  };
  const cutText = (ctx, text, room) => {
    if (ctx.measureText(text).width <= room) return text;
    let size = Math.min(text.length, 60);
    while (size > 2 && ctx.measureText(shortened(text, size)).width > room) size -= 1;
    return shortened(text, size);
  };

  return { put, many, plain, short, shortened, DAY, axisText, stepOf, cutText };
};
