// Bars of speed-ups: every task's, and what changed between runs. On a logarithmic axis twice as fast and half as fast are
// bars of one length.
"use strict";

const ROW = 20;

function ratioDomain(ratios, least = [0.5, 2]) {
  const low = d3.min(ratios, (one) => Math.max(one.low, one.median / 20));
  const high = d3.max(ratios, (one) => Math.min(one.high, one.median * 20));
  return [Math.min(low === undefined ? 1 : low, least[0]) / 1.1, Math.max(high === undefined ? 1 : high, least[1]) * 1.1];
}

// The axis in a strip that stays in sight, and under it a drawing of `rows` rows; returns the parts to draw in.
function rowsDrawing(place, width, height, scale, left, label, title) {
  const box = element("div", {class: "rows"});
  const strip = element("div", {class: "axis"});
  const body = element("div", {});
  box.append(strip, body);
  fill(place, box);
  const inner = width - 18;
  const axis = canvas(strip, inner, 38, "axis").attr("aria-hidden", "true");
  const ticks = logTicks(scale.domain(), Math.max(2, Math.floor((inner - left) / 48)));
  axisTitle(axis, scale(1), 12, inner > 600 ? title : "speed-up", scale(1) < left + (inner - left) / 2 ? "start" : "end");
  axis.append("g").attr("class", "faint").attr("transform", "translate(0,36)")
    .call(d3.axisTop(scale).tickValues(ticks).tickFormat((tick) => plainNumber(tick) + "×").tickSize(4))
    .call((group) => group.select(".domain").remove());
  const svg = canvas(body, inner, height, label);
  svg.append("g").attr("class", "grid").selectAll("line").data(ticks).enter().append("line")
    .attr("x1", (tick) => scale(tick)).attr("x2", (tick) => scale(tick)).attr("y1", 0).attr("y2", height);
  return svg;
}

// The median as a bar from 1, the interval as a line with ends.
function bar(row, scale, ratio, top, height, colour) {
  const from = Math.min(scale(1), scale(ratio.median));
  row.append("rect").attr("class", "bar").attr("x", from).attr("y", top).attr("height", height)
    .attr("width", Math.max(1, Math.abs(scale(ratio.median) - scale(1)))).style("fill", colour).style("fill-opacity", 0.75);
  const [low, high] = [ratio.low, ratio.high].map((end) => scale(Math.max(scale.domain()[0], Math.min(scale.domain()[1], end))));
  const middle = top + height / 2;
  row.append("path").attr("class", "interval").attr("d", `M${low},${middle}H${high}M${low},${middle - 3}V${middle + 3}M${high},${middle - 3}V${middle + 3}`)
    .style("stroke", "var(--ink)").style("stroke-width", 1.3).style("fill", "none");
}

function ratioWords(run, part) {
  const ratio = ratioOf(part);
  const name = data.runs.length > 1 ? run.name + ": " : "";
  if (!part) return name + "not in this run";
  if (!ratio) return name + outcomeText(part);
  const sure = ratio.claimed ? "" : ", within the noise";
  return `${name}${times(ratio.median)} as fast as ${ratio.rival} ${interval(ratio)}${sure}`;
}

