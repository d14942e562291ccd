// A task's own part: what it means, its best kernel and where that came from, rivals, and what was rejected. Built when it
// is opened for the first time.
"use strict";

function partSummary(one) {
  const words = data.runs.map((run, r) => {
    const part = one.parts[r];
    const name = data.runs.length > 1 ? run.name + " " : "";
    const ratio = ratioOf(part);
    if (!ratio) return element("span", {class: "unsure"}, name + (part ? outcomeText(part) : "not in this run"));
    return element("span", {class: kindOf(ratio)}, `${name}${times(ratio.median)} ${ratio.rival}`);
  });
  return element("summary", {}, element("strong", {}, one.task.name), element("span", {class: "unsure"}, one.task.category),
    element("span", {class: "quiet"}, words.flatMap((word, i) => i ? [" · ", word] : [word])));
}

function taskPart(one) {
  const part = element("details", {class: "part", id: "task-" + one.index, "data-task": one.index}, partSummary(one));
  part.addEventListener("toggle", () => {
    if (!part.open || part.dataset.built) return;
    part.dataset.built = "yes";
    part.append(meaning(one.task));
    data.runs.forEach((run, r) => {
      if (one.parts[r]) part.append(inRun(run, one.parts[r], one, r));
    });
  });
  return part;
}

function openTask(index) {
  const part = byId("task-" + index);
  if (!part) return;
  hideTip();
  part.hidden = false;
  part.open = true;
  history.replaceState(null, "", "#task-" + index);
  // The part is built by an event that comes after this.
  requestAnimationFrame(() => {
    part.scrollIntoView({block: "start"});
    part.querySelector("summary").focus({preventScroll: true});
  });
}

function meaning(task) {
  const roofWords = task.flops > 0 ? `${withUnit(task.flops, "flop")}, ${withUnit(task.bytes, "B")} moved at least (${digits(task.flops / task.bytes, 3)} flop/B)`
    : task.bytes > 0 ? `no arithmetic, ${withUnit(task.bytes, "B")} moved at least` : null;
  const lengths = Object.entries(task.lengths).map(([name, value]) => `${name} = ${value}`).join(", ");
  const box = element("div", {}, element("h3", {}, "What it computes"));
  if (task.problem) box.append(element("p", {class: "warning"}, task.problem));
  if (task.nodes.length) box.append(element("pre", {class: "plain"}, task.nodes.join("\n")));
  box.append(facts([...task.meaning.map(([op, words]) => [op, words]), ["open lengths", lengths ? lengths + " (a kernel must serve others too)" : ""],
    ["work", roofWords], ["suite", task.suite], ["note", task.note]]));
  if (task.tensors.length) {
    box.append(element("div", {class: "scroll"}, table(["tensor", "role", "type", "shape"],
      task.tensors.map(({name, role, dtype, shape}) => [name, role, dtype, `[${shape.join(", ")}]`]))));
  }
  return box;
}

function inRun(run, part, one, r) {
  const box = element("div", {class: "run-part"});
  if (data.runs.length > 1) box.append(element("h3", {}, `In ${run.name}`));
  if (part.best) {
    box.append(bestKernel(run, part.best));
    box.append(rivalTimes(part.best));
    box.append(sourceOf(run, part.best));
    box.append(ancestors(run, part.best));
  } else {
    box.append(element("p", {}, part.furthest === OPEN ? "None of its candidates has been judged yet."
      : `No candidate was accepted; the one that came furthest ended at ${stageName(part.furthest)}: ${STAGE_MEANINGS[stageName(part.furthest)]}.`));
  }
  if (part.candidates > 1) {
    const place = element("div", {class: "plot"});
    box.append(element("h3", {}, "Its search"), place);
    requestAnimationFrame(() => plot(place, (node, width) => drawTaskCourse(node, width, run, part.task, r)));
  }
  box.append(rejected(run, part));
  return box;
}

function bestKernel(run, best) {
  const values = Object.entries(best.build.values || {});
  return element("div", {}, element("h3", {}, "Best kernel"), facts([
    ["time", `${timeText(best.time_ns)} a call${best.terms ? ", " + best.terms : ""}`],
    ["share of the roof", best.roof_fraction === null ? "" : percent(best.roof_fraction) +
      (best.roof_fraction > 1 ? ", counting the operations of the task's definition; see the note at the roofline" : "")],
    ["largest error", best.max_error === null ? "" : `${digits(best.max_error, 2)} of what is allowed`],
    ["noise", best.noise === null ? "" : `two copies of one kernel differed by up to ${percent(best.noise)}`],
    ["measured again", best.again ? "after it was chosen, on fresh inputs: these are the figures shown" : ""],
    ["author", best.author],
    ["author's notes", best.notes],
    ["compiler", best.build.compiler ? [best.build.compiler, ...(best.build.flags || [])].join(" ") : ""],
    ["tunables", values.length ? values.map(([name, value]) => `${name} = ${value}`).join(", ") : ""],
    ["set by its author", Object.entries(best.settings).map(([name, value]) => `${name} = ${value}`).join(", ")],
    ["in the record", `${run.name}, line ${best.position}, ${best.file}`],
  ]));
}

