// Runs the script of a page in Node, with as much of a browser as it needs, and says what it did.
// usage: node page_in_node.js page.html [fragment] [driver.js]; prints JSON: state, errors, texts by id, drawn.
"use strict";
const { readFileSync } = require("node:fs");
const [, , path, fragment = "", driver] = process.argv;
const html = readFileSync(path, "utf8");

const matchesOne = (element, selector) => {
  const [tag, ...classes] = selector.split(".");
  return (!tag || element.tag === tag) && classes.every((name) => element.classes.has(name));
};
class Element {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, children: [], parent: null, listeners: {}, dataset: {}, classes: new Set(), hidden: false, value: "", disabled: false });
    Object.assign(this, { offsetTop: 0, offsetHeight: 20, scrollTop: 0, clientHeight: 300, clientWidth: 1200 });
    this.style = { setProperty() {} };
    const classes = this.classes;
    this.classList = { add: (n) => classes.add(n), remove: (n) => classes.delete(n), toggle: (n, on) => (on ? classes.add(n) : classes.delete(n)), contains: (n) => classes.has(n) };
  }
  set className(value) { this.setAttribute("class", value); }
  set innerHTML(_) { throw new Error("innerHTML"); }
  get id() { return this.attributes.id; }
  get title() { return this.attributes.title; }
  set title(value) { this.attributes.title = value; }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (name === "class") String(value).split(" ").filter(Boolean).forEach((each) => this.classes.add(each));
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = String(value);
  }
  removeAttribute(name) { delete this.attributes[name]; }
  append(...items) { for (const item of items) { this.children.push(item instanceof Element ? Object.assign(item, { parent: this }) : String(item)); } }
  replaceChildren(...items) { this.children = []; this.append(...items); }
  get textContent() { return this.children.map((each) => (each instanceof Element ? each.textContent : each)).join(""); }
  set textContent(text) { this.children = [String(text)]; }
  get all() { return this.children.filter((each) => each instanceof Element).flatMap((each) => [each, ...each.all]); }
  addEventListener(kind, work) { (this.listeners[kind] ??= []).push(work); }
  dispatch(kind, event = {}) {
    const whole = { type: kind, target: this, button: 0, preventDefault() {}, ...event };
    for (let at = this; at; at = at.parent) for (const work of at.listeners[kind] ?? []) work(whole);
    for (const work of globalListeners[kind] ?? []) work(whole);
  }
  click() { this.dispatch("click"); if (this.onclick) this.onclick(); }
  closest(selectors) {
    for (let at = this; at; at = at.parent) if (selectors.split(", ").some((each) => matchesOne(at, each))) return at;
    return null;
  }
  scrollIntoView() {}
  setPointerCapture() {}
  getBoundingClientRect() { return { left: 0, top: 0, width: this.clientWidth, height: 400 }; }
  getContext() { return (this.context ??= context(this)); }
}
const context = (canvas) => {
  const made = { calls: [] }, colours = ["fillStyle", "strokeStyle", "globalAlpha", "lineWidth", "font", "textAlign"];
  for (const name of ["save", "restore", "beginPath", "rect", "clip", "fillRect", "strokeRect", "moveTo", "lineTo", "bezierCurveTo", "stroke", "fill", "fillText", "setLineDash", "setTransform"]) {
    made[name] = (...values) => {
      if (values.some((value) => typeof value === "number" && !Number.isFinite(value))) throw new Error(`${name}(${values})`);
      made.calls.push([name, values, Object.fromEntries(colours.map((each) => [each, made[each]]))]);
    };
  }
  made.clearRect = () => { made.calls.length = 0; };
  made.measureText = (text) => ({ width: 6.5 * text.length });
  return made;
};

const globalListeners = {}, byId = {}, root = new Element("html"), body = new Element("body");
const unescaped = (text) => text.replace(/&quot;/g, '"').replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&#x27;/g, "'").replace(/&amp;/g, "&");
for (const [, tag, inside] of html.matchAll(/<(\w+)([^<>]* id="[\w-]+"[^<>]*)>/g)) {
  const made = new Element(tag);
  for (const [, name, value] of inside.matchAll(/([\w-]+)="([^"]*)"/g)) made.setAttribute(name, unescaped(value));
  made.hidden = / hidden/.test(inside);
  byId[made.id] = made;
  body.append(made);
}
const marked = (pattern, name) => [...html.matchAll(pattern)].map(([, value]) => { const made = new Element("span"); made.dataset[name] = unescaped(value); return made; });
const rules = marked(/class="rule" data-rule="(\d+)"/g, "rule"), boxes = marked(/class="node made" data-label="([^"]*)"/g, "label");
byId.data.textContent = html.split('id="data">')[1].split("</script>")[0];

const style = Object.fromEntries([...html.matchAll(/(--[\w-]+): (#[0-9a-f]{6})/g)].reverse().map(([, name, value]) => [name, value]));
Object.assign(globalThis, {
  document: {
    documentElement: root, body, title: "",
    getElementById: (id) => byId[id] ?? body.all.find((each) => each.id === id) ?? null,
    createElement: (tag) => new Element(tag),
    querySelectorAll: (selector) => selector === ".program .rule" ? rules : selector === ".rules .made" ? boxes : selector === "#tabs button" ? byId.tabs.all.filter((each) => each.tag === "button") : [],
  },
  addEventListener: (kind, work) => (globalListeners[kind] ??= []).push(work),
  getComputedStyle: () => ({ getPropertyValue: (name) => style[name] ?? "sans-serif" }),
  matchMedia: () => ({ addEventListener() {} }),
  ResizeObserver: class { observe() {} },
  requestAnimationFrame: (work) => { frames.push(work); return frames.length; },
  devicePixelRatio: 1, location: { hash: fragment }, history: { replaceState: (_, __, hash) => { globalThis.location.hash = hash; } },
});
const frames = [], errors = [], said = {};
const flush = () => { while (frames.length) frames.shift()(); };
const script = html.split(/<script>/)[1].split("</script>")[0];
try {
  new Function(script)();
  flush();
  if (driver) new Function("get", "root", "flush", "said", "rules", "Element", readFileSync(driver, "utf8"))((id) => document.getElementById(id), root, flush, said, rules, Element);
  flush();
} catch (error) { errors.push(String(error.stack)); }
console.log(JSON.stringify({
  state: root.dataset, errors, said, title: document.title,
  texts: Object.fromEntries(Object.entries(byId).filter(([id]) => id !== "data").map(([id, each]) => [id, each.textContent])),
  on: rules.map((rule) => rule.classes.has("on")), colours: boxes.map((each) => each.style.color ?? null),
  drawn: Object.fromEntries(["base", "overlay"].filter((id) => byId[id]).map((id) => [id, byId[id].context?.calls ?? []])),
  size: byId.base ? [byId.base.width, byId.base.height] : null,
}));