function drawSpeedups(place, width) {
  const shown = tasksShown();
  if (!shown.length) return void fill(place, nothing("No task of this run has been judged."));
  // By the last run that has it; what failed comes last.
  const keyOf = (one) => {
    for (let i = one.parts.length - 1; i >= 0; --i) {
      const ratio = ratioOf(one.parts[i]);
      if (ratio) return ratio.median;
    }
    return one.parts.some((part) => part && part.best) ? -1 : -2;
  };
  shown.sort((a, b) => keyOf(b) - keyOf(a) || d3.ascending(a.task.name, b.task.name));
  const runs = data.runs.length;
  const rowHeight = runs === 1 ? ROW : 8 + 13 * runs;
  const wide = width > 700;
  const left = Math.min(wide ? 220 : 120, width * 0.34);
  const right = wide ? 150 : 52;
  const ratios = shown.flatMap((one) => one.parts.map((part) => ratioOf(part)).filter(Boolean));
  const scale = d3.scaleLog().domain(ratioDomain(ratios)).range([left, width - 18 - right]);
  const svg = rowsDrawing(place, width, shown.length * rowHeight + 6, scale, left,
    `Speed-up of ${shown.length} tasks against ${rivalName(chosenRival)}`, `speed-up against ${rivalName(chosenRival)}`);
  const letters = Math.floor(left / 7.2);
  const rows = svg.selectAll("g.row").data(shown).enter().append("g").attr("class", "row")
    .attr("transform", (_, i) => `translate(0,${3 + i * rowHeight})`);
  rows.append("rect").attr("class", "back").attr("width", width - 18).attr("height", rowHeight).style("fill", "transparent");
  rows.append("text").attr("x", left - 10).attr("y", rowHeight / 2).attr("dy", ".32em").attr("text-anchor", "end")
    .text((one) => shortenedName(one.task.name, letters));
  rows.each(function (one) {
    const row = d3.select(this);
    one.parts.forEach((part, i) => {
      const ratio = ratioOf(part);
      const top = runs === 1 ? 4 : 4 + 13 * i;
      const height = runs === 1 ? ROW - 8 : 10;
      if (ratio) {
        bar(row, scale, ratio, top, height, runs === 1 ? `var(--${kindOf(ratio)})` : runColour(i));
        row.append("text").attr("x", width - 18).attr("y", top + height / 2).attr("dy", ".32em").attr("text-anchor", "end")
          .attr("class", kindOf(ratio) === "unsure" ? "faint" : null)
          .text(wide ? `${times(ratio.median)} ${interval(ratio)}` : times(ratio.median));
      } else if (part) {
        row.append("text").attr("class", "faint").attr("x", scale(1) + 6).attr("y", top + height / 2).attr("dy", ".32em")
          .text(shortened(outcomeText(part), wide ? 60 : 26));
      }
    });
  });
  svg.append("line").attr("class", "unit").attr("x1", scale(1)).attr("x2", scale(1)).attr("y1", 0).attr("y2", shown.length * rowHeight + 6);
  marks(svg, rows, (one) => [one.task.name, ...data.runs.map((run, i) => ratioWords(run, one.parts[i]))].join("\n"),
    (one) => openTask(one.index));
}

function drawSpeedupLegend() {
  const box = (colour) => (svg) => svg.append("rect").attr("y", 2).attr("width", 22).attr("height", 10).style("fill", colour).style("fill-opacity", 0.75);
  const whisker = {text: "95 % interval", draw: (svg) => svg.append("path").attr("d", "M2,7H20M2,4V10M20,4V10").style("stroke", "var(--ink)").style("stroke-width", 1.3)};
  legend(byId("speedups-legend"), data.runs.length > 1
    ? [...data.runs.map((run, i) => ({text: run.name, draw: box(runColour(i))})), whisker]
    : [{text: "faster", draw: box("var(--faster)")}, {text: "slower", draw: box("var(--slower)")},
      {text: "no difference that this machine could show", draw: box("var(--unsure)")}, whisker]);
}

// --- between runs --------------------------------------------------------------------------------------------------------

function drawChange(place, width, change) {
  const moved = change.tasks.filter((one) => one.kind === "better" || one.kind === "worse");
  if (!moved.length) return void fill(place, nothing("No task changed by more than the noise."));
  moved.sort((a, b) => b.ratio - a.ratio);
  const wide = width > 700;
  const left = Math.min(wide ? 220 : 120, width * 0.34);
  const scale = d3.scaleLog().domain(ratioDomain(moved.map((one) => ({median: one.ratio, low: one.low, high: one.high})), [0.8, 1.25]))
    .range([left, width - 18 - (wide ? 150 : 52)]);
  const svg = rowsDrawing(place, width, moved.length * ROW + 6, scale, left, "Tasks that changed between the runs",
    `${data.runs[change.to].name} against ${data.runs[change.from].name}`);
  const rows = svg.selectAll("g.row").data(moved).enter().append("g").attr("class", "row")
    .attr("transform", (_, i) => `translate(0,${3 + i * ROW})`);
  rows.append("rect").attr("class", "back").attr("width", width - 18).attr("height", ROW).style("fill", "transparent");
  rows.append("text").attr("x", left - 10).attr("y", ROW / 2).attr("dy", ".32em").attr("text-anchor", "end")
    .text((one) => shortenedName(data.tasks[one.task].name, Math.floor(left / 7.2)));
  rows.each(function (one) {
    bar(d3.select(this), scale, {median: one.ratio, low: one.low, high: one.high}, 4, ROW - 8,
      one.kind === "better" ? "var(--faster)" : "var(--slower)");
  });
  rows.append("text").attr("x", width - 18).attr("y", ROW / 2).attr("dy", ".32em").attr("text-anchor", "end")
    .text((one) => wide ? `${times(one.ratio)} ${interval(one)}` : times(one.ratio));
  svg.append("line").attr("class", "unit").attr("x1", scale(1)).attr("x2", scale(1)).attr("y1", 0).attr("y2", moved.length * ROW + 6);
  marks(svg, rows, (one) => `${data.tasks[one.task].name}\n${one.kind}: ${times(one.ratio)} ${interval(one)}`, (one) => openTask(one.task));
}
