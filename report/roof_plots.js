// The roofline: arithmetic a second over arithmetic a byte. The slanted lines are what each cache and the memory can
// deliver, the flat one what the core can compute; a kernel stands under the roof of the level that holds its data, and
// carries that level's colour and shape.
"use strict";

const LEVEL_COLOURS = ["var(--one)", "var(--three)", "var(--five)", "var(--two)", "var(--four)", "var(--six)"];
const LEVEL_SHAPES = [d3.symbolCircle, d3.symbolTriangle, d3.symbolDiamond, d3.symbolSquare, d3.symbolCross, d3.symbolStar];

// The best kernels that were timed on a machine whose roofs are known.
function kernelsUnderRoofs() {
  const points = [];
  data.runs.forEach((run, r) => {
    const roofs = run.machine && run.machine.roofs;
    if (!roofs) return;
    for (const part of run.parts) {
      const task = data.tasks[part.task];
      if (!part.best || !part.best.time_ns || !(task.bytes > 0)) continue;
      const level = levelOf(roofs, task.bytes);
      points.push({run, r, part, task, index: part.task, level, kind: roofs.levels.indexOf(level),
        intensity: task.flops / task.bytes, gflops: task.flops / part.best.time_ns, share: part.best.roof_fraction});
    }
  });
  return points;
}

function pointWords(point) {
  const lines = [data.runs.length > 1 ? `${point.task.name} (${point.run.name})` : point.task.name];
  lines.push(`${timeText(point.part.best.time_ns)} a call`);
  if (point.task.flops > 0) lines.push(`${withUnit(point.gflops * 1e9, "flop/s")}, ${digits(point.intensity, 3)} flop/B`);
  lines.push(`${withUnit(point.task.bytes / point.part.best.time_ns * 1e9, "B/s")} at least, data fit ${point.level.name}`);
  if (point.share !== null) lines.push(`${percent(point.share)} of the roof's speed`);
  if (point.share > 1) lines.push(isBoundByArithmetic(point) ? "more than 100 %: its algorithm does fewer operations than are counted" : "more than 100 %: part of its data lay in a faster cache, or the bandwidth was measured at a slower moment");
  return lines.join("\n");
}

// Whether the roof over a kernel is that of arithmetic, or that of its level's bandwidth.
function isBoundByArithmetic(point) {
  return point.intensity * point.level.gbps > point.run.machine.roofs.peak_gflops;
}

// Why some stand above the roof: a task's operations are counted as its definition has them.
function aboveRoofWords() {
  const above = kernelsUnderRoofs().filter((point) => point.share > 1);
  const clever = above.filter(isBoundByArithmetic);
  const words = [];
  if (clever.length) {
    words.push(` ${counted(clever.length, "kernel")} ${clever.length === 1 ? "is" : "are"} above 100 %: operations are counted as the task's definition has them, and an algorithm such as Winograd's does fewer.`);
  }
  if (above.length > clever.length) {
    words.push(` ${counted(above.length - clever.length, "kernel")} bound by bandwidth ${above.length - clever.length === 1 ? "is" : "are"} above 100 %: part of the data lay in a faster cache, or the bandwidth was measured at a moment when this machine was slower.`);
  }
  return words.join("");
}

function symbolOf(point, size) {
  return d3.symbol().type(LEVEL_SHAPES[point.kind % LEVEL_SHAPES.length]).size(size)();
}

// In a comparison the last run's kernels are filled, those before it hollow.
function styled(selection) {
  const last = data.runs.length - 1;
  return selection.style("stroke", (point) => LEVEL_COLOURS[point.kind % LEVEL_COLOURS.length]).style("stroke-width", 1.6)
    .style("fill", (point) => LEVEL_COLOURS[point.kind % LEVEL_COLOURS.length]).style("fill-opacity", (point) => point.r === last ? 0.65 : 0);
}

