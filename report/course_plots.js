// The course of the search: what was reached after how many candidates, or after how many seconds of work; and at which
// stage candidates ended.
"use strict";

let along = "candidates";

function alongText(value) {
  return along === "candidates" ? counted(value, "candidate") : durationText(value);
}

// Step lines over the course; lines: [{steps, value(step), colour, dash, name}].
function drawSteps(place, width, {lines, y, yTicks, yFormat, title, label}) {
  const height = 300;
  const wide = width > 420;
  const margin = {top: 12, right: wide ? 118 : 14, bottom: 44, left: 52};
  const most = d3.max(lines, (line) => d3.max(line.steps, (step) => step[along])) || 1;
  const x = d3.scaleLinear().domain([0, most]).range([margin.left, width - margin.right]);
  y.range([height - margin.bottom, margin.top]);
  fill(place, element("h3", {}, title));
  const svg = canvas(place, width, height, label);
  svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(yTicks).tickSize(-(width - margin.left - margin.right)).tickFormat(""));
  svg.append("g").attr("class", "faint").attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).ticks(Math.floor(width / 90)).tickFormat((tick) => along === "candidates" ? (Number.isInteger(tick) ? plainNumber(tick) : "") : tick ? durationText(tick) : "0"));
  svg.append("g").attr("class", "faint").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(yTicks).tickFormat(yFormat)).call((group) => group.select(".domain").remove());
  axisTitle(svg, (margin.left + width - margin.right) / 2, height - 8, along === "candidates" ? "candidates judged" : "time spent judging");
  for (const line of lines) {
    svg.append("path").attr("class", "course").attr("fill", "none").style("stroke", line.colour).style("stroke-width", 2)
      .style("stroke-dasharray", line.dash)
      .attr("d", d3.line().x((step) => x(step[along])).y((step) => y(line.value(step))).curve(d3.curveStepAfter)(line.steps));
  }
  const end = (line) => line.steps[line.steps.length - 1];
  if (wide) {
    endLabels(svg, width - margin.right + 6, lines.map((line) => ({y: y(line.value(end(line))), text: line.name, colour: line.colour})),
      margin.top, height - margin.bottom);
  } else {
    place.append(element("p", {class: "quiet"}, lines.map((line) => line.name).join(" · ")));
  }
  // One stop of the keyboard for each line, at its end; the pointer reads any place.
  const ends = svg.selectAll("circle.end").data(lines).enter().append("circle").attr("class", "end").attr("r", 4)
    .attr("cx", (line) => x(end(line)[along])).attr("cy", (line) => y(line.value(end(line)))).style("fill", (line) => line.colour);
  marks(svg, ends, (line) => `${line.name}: ${yFormat(line.value(end(line)))} after ${alongText(end(line)[along])}`, null);
  svg.append("rect").attr("x", margin.left).attr("y", margin.top).attr("width", Math.max(0, width - margin.left - margin.right))
    .attr("height", height - margin.top - margin.bottom).style("fill", "transparent")
    .on("mousemove", function () {
      const at = x.invert(d3.mouse(this)[0]);
      const words = lines.map((line) => {
        const index = d3.bisector((step) => step[along]).right(line.steps, at) - 1;
        return index < 0 ? null : `${line.name}: ${yFormat(line.value(line.steps[index]))}`;
      }).filter(Boolean);
      showTip([`after ${alongText(along === "candidates" ? Math.round(at) : at)}`, ...words].join("\n"), d3.event.clientX, d3.event.clientY);
    }).on("mouseleave", hideTip);
}

const FAST_COLOURS = ["var(--one)", "var(--three)", "var(--four)"];

