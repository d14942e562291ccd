// Puts the page together: the summary, the controls, and which part draws what.
"use strict";

const SPEEDS = ["0.5", "1", "1.5", "2"];

// --- the summary -------------------------------------------------------------------------------------------------------

function drawTitle() {
  const names = data.runs.map((run) => run.name).join(", ");
  const suites = [...new Set(data.runs.map((run) => run.suite).filter(Boolean))].join(", ");
  document.title = `Kernelwright: ${names}`;
  byId("subject").textContent = names;
  byId("summary-title").textContent = (data.runs.length > 1 ? `Runs ${names}` : `Run ${names}`) + (suites ? `: ${suites}` : "");
  const several = data.runs.length > 1;
  fill(byId("lead"), data.runs.flatMap((run, i) => {
    const who = [run.author && `by ${run.author}`, run.strategy && `strategy ${run.strategy}`, run.machine && `on ${run.machine.name}`].filter(Boolean).join(", ");
    const words = `${several ? run.name + " began" : "Began"} ${dateText(run.began_at)}${who ? ", " + who : ""}; ${judgedText(run)}.`;
    return i ? [element("br", {}), words] : [words];
  }));
  byId("made").textContent = `Made by kw ${data.kw}, ${dateText(data.made_at)}. This file holds everything it shows and loads nothing.`;
}

function drawWarnings() {
  const words = data.runs.flatMap((run) => run.figures.remarks.map((remark) => data.runs.length > 1 ? `${run.name}: ${remark}` : remark));
  fill(byId("warnings"), [...words, ...data.remarks].map((remark) => element("p", {class: "warning"}, remark)));
}

// A row of cards for every run.
function drawCards() {
  const card = (value, what) => element("div", {class: "card"}, element("div", {class: "value"}, value), element("div", {class: "what"}, what));
  fill(byId("cards"), data.runs.flatMap((run) => {
    const {figures} = run;
    const fast = figures.fast[chosenRival];
    const solved = run.parts.filter((part) => part.best).length;
    return [data.runs.length > 1 ? element("h3", {}, run.name) : null, element("div", {class: "cards"},
      card(`${solved} / ${figures.tasks}`, "tasks with a right kernel"),
      fast ? card(percent(fast["1"]), `of tasks faster than ${rivalName(chosenRival)}`) : null,
      fast ? card(percent(fast.sure["1"]), "of tasks with the whole 95 % interval above 1×") : null,
      card(times(figures.geomean[chosenRival]), "speed-up, geometric mean of the right ones"),
      card(percent(figures.roof_fraction), "of the roof's speed, median"),
      card(figures.candidates.toLocaleString("en"), `candidates, ${durationText(figures.seconds)} of judging`))];
  }));
}

let publishedIsOpen = false;

// Our rows beside what was published; a cell has the share and, under it, the sure one.
function drawHeadline() {
  const heads = ["", number("tasks"), number("CSR"), number("FCR"), number("FCR, own shapes"), ...SPEEDS.map((p) => number(["fast", element("sub", {}, p)])),
    number("geomean"), number("median")];
  const body = element("tbody", {});
  const row = (kind, cells) => element("tr", {class: kind}, cells.map((cell, i) =>
    element(i ? "td" : "th", {scope: i ? null : "row", class: i ? "number" : null}, cell)));
  for (const run of data.runs) {
    const {figures} = run;
    const fast = figures.fast[chosenRival];
    const left = (figures.left_out[chosenRival] || 0) + (figures.unmeasured[chosenRival] || 0);
    body.append(row("ours", [[run.name, element("small", {}, `against ${rivalName(chosenRival)}`)],
      [figures.tasks, left ? element("small", {}, `${left} left out`) : null], percent(figures.csr), percent(figures.fcr), percent(figures.fcr_own_shapes),
      ...SPEEDS.map((p) => fast ? [percent(fast[p]), element("small", {}, `sure ${percent(fast.sure[p])}`)] : "–"),
      times(figures.geomean[chosenRival]), times(figures.median[chosenRival])]));
  }
  const theirs = data.published.map((one, i) => row(i ? "theirs" : "theirs break", [[one.who, element("small", {}, one.source)], one.tasks || "–", percent(one.csr), "–", percent(one.fcr),
    ...SPEEDS.map((p) => percent(one.fast[p])), "–", "–"]));
  // The strongest two stand there at once, the others are asked for.
  const others = theirs.slice(2);
  for (const one of others) one.hidden = !publishedIsOpen;
  body.append(...theirs);
  const more = element("button", {type: "button", id: "more-published", "aria-expanded": publishedIsOpen, onclick: () => {
    publishedIsOpen = !publishedIsOpen;
    drawHeadline();
    byId("more-published").focus();
  }}, publishedIsOpen ? "Fewer published rows" : `${others.length} more published rows`);
  fill(byId("headline"), element("table", {}, element("thead", {}, element("tr", {}, heads.map((head) =>
    head === "" ? element("td", {}) : element("th", {scope: "col", class: "number"}, head.value)))), body), others.length ? element("p", {}, more) : null);
  fill(byId("headline-notes"),
    element("p", {}, "CSR: tasks with a kernel that builds and loads. FCR: with one that is right on all shapes, hidden ones too; on own shapes: the looser rule of published tables. " +
      "fast", element("sub", {}, "p"), ": tasks whose kernel is right and more than p times as fast as the rival; a task without one counts as 0. Sure: the lower end of the 95 % interval passes p. " +
      "Left out: tasks that the rival cannot run right, or where it was not there."),
    [...new Set(data.published.map((one) => `Published rows (${one.source}) were measured in another setting: ${one.setting}. Held against ${one.rival} here; the figures stand side by side for orientation, not as a ranking.`))]
      .map((note) => element("p", {}, note)));
}