function roofsToDraw() {
  for (let i = data.runs.length - 1; i >= 0; --i) {
    const machine = data.runs[i].machine;
    if (machine && machine.roofs) return machine.roofs;
  }
  return null;
}

function drawRoofline(place, width) {
  const roofs = roofsToDraw();
  if (!roofs) return void fill(place, nothing("This machine's roofs had not been measured when the run was made; kw doctor measures them."));
  const all = kernelsUnderRoofs();
  const points = all.filter((point) => point.task.flops > 0);
  const height = Math.max(320, Math.min(460, width * 0.72));
  const margin = {top: 14, right: 16, bottom: 44, left: 58};
  const peak = roofs.peak_gflops;
  const slowest = d3.min(roofs.levels, (level) => level.gbps);
  const ridge = peak / slowest;
  const x = d3.scaleLog().range([margin.left, width - margin.right])
    .domain([Math.min(0.05, d3.min(points, (point) => point.intensity) / 1.5 || 1), Math.max(ridge * 4, (d3.max(points, (point) => point.intensity) || 1) * 1.5)]);
  const y = d3.scaleLog().range([height - margin.bottom, margin.top]).clamp(true)
    .domain([Math.max(peak * 1e-6, Math.min(slowest * 0.05, d3.min(points, (point) => point.gflops) / 2 || peak)), peak * 2]);
  fill(place, element("h3", {}, "Arithmetic"));
  const svg = canvas(place, width, height, `Roofline with ${points.length} kernels`);
  svg.append("g").attr("class", "faint").attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).tickValues(logTicks(x.domain(), Math.floor(width / 60))).tickFormat(plainNumber));
  svg.append("g").attr("class", "faint").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(logTicks(y.domain(), 9)).tickFormat(plainNumber));
  axisTitle(svg, (margin.left + width - margin.right) / 2, height - 8, "flop per byte moved at least");
  svg.append("text").attr("class", "faint").attr("transform", `translate(13,${(height - margin.bottom) / 2}) rotate(-90)`)
    .attr("text-anchor", "middle").text("Gflop/s");

  const [leftmost, rightmost] = x.domain();
  roofs.levels.forEach((level, i) => {
    const begin = Math.max(leftmost, y.domain()[0] / level.gbps);
    const corner = peak / level.gbps;
    svg.append("line").attr("class", "roof").attr("x1", x(begin)).attr("y1", y(begin * level.gbps)).attr("x2", x(corner)).attr("y2", y(peak))
      .style("stroke", LEVEL_COLOURS[i % LEVEL_COLOURS.length]).style("stroke-width", 1.8).style("stroke-dasharray", DASHES[i % DASHES.length]);
  });
  const firstCorner = peak / d3.max(roofs.levels, (level) => level.gbps);
  svg.append("line").attr("class", "roof").attr("x1", x(Math.max(leftmost, firstCorner))).attr("x2", x(rightmost)).attr("y1", y(peak)).attr("y2", y(peak))
    .style("stroke", "var(--ink)").style("stroke-width", 1.8);
  svg.append("text").attr("x", width - margin.right).attr("y", y(peak) - 6).attr("text-anchor", "end").text(`${digits(peak, 3)} Gflop/s`);

  const joined = d3.nest().key((point) => point.index).entries(points).filter((one) => one.values.length > 1);
  svg.selectAll("path.moved").data(joined).enter().append("path").attr("class", "moved")
    .attr("d", (one) => d3.line().x((point) => x(point.intensity)).y((point) => y(point.gflops))(one.values))
    .style("stroke", "var(--unsure)").style("fill", "none").style("stroke-opacity", 0.6);
  const dots = styled(svg.selectAll("path.point").data(points).enter().append("path").attr("class", "point")
    .attr("transform", (point) => `translate(${x(point.intensity)},${y(point.gflops)})`).attr("d", (point) => symbolOf(point, 46)));
  marks(svg, dots, pointWords, (point) => openTask(point.index));
}