function drawShares(place, width) {
  const courses = data.runs.map(courseOf);
  if (!courses.some((course) => course.steps.length > 1)) return void fill(place, nothing("No candidate has been judged yet."));
  const lines = [];
  courses.forEach((course, r) => {
    const prefix = data.runs.length > 1 ? data.runs[r].name + " " : "";
    const one = data.runs.length === 1;
    lines.push({steps: course.steps, value: (step) => step.right, name: prefix + "right", colour: one ? "var(--six)" : runColour(r), dash: one ? null : DASHES[1]});
    course.levels.forEach((level, i) => {
      if (!one && level !== 1) return;
      lines.push({steps: course.steps, value: (step) => step.fast[i], name: `${prefix}over ${level}×`, colour: one ? FAST_COLOURS[i] : runColour(r), dash: one ? DASHES[i] : null});
    });
  });
  drawSteps(place, width, {lines, y: d3.scaleLinear().domain([0, 1]), yTicks: [0, 0.25, 0.5, 0.75, 1], yFormat: (value) => percent(value, 0),
    title: "Share of tasks so far", label: "Share of tasks that were right and fast in the course of the search"});
}

function drawMeans(place, width) {
  const courses = data.runs.map(courseOf);
  if (!courses.some((course) => course.steps.length > 1)) return void fill(place, nothing("No candidate has been judged yet."));
  const lines = courses.map((course, r) => ({steps: course.steps, value: (step) => step.mean, colour: runColour(r), dash: DASHES[r % DASHES.length],
    name: data.runs.length > 1 ? data.runs[r].name : "mean"}));
  const most = d3.max(lines, (line) => d3.max(line.steps, line.value));
  const y = d3.scaleLinear().domain([1, Math.max(1.1, most * 1.05)]);
  drawSteps(place, width, {lines, y, yTicks: y.ticks(6), yFormat: times,
    title: "Best so far, mean over all tasks", label: "Geometric mean of the best so far in the course of the search"});
  place.append(element("p", {class: "quiet"}, "A task counts as the rival's own speed until a faster kernel is found."));
}

// A task's candidates as dots, the best so far as a line; rejected ones stand on the ground.
function drawTaskCourse(place, width, run, task, r) {
  const {points, steps} = courseOfTask(run, task);
  const compared = points.filter((point) => point.ratio !== null);
  const height = 170;
  const margin = {top: 10, right: 12, bottom: 38, left: 52};
  const x = d3.scaleLinear().domain([0, Math.max(1, d3.max(points, (point) => point[along]) || 1)]).range([margin.left, width - margin.right]);
  const [low, high] = compared.length ? d3.extent(compared, (point) => point.ratio) : [1, 1];
  const y = d3.scaleLog().domain([Math.min(low, 0.8) / 1.1, Math.max(high, 1.25) * 1.1]).range([height - margin.bottom - 12, margin.top]);
  fill(place);
  const svg = canvas(place, width, height, `${points.length} candidates and the best so far`);
  svg.append("g").attr("class", "faint").attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).ticks(Math.min(8, Math.floor(width / 80))).tickFormat((tick) => along === "candidates" ? (Number.isInteger(tick) ? plainNumber(tick) : "") : tick ? durationText(tick) : "0"));
  svg.append("g").attr("class", "faint").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(logTicks(y.domain(), 5)).tickFormat((tick) => plainNumber(tick) + "×"));
  svg.append("line").attr("class", "unit").style("stroke-dasharray", "3 3").attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", y(1)).attr("y2", y(1));
  axisTitle(svg, (margin.left + width - margin.right) / 2, height - 6, along === "candidates" ? "candidates of this task" : "time spent on this task");
  svg.append("path").attr("class", "course").attr("fill", "none").style("stroke", runColour(r)).style("stroke-width", 2)
    .attr("d", d3.line().x((step) => x(step[along])).y((step) => y(step.best)).curve(d3.curveStepAfter)(steps));
  const ground = height - margin.bottom - 6;
  const dots = svg.selectAll("path.point").data(points).enter().append("path").attr("class", "point")
    .attr("transform", (point) => `translate(${x(point[along])},${point.ratio === null ? ground : y(point.ratio)})`)
    .attr("d", (point) => d3.symbol().type(point.accepted ? d3.symbolCircle : d3.symbolCross).size(point.accepted ? 30 : 18)())
    .style("fill", (point) => point.accepted ? runColour(r) : isRejected(run.candidates.stage[point.row]) ? "var(--slower)" : "var(--unsure)").style("fill-opacity", 0.7);
  const {position, stage, reason} = run.candidates;
  marks(svg, dots, (point) => [`line ${position[point.row]}: ${point.ratio === null ? stageName(stage[point.row]) : times(point.ratio)}`,
    reason[point.row] >= 0 ? shortened(data.strings[reason[point.row]], 160) : null].filter(Boolean).join("\n"), null);
}

