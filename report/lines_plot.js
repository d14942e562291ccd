// Lines over two axes, each with its name at its end.
"use strict";

// Lines with a mark at every point: lines: [{name, points: [{x, y, words}]}].
function drawLines(place, width, {lines, x, y, xTicks, xFormat, yTicks, yFormat, xTitle, label}) {
  if (!lines.some((line) => line.points.length)) return void fill(place, nothing("There is nothing to draw here."));
  const height = 360;
  const wide = width > 560;
  const margin = {top: 12, right: wide ? 190 : 14, bottom: 44, left: 60};
  x.range([margin.left, width - margin.right]);
  y.range([height - margin.bottom, margin.top]);
  fill(place);
  const svg = canvas(place, width, height, label);
  svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(yTicks).tickSize(-(width - margin.left - margin.right)).tickFormat(""));
  svg.append("g").attr("class", "faint").attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).tickValues(xTicks).tickFormat(xFormat));
  svg.append("g").attr("class", "faint").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(yTicks).tickFormat(yFormat)).call((group) => group.select(".domain").remove());
  axisTitle(svg, (margin.left + width - margin.right) / 2, height - 8, xTitle);
  const drawn = lines.filter((line) => line.points.length);
  drawn.forEach((line) => {
    line.colour = runColour(line.index);
    svg.append("path").attr("fill", "none").style("stroke", line.colour).style("stroke-width", 2).style("stroke-dasharray", DASHES[Math.floor(line.index / RUN_COLOURS.length) % DASHES.length])
      .attr("d", d3.line().x((point) => x(point.x)).y((point) => y(point.y))(line.points));
  });
  const points = drawn.flatMap((line) => line.points.map((point) => ({...point, colour: line.colour})));
  const circles = svg.selectAll("circle").data(points).enter().append("circle").attr("r", (point) => point.quiet ? 0 : 4)
    .attr("cx", (point) => x(point.x)).attr("cy", (point) => y(point.y)).style("fill", (point) => point.colour);
  marks(svg, circles.filter((point) => !point.quiet), (point) => point.words, null);
  const end = (line) => line.points[line.points.length - 1];
  if (wide) {
    endLabels(svg, width - margin.right + 8, drawn.map((line) => ({y: y(end(line).y), text: shortened(line.name, 26), colour: line.colour})), margin.top, height - margin.bottom);
  } else {
    place.append(element("p", {class: "quiet"}, drawn.map((line) => line.name).join(" · ")));
  }
}