function drawCategories() {
  const place = byId("categories").querySelector("div");
  const theirs = data.published_categories;
  const beside = chosenRival === theirs.rival && data.runs.some((run) => run.suite === theirs.suite);
  const heads = ["category", ...(data.runs.length > 1 ? ["run"] : []), number("tasks"), number("CSR"), number("FCR"), ...SPEEDS.map((p) => number(["fast", element("sub", {}, p)])),
    number("geomean"), number("median"), number("of the roof"),
    ...(beside ? [number(`${theirs.who} CSR`), number(`${theirs.who} FCR`), number([`${theirs.who} fast`, element("sub", {}, "1")])] : [])];
  const published = (run, name) => {
    const known = run.suite === theirs.suite ? theirs.categories[name] : null;
    return beside ? ["csr", "fcr", "fast1"].map((key) => number(known ? percent(known[key]) : "–")) : [];
  };
  const names = [...new Set(data.runs.flatMap((run) => Object.keys(run.figures.categories)))];
  const rows = names.flatMap((name) => data.runs.filter((run) => name in run.figures.categories).map((run) => {
    const figures = run.figures.categories[name];
    const fast = figures.fast[chosenRival];
    return [name || "–", ...(data.runs.length > 1 ? [run.name] : []), number(figures.tasks), number(percent(figures.csr)), number(percent(figures.fcr)),
      ...SPEEDS.map((p) => number(fast ? percent(fast[p]) : "–")), number(times(figures.geomean[chosenRival])), number(times(figures.median[chosenRival])), number(percent(figures.roof_fraction)), ...published(run, name)];
  }));
  fill(place, rows.length ? table(heads, rows) : nothing("No task has been judged."),
    beside && rows.length ? element("p", {class: "quiet"}, `${theirs.who}: ${theirs.source}; another setting: ${theirs.setting}.`)
      : data.runs.some((run) => run.suite === theirs.suite && run.rivals.includes(theirs.rival))
        ? element("p", {class: "quiet"}, `Compared with ${theirs.rival}, ${theirs.who}'s published figures of each category stand beside these.`) : null);
}

function drawMachine() {
  fill(byId("machine").querySelector("div"), data.runs.map((run) => {
    const machine = run.machine;
    return element("div", {}, data.runs.length > 1 ? element("h3", {}, run.name) : null, facts([
      ["machine", machine ? `${machine.name} (${machine.identity.slice(0, 8)})` : "nothing was judged yet"],
      ...(machine ? machine.facts.map((row) => [row.name, row.text]) : []),
      ["compilers", machine ? Object.entries(machine.compilers).map(([name, version]) => `${name} ${version}`).join(", ") : ""],
      ["system", machine ? machine.kernel : ""],
      ["sandbox", machine ? machine.sandbox : ""],
      ["rivals", Object.entries(run.figures.versions).map(([rival, versions]) => `${rival} ${Object.keys(versions).join(", ")}`).join("; ")],
      ["command", element("code", {}, run.command)],
      ["rules", Object.entries(run.rules).filter(([, value]) => value === null || typeof value !== "object").map(([name, value]) => `${name} ${value}`).join(", ")],
      ["seed", run.seed],
      ["state", run.state],
    ]), run.events.length ? element("div", {class: "scroll"}, table(["when", "what", ""], run.events.map(({at, kind, text}) => [dateText(at), kind, shortened(text, 300)]))) : null,
    run.more_events ? element("p", {class: "quiet"}, `${counted(run.more_events, "event")} more in the record.`) : null);
  }));
}

