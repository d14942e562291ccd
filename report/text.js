// Building the page's elements, and numbers as a person reads them.
//
// What comes from the record (names, sources, compilers' words) was written by others. It reaches the page as text nodes
// only: nothing here or elsewhere parses it as markup, and attributes get numbers and words of our own.
"use strict";

// element("td", {class: "number"}, "1.2 x", child, ...); a property that begins with "on" is a listener.
function element(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

function fill(node, ...children) {
  node.replaceChildren();
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

const nothing = (words) => element("p", {class: "nothing"}, words);

// {term: text or node}; empty values are left out.
function facts(pairs) {
  const list = element("dl", {class: "facts"});
  for (const [term, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(element("dt", {}, term), element("dd", {}, value));
  }
  return list;
}

// heads: [text or {text, class}]; rows: arrays of cells, each a text, a node, or {value, class}.
function table(heads, rows) {
  const cell = (tag, one, scope) => {
    const plain = one === null || one === undefined || one instanceof Node || typeof one !== "object" || Array.isArray(one);
    return plain ? element(tag, {scope}, one) : element(tag, {scope, class: one.class}, one.value);
  };
  return element("table", {},
    element("thead", {}, element("tr", {}, heads.map((head) => cell("th", head, "col")))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((one, i) => cell(i ? "td" : "th", one, i ? null : "row"))))));
}

const number = (value) => ({value, class: "number"});

function digits(value, count) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return Math.abs(value) >= 1e6 ? value.toPrecision(count) : value.toFixed(Math.max(0, count - 1 - size));
}

// "1.23×"
function times(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value >= 99.5) return value.toFixed(0) + "×";
  if (value >= 9.995) return value.toFixed(1) + "×";
  return (value >= 0.0995 ? value.toFixed(2) : digits(value, 2)) + "×";
}

function interval(ratio) {
  return ratio ? `[${times(ratio.low).slice(0, -1)}, ${times(ratio.high).slice(0, -1)}]` : "";
}

function percent(share, places = 1) {
  return share === null || share === undefined || !Number.isFinite(share) ? "–" : (100 * share).toFixed(places) + " %";
}

function withUnit(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let step = 0;
  while (Math.abs(value) >= 999.5 && step < prefixes.length - 1) {
    value /= 1000;
    ++step;
  }
  return `${digits(value, 3)} ${prefixes[step]}${unit}`;
}

function timeText(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "–";
  if (ns < 999.5) return digits(ns, 3) + " ns";
  if (ns < 999500) return digits(ns / 1e3, 3) + " µs";
  if (ns < 999.5e6) return digits(ns / 1e6, 3) + " ms";
  return digits(ns / 1e9, 3) + " s";
}

function durationText(seconds) {
  if (seconds < 90) return digits(seconds, 2) + " s";
  if (seconds < 5400) return (seconds / 60).toFixed(1) + " min";
  return (seconds / 3600).toFixed(1) + " h";
}

// "2026-01-31T12:00:00.000Z" -> "2026-01-31 12:00 UTC"
function dateText(at) {
  return at ? at.slice(0, 10) + " " + at.slice(11, 16) + " UTC" : "";
}

function counted(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many || one + "s"}`;
}