// --- where candidates ended -----------------------------------------------------------------------------------------------

function drawStages(place, width) {
  const ends = data.runs.map((run) => lastRows(run).map((row) => run.candidates.stage[row]));
  const counts = ends.map((stages) => d3.nest().key((stage) => stage).rollup((all) => all.length).object(stages));
  const order = [...data.stages.keys(), PROBLEM, OPEN].filter((stage) => stage >= 0 || counts.some((one) => one[stage]));
  if (!data.runs.some((run) => run.candidates.stage.length)) return void fill(place, nothing("No candidate is in this run."));
  const runs = data.runs.length;
  const rowHeight = 14 + 16 * runs;
  const left = 86;
  const height = order.length * rowHeight + 8;
  const x = d3.scaleLinear().domain([0, d3.max(counts, (one) => d3.max(order, (stage) => one[stage] || 0)) || 1]).range([left, width - 96]);
  fill(place);
  const svg = canvas(place, width, height, "Candidates by the stage they reached");
  const bars = order.flatMap((stage, i) => data.runs.map((run, r) => ({stage, i, run, r, count: counts[r][stage] || 0, all: ends[r].length})));
  order.forEach((stage, i) => {
    svg.append("text").attr("x", left - 8).attr("y", (i + 0.5) * rowHeight).attr("dy", ".32em").attr("text-anchor", "end").text(stageName(stage));
  });
  const top = (one) => one.i * rowHeight + 7 + 16 * one.r;
  const colour = (one) => runs > 1 ? runColour(one.r) : one.stage === ACCEPTED ? "var(--faster)" : !isRejected(one.stage) || one.stage < 0 ? "var(--unsure)" : "var(--slower)";
  const rects = svg.selectAll("rect.stage").data(bars).enter().append("rect").attr("class", "stage").attr("x", left).attr("y", top).attr("height", 14)
    .attr("width", (one) => one.count ? Math.max(2, x(one.count) - left) : 0).style("fill", colour).style("fill-opacity", 0.75);
  svg.selectAll("text.count").data(bars).enter().append("text").attr("class", "count").attr("x", (one) => x(one.count) + 6).attr("y", (one) => top(one) + 7)
    .attr("dy", ".32em").classed("faint", (one) => !one.count)
    .text((one) => one.count ? `${one.count.toLocaleString("en")} (${percent(one.count / one.all, 0)})` : "0");
  marks(svg, rects, (one) => `${runs > 1 ? one.run.name + ": " : ""}${stageName(one.stage)}: ${STAGE_MEANINGS[stageName(one.stage)]}\n${counted(one.count, "candidate")} of ${one.all.toLocaleString("en")}`, null);
}

function reasonsView() {
  const place = byId("reasons");
  fill(place, element("h3", {}, "The most frequent reasons"));
  let any = false;
  for (const run of data.runs) {
    const stages = reasonsByStage(run);
    if (!stages.length) continue;
    any = true;
    if (data.runs.length > 1) place.append(element("h3", {}, run.name));
    const rows = stages.sort((a, b) => a.key - b.key).flatMap(({key, values}) => values.slice(0, 3).map((one) => [
      stageName(Number(key)), number(one.count.toLocaleString("en")), number(one.tasks.size), element("span", {}, shortened(one.reason, 180))]));
    place.append(element("div", {class: "scroll"}, table(["stage", {value: "candidates", class: "number"}, {value: "tasks", class: "number"}, "reason"], rows)));
  }
  if (!any) place.append(nothing("No candidate was rejected."));
}
