// What all plots share: a drawing that follows the width of its place, a tip beside the mark under the pointer, and the
// keyboard's way from mark to mark. The drawing itself is d3's.
"use strict";

const drawings = [];

// Draws now and again when the width or what is shown changes; draw(place, width) fills the place.
function plot(place, draw) {
  const one = {place, width: 0, draw() {
    one.width = place.clientWidth;
    if (one.width > 0) draw(place, one.width);
  }};
  drawings.push(one);
  one.draw();
  new ResizeObserver(() => {
    if (Math.abs(place.clientWidth - one.width) > 1) one.draw();
  }).observe(place);
}

function redrawAll() {
  for (const one of drawings) if (one.place.isConnected) one.draw();
}

function canvas(place, width, height, label) {
  return d3.select(place).append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("height", height)
    .attr("role", "img").attr("aria-label", label);
}

// --- the tip ---------------------------------------------------------------------------------------------------------

function showTip(words, x, y) {
  const tip = byId("tip");
  tip.textContent = words;
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}

function hideTip() {
  byId("tip").hidden = true;
}

// --- marks -----------------------------------------------------------------------------------------------------------

// Gives the marks of a drawing their words and their task: by pointer, and by keyboard with one stop for the whole
// drawing, in which the arrow keys walk. open(datum) may be null.
function marks(svg, selection, words, open) {
  const nodes = selection.classed("mark", true).nodes();
  selection
    .on("mousemove", (datum) => showTip(words(datum), d3.event.clientX, d3.event.clientY))
    .on("mouseleave", hideTip)
    .on("click", (datum) => open && open(datum));
  let current = -1;
  const go = (index) => {
    if (!nodes.length) return;
    if (nodes[current]) nodes[current].classList.remove("current");
    current = Math.max(0, Math.min(nodes.length - 1, index));
    const node = nodes[current];
    node.classList.add("current");
    node.scrollIntoView({block: "nearest"});
    const box = node.getBoundingClientRect();
    showTip(words(d3.select(node).datum()), Math.min(box.right, innerWidth - 40), box.top + box.height / 2);
  };
  const keys = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10};
  svg.attr("tabindex", 0).attr("role", "application")
    .on("keydown", () => {
      const event = d3.event;
      if (event.key in keys) go(current + keys[event.key]);
      else if (event.key === "Home") go(0);
      else if (event.key === "End") go(nodes.length - 1);
      else if (event.key === "Enter" && current >= 0 && open) open(d3.select(nodes[current]).datum());
      else if (event.key === "Escape") hideTip();
      else return;
      event.preventDefault();
    })
    .on("blur", () => {
      if (nodes[current]) nodes[current].classList.remove("current");
      hideTip();
    });
}

// --- parts of drawings -------------------------------------------------------------------------------------------------

const RUN_COLOURS = ["var(--one)", "var(--two)", "var(--three)", "var(--four)", "var(--five)", "var(--six)"];
const DASHES = [null, "6 3", "2 3", "8 3 2 3", "1 4", "10 4"];

function runColour(index) {
  return RUN_COLOURS[index % RUN_COLOURS.length];
}

// 0.1 0.2 0.5 1 2 5 ... within the domain; fewer where they would stand too close.
function logTicks([low, high], most) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const step of [1, 2, 5]) ticks.push(step * 10 ** power);
  }
  const inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  if (inside.length < 3) return d3.ticks(low, high, Math.min(most, 5));
  if (inside.length <= most) return inside;
  const powers = inside.filter((tick) => Number.isInteger(Math.round(Math.log10(tick) * 1e6) / 1e6));
  const every = Math.ceil(powers.length / most);
  return powers.filter((_, i) => i % every === 0);
}

function plainNumber(value) {
  if (value < 1000) return String(+value.toPrecision(3));
  return value < 1e6 ? +(value / 1e3).toPrecision(3) + "k" : +(value / 1e6).toPrecision(3) + "M";
}

function legend(place, entries) {
  fill(place, entries.map(({text, draw}) => {
    const swatch = d3.create("svg").attr("width", 22).attr("height", 14).attr("aria-hidden", "true");
    draw(swatch);
    return element("span", {}, swatch.node(), text);
  }));
}

function axisTitle(svg, x, y, words, anchor = "middle") {
  svg.append("text").attr("class", "faint").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(words);
}

function shortened(words, most) {
  const letters = [...words];
  return letters.length <= most ? words : letters.slice(0, most - 1).join("") + "…";
}

// A name that is too long loses its middle: names of one family differ at their ends.
function shortenedName(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const start = Math.max(0, Math.floor((most - 1) * 0.4));
  return letters.slice(0, start).join("") + "…" + letters.slice(letters.length - (most - 1 - start)).join("");
}

// Names at the ends of lines, pushed apart so that none covers another: [{y, text, colour}].
function endLabels(svg, x, labels, top, bottom) {
  const sorted = labels.slice().sort((a, b) => a.y - b.y);
  sorted.forEach((one, i) => { one.at = Math.max(one.y, i ? sorted[i - 1].at + 14 : top); });
  const over = sorted.length ? sorted[sorted.length - 1].at - bottom : 0;
  for (const one of sorted) {
    svg.append("text").attr("x", x).attr("y", one.at - Math.max(0, over)).attr("dy", ".32em").style("fill", one.colour).text(one.text);
  }
}