function drawRoofLegend() {
  const roofs = roofsToDraw();
  if (!roofs) return void fill(byId("roofline-legend"));
  const entries = roofs.levels.map((level, i) => ({
    text: `${level.name}: ${digits(level.gbps, 3)} GB/s`,
    draw: (svg) => {
      svg.append("line").attr("x1", 0).attr("x2", 22).attr("y1", 7).attr("y2", 7).style("stroke", LEVEL_COLOURS[i % LEVEL_COLOURS.length])
        .style("stroke-width", 1.8).style("stroke-dasharray", DASHES[i % DASHES.length]);
      styled(svg.append("path").datum({kind: i, r: data.runs.length - 1}).attr("transform", "translate(11,7)").attr("d", symbolOf({kind: i}, 46)));
    },
  }));
  if (data.runs.length > 1) {
    const dot = (r) => (svg) => styled(svg.append("path").datum({kind: 0, r}).attr("transform", "translate(11,7)").attr("d", symbolOf({kind: 0}, 46)));
    entries.push({text: data.runs[data.runs.length - 1].name, draw: dot(data.runs.length - 1)}, {text: "runs before it", draw: dot(0)});
  }
  legend(byId("roofline-legend"), entries);
}

// The share of the roof's speed, a row for each category: the place of tasks that do no arithmetic at all.
function drawRoofShares(place, width) {
  const points = kernelsUnderRoofs().filter((point) => point.share > 0);
  if (!points.length) return void fill(place, nothing("No kernel was timed under a known roof."));
  const categories = d3.nest().key((point) => point.task.category).entries(points)
    .sort((a, b) => d3.ascending(a.key, b.key));
  const names = categories.map((one) => one.key);
  const left = Math.min(120, width * 0.34);
  const rowHeight = 30;
  const height = names.length * rowHeight + 52;
  const x = d3.scaleLog().domain([Math.min(0.01, d3.min(points, (point) => point.share)) / 1.2, Math.max(1.5, d3.max(points, (point) => point.share) * 1.2)])
    .range([left, width - 12]);
  fill(place, element("h3", {}, "Share of the roof's speed"));
  const svg = canvas(place, width, height, `Share of the roof's speed of ${points.length} kernels by category`);
  svg.append("g").attr("class", "faint").attr("transform", `translate(0,${height - 42})`)
    .call(d3.axisBottom(x).tickValues(logTicks(x.domain(), Math.floor((width - left) / 48))).tickFormat((tick) => plainNumber(100 * tick) + " %"));
  axisTitle(svg, (left + width) / 2, height - 6, "100 %: the measured roof");
  svg.append("line").attr("class", "unit").attr("x1", x(1)).attr("x2", x(1)).attr("y1", 0).attr("y2", height - 42);
  names.forEach((name, i) => {
    svg.append("line").attr("class", "domain").attr("x1", left).attr("x2", width - 12).attr("y1", (i + 0.5) * rowHeight).attr("y2", (i + 0.5) * rowHeight);
    svg.append("text").attr("x", left - 8).attr("y", (i + 0.5) * rowHeight).attr("dy", ".32em").attr("text-anchor", "end")
      .text(shortenedName(name, Math.floor(left / 7.2)));
  });
  // A little up and down, the same each time, so that equal ones are seen.
  const shift = (point) => ((point.index * 37) % 13 - 6) * 1.3;
  const ordered = points.slice().sort((a, b) => names.indexOf(a.task.category) - names.indexOf(b.task.category) || a.share - b.share);
  const dots = styled(svg.selectAll("path.point").data(ordered).enter().append("path").attr("class", "point")
    .attr("transform", (point) => `translate(${x(point.share)},${(names.indexOf(point.task.category) + 0.5) * rowHeight + shift(point)})`)
    .attr("d", (point) => symbolOf(point, 40)));
  marks(svg, dots, pointWords, (point) => openTask(point.index));
}