function drawChanges() {
  byId("changes-note").textContent = "Each task's speed-up against the first rival that both runs met in the same version, on the same machine, compared with that of the first run. Better and worse " +
    "are said only where the intervals lie apart by more than the noise of both races; a smaller difference is none.";
  fill(byId("changes-body"));
  if (data.devices.rows.length) {
    byId("changes-body").append(element("h3", {}, "Devices side by side"), element("div", {class: "scroll"}, table(data.devices.heads, data.devices.rows)),
      ...data.devices.notes.map((note) => element("p", {class: "quiet"}, note)));
  }
  const words = {better: "better", worse: "worse", same: "within the noise", gained: "right only in the later run", lost: "right only in the earlier run",
    neither: "right in neither", apart: "not to be compared"};
  for (const change of data.changes) {
    const count = d3.nest().key((one) => one.kind).rollup((all) => all.length).object(change.tasks);
    const place = element("div", {class: "plot"});
    byId("changes-body").append(
      element("h3", {}, `From ${data.runs[change.from].name} to ${data.runs[change.to].name}`),
      element("p", {}, Object.entries(words).filter(([kind]) => count[kind]).map(([kind, text]) => `${count[kind]} ${text}`).join(", ") || "no task is in both"),
      place);
    plot(place, (node, width) => drawChange(node, width, change));
    const others = change.tasks.filter((one) => ["gained", "lost", "apart"].includes(one.kind));
    if (others.length) {
      byId("changes-body").append(element("details", {}, element("summary", {}, `${counted(others.length, "task")} of another kind`), table(["task", "", ""],
        others.map((one) => [element("a", {href: "#task-" + one.task}, data.tasks[one.task].name), words[one.kind], one.why]))));
    }
  }
}

function drawNotes() {
  const compared = data.runs.flatMap((run) => run.parts).filter((part) => ratioOf(part)).length;
  byId("speedups-note").textContent = compared ? `The best right kernel of each task against ${rivalName(chosenRival)}: the median of paired ratios with its 95 % interval. Right of the line is faster.`
    : "No kernel has been compared with this rival.";
  const still = kernelsUnderRoofs().filter((point) => !(point.task.flops > 0)).length;
  byId("roofline-note").textContent = "The best kernels of all tasks, each by the least work and the least bytes that its task allows." +
    (still ? ` ${counted(still, "kernel")} of tasks without arithmetic ${still === 1 ? "stands" : "stand"} only in the picture of shares.` : "") + aboveRoofWords();
  byId("rival-note").textContent = chosenRival === FASTEST && allRivals().length > 1 ? "of those that ran it right: the comparison that is hardest on us" : "";
}

// --- controls ------------------------------------------------------------------------------------------------------------

function prepareRivals() {
  const rivals = allRivals();
  const choices = rivals.length === 1 ? rivals : [FASTEST, ...rivals];
  chosenRival = choices[0];
  fill(byId("rival"), choices.map((rival, i) => element("option", {value: i}, rivalName(rival))));
  byId("rival").addEventListener("change", () => {
    chosenRival = choices[Number(byId("rival").value)];
    drawAgain();
  });
}

function drawAgain() {
  drawCards();
  drawHeadline();
  drawCategories();
  drawNotes();
  redrawAll();
  drawParts();
  drawTable();
}

function drawParts() {
  const open = new Set([...byId("parts").children].filter((part) => part.open).map((part) => part.id));
  fill(byId("parts"), tasksShown().map(taskPart));
  for (const part of byId("parts").children) part.open = open.has(part.id);
  if (!byId("parts").children.length) byId("parts").append(nothing("No task is in this run."));
}

function prepareKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") {
      event.preventDefault();
      byId("find").focus();
    } else if (event.key === "t") {
      nextTheme();
    }
  });
  const openNamed = () => {
    const named = /^#task-(\d+)$/.exec(location.hash);
    if (named) openTask(Number(named[1]));
  };
  addEventListener("hashchange", openNamed);
  openNamed();
  byId("open-all").addEventListener("click", () => {
    for (const part of byId("parts").children) if (!part.hidden) part.open = true;
  });
  byId("close-all").addEventListener("click", () => {
    for (const part of byId("parts").children) part.open = false;
  });
  for (const choice of document.querySelectorAll("input[name=along]")) {
    choice.addEventListener("change", () => {
      along = choice.value;
      redrawAll();
    });
  }
}

// The part of the report that is in sight is marked in the bar.
function prepareBar() {
  const links = new Map([...document.querySelectorAll(".bar nav a")].map((link) => [link.hash.slice(1), link]));
  const observer = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) {
      if (isIntersecting) links.get(target.id).setAttribute("aria-current", "true");
      else links.get(target.id).removeAttribute("aria-current");
    }
  }, {rootMargin: "-45% 0px -50% 0px"});
  for (const section of document.querySelectorAll("main > section")) observer.observe(section);
}

function begin() {
  prepareTheme();
  document.documentElement.classList.toggle("has-several", data.runs.length > 1);
  drawTitle();
  drawWarnings();
  prepareRivals();
  drawCards();
  drawHeadline();
  drawCategories();
  drawMachine();
  if (data.runs.length > 1) drawChanges();
  drawSpeedupLegend();
  drawRoofLegend();
  drawNotes();
  plot(byId("speedups-plot"), drawSpeedups);
  plot(byId("roofline-plot"), drawRoofline);
  plot(byId("roof-share-plot"), drawRoofShares);
  plot(byId("share-plot"), drawShares);
  plot(byId("mean-plot"), drawMeans);
  plot(byId("stages-plot"), drawStages);
  reasonsView();
  prepareFilters();
  drawParts();
  drawTable();
  prepareKeys();
  prepareBar();
  byId("licence").textContent = data.licence;
  document.documentElement.dataset.ready = "yes";
}

begin();
