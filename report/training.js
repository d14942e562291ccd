// The page of trainings: what src/report/training_page.h gives it, drawn.
"use strict";

const RELOAD_S = 15;

const data = JSON.parse(byId("data").textContent, (_, value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value);

const nameOf = (training) => training.out.split("/").filter(Boolean).pop() || training.out;

// curves: [{name, index, points: [[step, value]]}]
function drawCurves(place, width, {curves, title, format, label, whole}) {
  const lines = curves.map(({name, index, points}) => ({name, index, points: points.map(([x, y]) => ({x, y, quiet: points.length > 60,
    words: `${name}, step ${plainNumber(x)}: ${format(y)}`}))}));
  const points = lines.flatMap((line) => line.points);
  const most = d3.max(points, (point) => point.x) || 1, low = whole ? 0 : Math.min(0, d3.min(points, (point) => point.y) || 0);
  const high = whole || d3.max(points, (point) => point.y) || 1;
  const x = d3.scaleLinear().domain([0, most]), y = d3.scaleLinear().domain([low, high]);
  drawLines(place, width, {lines, x, y, xTicks: x.ticks(6).filter(Number.isInteger), xFormat: plainNumber, yTicks: y.ticks(6), yFormat: format, xTitle: `step (${title})`, label});
}

// Of every training one line of each kind; a training's kinds have colours that follow each other.
function curvesOf(kinds) {
  return data.trainings.flatMap((training, index) => kinds.map(([member, words], kind) => ({name: `${nameOf(training)}${words}`, index: index * kinds.length + kind,
    points: training[member]})).filter((curve) => curve.points.length));
}

const value = (number) => digits(number, 4);

function drawLoss(place, width) {
  drawCurves(place, width, {curves: curvesOf([["loss", ""], ["held_out", ", held out"]]), title: "loss", format: value, label: "Loss by step"});
}

function drawRewards(place, width) {
  drawCurves(place, width, {curves: curvesOf([["reward", ""]]), title: "mean reward", format: value, label: "Mean reward by step"});
}

function drawAccepted(place, width) {
  drawCurves(place, width, {curves: curvesOf([["accepted", ""]]), title: "accepted share", format: (share) => percent(share, 0), label: "Accepted share by step", whole: 1});
}

function showSummary() {
  const names = data.trainings.map(nameOf).join(", ");
  byId("subject").textContent = names;
  byId("summary-title").textContent = data.live ? `Training ${names}` : `Trained: ${names}`;
  byId("lead").textContent = data.live ? `The page is written anew at every checkpoint, and loads itself every ${RELOAD_S} seconds.` : "";
  const last = (points, format) => number(points.length ? format(points[points.length - 1][1]) : "–");
  fill(byId("table"), table(["training", "steps", "time", "loss", "held out", "mean reward", "accepted"], data.trainings.map((training) => [training.out,
    number(training.steps < training.of ? `${training.steps} of ${training.of}` : String(training.steps)), number(durationText(training.seconds)), last(training.loss, value),
    last(training.held_out, value), last(training.reward, value), last(training.accepted, (share) => percent(share, 0))])));
  byId("made").textContent = `Made by kw ${data.version}.`;
  byId("licence").textContent = data.licence;
}

function showSamples() {
  const shown = data.trainings.flatMap((training) => training.samples.map((sample) => element("article", {},
    element("h3", {}, "reward" in sample ? `${nameOf(training)}: reward ${value(sample.reward)}` : nameOf(training)),
    element("details", {}, element("summary", {}, "What was asked"), element("pre", {class: "plain"}, sample.prompt)),
    element("pre", {class: "plain"}, sample.text),
    "expected" in sample ? element("details", {}, element("summary", {}, "The line's answer"), element("pre", {class: "plain"}, sample.expected)) : null)));
  fill(byId("texts"), shown.length ? shown : nothing("No texts were kept."));
}

prepareTheme();
showSummary();
showSamples();
byId("rewards").hidden = !data.trainings.some((training) => training.reward.length);
plot(byId("loss-plot"), drawLoss);
plot(byId("reward-plot"), drawRewards);
plot(byId("accepted-plot"), drawAccepted);
if (data.live) setTimeout(() => location.reload(), 1000 * RELOAD_S);
document.documentElement.dataset.ready = "yes";
