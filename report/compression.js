// The page of compressions of a language model: what src/report/compression_page.h gives it, drawn.
"use strict";

const data = JSON.parse(byId("data").textContent, (_, value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value);

const nameOf = (run) => [run.method, ...run.switches].join(" + ");
const names = [...new Set(data.runs.map(nameOf))];
const ratios = [...new Set(data.runs.map((run) => run.ratio))].sort((a, b) => a - b);
const texts = [...new Set(data.runs.flatMap((run) => Object.keys(run.perplexity)))];
const LINEARS = {7: ["query", "key", "value", "output", "gate", "up", "down"], 6: ["query", "key", "value", "output", "inner", "outer"]};
const share = (value) => percent(value, 0);

function linearName(count, index) {
  return (LINEARS[count] || [])[index] || `matrix ${index + 1}`;
}

function choices(select, entries, changed) {
  fill(select, entries.map(([value, text]) => element("option", {value}, text)));
  select.addEventListener("change", () => { changed(); redrawAll(); });
}

function drawPerplexity(place, width) {
  const text = byId("text").value;
  const measured = data.runs.filter((run) => run.perplexity[text]);
  const lines = names.map((name, index) => ({name, index, points: measured.filter((run) => nameOf(run) === name).sort((a, b) => a.ratio - b.ratio)
    .map((run) => ({x: run.ratio, y: run.perplexity[text].compressed, words: `${name} at ${share(run.ratio)}: ${digits(run.perplexity[text].compressed, 4)}`}))}));
  const originals = measured.map((run) => run.perplexity[text].original);
  if (originals.length) {
    const words = `original: ${digits(originals[0], 4)}`;
    lines.push({name: "original", index: names.length, points: [ratios[0], ratios[ratios.length - 1]].map((x) => ({x, y: originals[0], words}))});
  }
  const values = lines.flatMap((line) => line.points.map((point) => point.y));
  const domain = values.length ? [d3.min(values) / 1.1, d3.max(values) * 1.1] : [1, 10];
  const around = ratios.length > 1 ? 0 : 0.05;
  drawLines(place, width, {lines, x: d3.scaleLinear().domain([ratios[0] - around, ratios[ratios.length - 1] + around]), y: d3.scaleLog().domain(domain),
    xTicks: ratios, xFormat: share, yTicks: logTicks(domain, 8), yFormat: plainNumber, xTitle: "share of the linear layers' numbers that went",
    label: `Perplexity of ${text} against the ratio`});
}

function drawLayers(place, width) {
  const ratio = Number(byId("ratio").value);
  const runs = data.runs.filter((run) => run.ratio === ratio);
  const lines = runs.map((run) => ({name: nameOf(run), index: names.indexOf(nameOf(run)), points: run.errors.map((errors, layer) => ({x: layer + 1, y: d3.mean(errors),
    words: `${nameOf(run)}, layer ${layer + 1}: ${percent(d3.mean(errors))}`}))}));
  const most = d3.max(lines, (line) => d3.max(line.points, (point) => point.y)) || 1;
  const layers = d3.max(runs, (run) => run.errors.length) || 1;
  drawLines(place, width, {lines, x: d3.scaleLinear().domain([1, Math.max(2, layers)]), y: d3.scaleLinear().domain([0, most]),
    xTicks: d3.range(1, layers + 1).filter((layer) => layer === 1 || layer % 5 === 0), xFormat: plainNumber, yTicks: d3.ticks(0, most, 6), yFormat: (value) => percent(value, most < 0.05 ? 1 : 0),
    xTitle: "layer", label: "Error by layer"});
}

function drawSpectra(place, width) {
  const run = data.runs[Number(byId("run").value)];
  const layer = Math.min(Number(byId("layer").value), run.spectra.length - 1);
  const curves = run.spectra[layer] || [];
  const lines = curves.map((curve, index) => {
    const name = linearName(curves.length, index);
    const points = curve.map((left, step) => ({x: step / (curve.length - 1), y: left, quiet: true}));
    const rank = run.ranks[layer][index], full = run.full_ranks[layer][index];
    if (rank > 0 && full > 0) {
      const at = Math.min(1, rank / full), step = Math.min(curve.length - 2, Math.floor(at * (curve.length - 1)));
      const y = curve[step] + (curve[step + 1] - curve[step]) * (at * (curve.length - 1) - step);
      points.push({x: at, y, words: `${name}: rank ${rank} of ${full}, ${percent(y)} left`});
      points.sort((a, b) => a.x - b.x);
    }
    return {name, index, points};
  });
  drawLines(place, width, {lines, x: d3.scaleLinear().domain([0, 1]), y: d3.scaleLinear().domain([0, 1]), xTicks: [0, 0.25, 0.5, 0.75, 1], xFormat: share,
    yTicks: [0, 0.25, 0.5, 0.75, 1], yFormat: share, xTitle: "share of the directions", label: "What is left after a share of the directions"});
}

function showSummary() {
  const models = [...new Set(data.runs.map((run) => run.model))];
  byId("subject").textContent = models.join(", ");
  byId("summary-title").textContent = `${models.join(", ")} made smaller`;
  byId("lead").textContent = `${counted(data.runs.length, "compression")}: ${counted(names.length, "method")} with switches, ${counted(ratios.length, "ratio")}, ${counted(texts.length, "text")}.`;
  const original = (text) => (data.runs.find((run) => run.perplexity[text]) || {perplexity: {}}).perplexity[text];
  const timed = data.runs.find((run) => run.tokens_a_second);
  const speed = (value) => timed ? [number(value === undefined ? "–" : digits(value, 3))] : [];
  const rows = texts.length
    ? [["original", number("–"), ...texts.map((text) => number(digits(original(text).original, 4))), number("–"), ...speed(timed && timed.tokens_a_second.original)]] : [];
  for (const run of data.runs.slice().sort((a, b) => a.ratio - b.ratio)) {
    rows.push([`${share(run.ratio)} ${nameOf(run)}`, number(percent(run.saved)), ...texts.map((text) => number(run.perplexity[text] ? digits(run.perplexity[text].compressed, 4) : "–")),
      number(durationText(run.seconds)), ...speed(run.tokens_a_second && run.tokens_a_second.compressed)]);
  }
  fill(byId("table"), table(["compression", "saved", ...texts, "time", ...(timed ? ["tokens a second"] : [])], rows));
  byId("made").textContent = `Made by kw ${data.version}.`;
  byId("licence").textContent = data.licence;
}

function showLayersOfRun() {
  const run = data.runs[Number(byId("run").value)];
  fill(byId("layer"), run.spectra.map((_, layer) => element("option", {value: layer}, String(layer + 1))));
}

prepareTheme();
showSummary();
choices(byId("text"), texts.map((text) => [text, text]), () => {});
choices(byId("ratio"), ratios.map((ratio) => [ratio, share(ratio)]), () => {});
choices(byId("run"), data.runs.map((run, index) => [index, `${share(run.ratio)} ${nameOf(run)}`]), showLayersOfRun);
choices(byId("layer"), [], () => {});
showLayersOfRun();
plot(byId("perplexity-plot"), drawPerplexity);
plot(byId("layers-plot"), drawLayers);
plot(byId("spectra-plot"), drawSpectra);
document.documentElement.dataset.ready = "yes";
