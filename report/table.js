// The table of tasks: sorted by any column, filtered by words, category and outcome. The parts below it follow the filter.
"use strict";

let sorting = {column: 0, descending: false};

// A column: its head, the value it sorts by (null sorts last), and the cell. `one` is an entry of tasksShown().
function columns() {
  const several = data.runs.length > 1;
  const list = [
    {head: "task", value: (one) => one.task.name.toLowerCase(), cell: (one) => element("a", {href: "#task-" + one.index}, one.task.name)},
    {head: "category", value: (one) => one.task.category.toLowerCase(), cell: (one) => one.task.category},
  ];
  data.runs.forEach((run, r) => {
    const name = several ? run.name + " " : "";
    list.push({head: name + "outcome", value: (one) => Object.keys(OUTCOMES).indexOf(outcomeOf(one.parts[r])), cell: (one) => {
      const outcome = outcomeOf(one.parts[r]);
      return element("span", {class: outcome === "faster" || outcome === "slower" ? outcome : outcome === "failed" ? "slower" : "unsure"}, outcomeText(one.parts[r]));
    }});
    list.push({head: name + "speed-up", number: true, value: (one) => (ratioOf(one.parts[r]) || {median: null}).median, cell: (one) => {
      const ratio = ratioOf(one.parts[r]);
      return ratio ? [times(ratio.median), element("small", {}, `${interval(ratio)}${chosenRival === FASTEST ? " " + ratio.rival : ""}`)] : "–";
    }});
    const best = (one) => one.parts[r] && one.parts[r].best;
    list.push({head: name + "time", number: true, value: (one) => best(one) ? best(one).time_ns : null, cell: (one) => best(one) ? timeText(best(one).time_ns) : "–"});
    if (several) return;
    list.push({head: "of the roof", number: true, value: (one) => best(one) ? best(one).roof_fraction : null, cell: (one) => best(one) ? percent(best(one).roof_fraction) : "–"});
    list.push({head: "candidates", number: true, value: (one) => one.parts[r] ? one.parts[r].candidates : null, cell: (one) => one.parts[r] ? one.parts[r].candidates.toLocaleString("en") : "–"});
    list.push({head: "accepted", number: true, value: (one) => one.parts[r] ? one.parts[r].accepted : null, cell: (one) => one.parts[r] ? [one.parts[r].accepted.toLocaleString("en"),
      one.parts[r].passed ? element("small", {}, `${one.parts[r].passed.toLocaleString("en")} passed the quick check`) : null] : "–"});
    list.push({head: "spent", number: true, value: (one) => one.parts[r] ? one.parts[r].spent_s : null, cell: (one) => one.parts[r] ? durationText(one.parts[r].spent_s) : "–"});
  });
  for (const change of data.changes) {
    const of = (one) => change.tasks.find((each) => each.task === one.index);
    list.push({head: `${data.runs[change.from].name} to ${data.runs[change.to].name}`, number: true, value: (one) => of(one) ? of(one).ratio : null, cell: (one) => {
      const found = of(one);
      if (!found) return "–";
      const kind = {better: "faster", worse: "slower"}[found.kind] || "unsure";
      return [element("span", {class: kind}, found.kind), found.ratio === null ? null : element("small", {}, `${times(found.ratio)} ${interval(found)}`)];
    }});
  }
  return list;
}

function passes(one) {
  const words = byId("find").value.trim().toLowerCase();
  const category = byId("category").value;
  const outcome = byId("outcome").value;
  if (words && !`${one.task.name} ${one.task.operators}`.toLowerCase().includes(words)) return false;
  if (category && data.tasks[Number(category)].category !== one.task.category) return false;
  return !outcome || one.parts.some((part) => part && outcomeOf(part) === outcome);
}

function compare(a, b) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = a < b ? -1 : a > b ? 1 : 0;
  return sorting.descending ? -order : order;
}

function drawTable() {
  const list = columns();
  sorting.column = Math.min(sorting.column, list.length - 1);
  const all = tasksShown();
  const shown = all.filter(passes);
  const value = list[sorting.column].value;
  shown.sort((a, b) => compare(value(a), value(b)) || a.index - b.index);
  const head = element("tr", {}, list.map((column, i) => element("th",
    {scope: "col", class: column.number && "number", "aria-sort": i === sorting.column ? (sorting.descending ? "descending" : "ascending") : "none"},
    element("button", {type: "button", "data-column": i, onclick: () => sortBy(i, column.number)}, column.head))));
  fill(byId("table").tHead, head);
  fill(byId("table").tBodies[0], shown.map((one) => element("tr", {"data-task": one.index}, list.map((column, i) =>
    element(i ? "td" : "th", {scope: i ? null : "row", class: column.number && "number"}, column.cell(one))))));
  byId("count").textContent = shown.length === all.length ? counted(all.length, "task") : `${shown.length} of ${counted(all.length, "task")}`;
  const visible = new Set(shown.map((one) => one.index));
  for (const part of byId("parts").children) part.hidden = !visible.has(Number(part.dataset.task));
}

// Numbers begin with the largest.
function sortBy(column, isNumber) {
  sorting = {column, descending: sorting.column === column ? !sorting.descending : Boolean(isNumber)};
  drawTable();
  byId("table").querySelector(`button[data-column="${column}"]`).focus();
}

function prepareFilters() {
  const tasks = tasksShown();
  const categories = new Map(tasks.map((one) => [one.task.category, one.index]));
  fill(byId("category"), element("option", {value: ""}, "all"),
    [...categories].sort((a, b) => d3.ascending(a[0], b[0])).map(([name, index]) => element("option", {value: index}, name)));
  fill(byId("outcome"), element("option", {value: ""}, "all"), Object.entries(OUTCOMES).map(([key, words]) => element("option", {value: key}, words)));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", drawTable);
}