function rivalTimes(best) {
  const box = element("div", {});
  if (!best.rivals.length && !best.left_out.length) return box;
  box.append(element("h3", {}, "Rivals"));
  const rows = best.rivals.map((one) => [
    [one.rival, element("small", {}, one.version)],
    number(timeText(one.time_ns)),
    number(element("span", {class: kindOf(one)}, times(one.median))),
    number(interval(one)),
    number(one.pairs),
    [one.claimed ? (one.median > 1 ? "the kernel is faster" : "the kernel is slower") : "no difference is claimed",
      one.called ? element("small", {}, `as called ${times(one.called.median)}; of its ${timeText(one.called.time_ns)}, calling takes ${timeText(one.called.overhead_ns)}${one.called.overhead_decides ? ": says little about the operator" : ""}`) : null],
  ].map((cell) => Array.isArray(cell) ? {value: cell} : cell));
  const right = (value) => ({value, class: "number"});
  if (rows.length) box.append(element("div", {class: "scroll"}, table(["rival", right("its time"), right("speed-up"), right("95 % interval"), right("pairs"), ""], rows)));
  for (const one of best.left_out) box.append(element("p", {class: "quiet"}, `${one.rival} ${one.version} does not count: ${one.why}`));
  return box;
}

function sourceOf(run, best) {
  if (best.source === null) {
    return element("p", {class: "quiet"}, `Its source is left out here (${best.source_left_out}); kw export ${run.name} --out kernels writes it.`);
  }
  return element("div", {}, element("div", {class: "source-head"}, element("h3", {}, "Source"), copyButton(best.source)), highlighted(best.source));
}

function ancestors(run, best) {
  const box = element("div", {});
  if (!best.ancestors.length) return box;
  box.append(element("h3", {}, "Where it came from"));
  const list = element("ol", {class: "line-of"});
  for (const one of best.ancestors) {
    const head = [one.judged || "never judged in this run", one.author, one.file].filter(Boolean).join(" · ");
    const item = element("li", {}, element("strong", {}, one.what), " ", element("span", {class: "quiet"}, head));
    if (one.notes) item.append(element("p", {}, one.notes));
    if (one.settings) item.append(element("p", {class: "quiet"}, one.settings));
    if (one.difference) {
      item.append(one.difference.length ? element("details", {}, element("summary", {}, one.difference_words), differenceView(one.difference))
        : element("p", {class: "quiet"}, one.difference_words));
    }
    list.append(item);
  }
  box.append(list);
  if (best.more_ancestors) box.append(element("p", {class: "quiet"}, `${counted(best.more_ancestors, "older ancestor")} not shown.`));
  return box;
}

const MOST_REJECTED = 50;

function rejected(run, part) {
  const {task, stage, reason, position, file, author} = run.candidates;
  const rows = [];
  for (let row = 0; row < stage.length; ++row) {
    if (task[row] === part.task && isRejected(stage[row])) rows.push(row);
  }
  const box = element("div", {});
  if (!rows.length) return box;
  box.append(element("h3", {}, `Rejected: ${rows.length.toLocaleString("en")} of ${counted(part.candidates, "candidate")}`));
  const cells = (row) => [number(position[row]), stageName(stage[row]), {value: reasonCell(run, row), class: "reason"},
    data.strings[file[row]], data.strings[author[row]]];
  const shown = table([number("line"), "stage", "reason", "file", "author"], rows.slice(0, MOST_REJECTED).map(cells));
  box.append(element("div", {class: "scroll"}, shown));
  if (rows.length > MOST_REJECTED) {
    const more = element("button", {type: "button", onclick: () => {
      const rest = table([], rows.slice(MOST_REJECTED).map(cells));
      shown.tBodies[0].append(...rest.tBodies[0].children);
      more.remove();
    }}, `Show the other ${rows.length - MOST_REJECTED}`);
    box.append(more);
  }
  return box;
}

function reasonCell(run, row) {
  const text = run.candidates.reason[row] < 0 ? "" : data.strings[run.candidates.reason[row]];
  const errors = run.errors[row];
  if (!errors) return [text];
  return [text, element("details", {}, element("summary", {}, counted(errors.length, "message")),
    errors.map((one) => element("div", {}, element("p", {}, one.line ? `line ${one.line}: ${one.message}` : one.message),
      one.around ? element("pre", {class: "plain"}, one.around) : null)))];
}
