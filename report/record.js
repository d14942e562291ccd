// The report's data, as src/report/page_data.h describes it, and the questions that the page asks of it.
"use strict";

// Objects have no prototype: a rival called "constructor" is found where it is in the data, and nowhere else.
const data = JSON.parse(byId("data").textContent, (_, value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value);

// What stands for the fastest right rival of each task.
const FASTEST = "best";
// The rival that speed-ups are shown against.
let chosenRival = FASTEST;

const ACCEPTED = data.stages.length - 1;
const GLANCE = data.stages.indexOf("glance");  // right as far as was looked, and nobody asked further: not rejected
const OPEN = -1;
const PROBLEM = -2;

function stageName(stage) {
  return stage === OPEN ? "open" : stage === PROBLEM ? "not judged" : data.stages[stage];
}

function isRejected(stage) {
  return stage !== ACCEPTED && stage !== GLANCE && stage !== OPEN;
}

const STAGE_MEANINGS = {
  build: "does not compile",
  load: "cannot be loaded",
  verify: "wrong on the task's own shapes",
  glance: "right at a glance, and not judged further",
  hidden: "wrong on shapes that its author never saw",
  guard: "touches memory that is not its own",
  precision: "computes with fewer digits than asked",
  behaviour: "does what a kernel must not do",
  time: "fails or cheats while it is timed",
  accepted: "right on everything",
  open: "not yet judged",
  "not judged": "could not be judged at all",
};

function rivalName(rival) {
  return rival === FASTEST ? "the fastest rival of each task" : rival;
}

// All rivals that any run was timed against, in the order of their first appearance.
function allRivals() {
  return [...new Set(data.runs.flatMap((run) => run.rivals))];
}

// Of a task's best kernel: {rival, median, low, high, claimed, ...} against the chosen rival, or null.
function ratioOf(part, rival = chosenRival) {
  if (!part || !part.best) return null;
  if (rival === FASTEST) return part.best.fastest;
  return part.best.rivals.find((one) => one.rival === rival) || null;
}

function partOf(run, task) {
  return run.parts.find((part) => part.task === task) || null;
}

// faster, slower, or unsure where the difference is within what equal kernels show.
function kindOf(ratio) {
  if (!ratio || !ratio.claimed) return "unsure";
  return ratio.median > 1 ? "faster" : "slower";
}

// What became of a task: "faster", "slower", "even", "right" (not timed against this rival), "failed", "open".
function outcomeOf(part) {
  if (!part) return "open";
  if (!part.best) return part.furthest === OPEN ? "open" : "failed";
  const ratio = ratioOf(part);
  if (!ratio) return "right";
  return {faster: "faster", slower: "slower", unsure: "even"}[kindOf(ratio)];
}

const OUTCOMES = {
  faster: "faster",
  even: "no difference",
  slower: "slower",
  right: "right, not compared",
  failed: "no right kernel",
  open: "not judged",
};

function outcomeText(part) {
  if (!part) return "not in this run";
  const outcome = outcomeOf(part);
  if (outcome !== "failed") return OUTCOMES[outcome];
  return `none got past ${stageName(part.furthest)}`;
}

// The tasks of all runs, in the order of the data.
function tasksShown() {
  return data.tasks.map((task, index) => ({task, index, parts: data.runs.map((run) => partOf(run, index))}))
    .filter((one) => one.parts.some(Boolean));
}

// --- the course of the search ---------------------------------------------------------------------------------------

// The candidate's ratio against the chosen rival, or null.
function candidateMedian(run, row) {
  const {ratios} = run.candidates;
  if (chosenRival !== FASTEST) {
    const index = run.rivals.indexOf(chosenRival);
    return index < 0 ? null : ratios[index][row];
  }
  let least = null;
  for (const ofRival of ratios) {
    if (ofRival[row] !== null && (least === null || ofRival[row] < least)) least = ofRival[row];
  }
  return least;
}

// For each candidate, which stand in the order of judging: {row, candidates, seconds} with the counts up to it. Those measured again
// after they were chosen are no candidates of the search.
function* judgedRows(run) {
  const {stage, spent_s, again} = run.candidates;
  let candidates = 0;
  let seconds = 0;
  for (let row = 0; row < stage.length; ++row) {
    seconds += spent_s[row];
    if (stage[row] < 0 || again[row]) continue;
    yield {row, candidates: ++candidates, seconds};
  }
}

// Over the whole run: after each candidate that changed something, the shares of tasks that were right and fast by then,
// and the geometric mean over all tasks of the best so far, where a task without a faster kernel counts as the rival itself.
function courseOf(run) {
  const levels = [1, 1.5, 2];
  const tasks = Math.max(1, run.parts.length);
  const right = new Set();
  const best = new Map();
  const steps = [{candidates: 0, seconds: 0, right: 0, fast: levels.map(() => 0), mean: 1}];
  let logs = 0;
  let last = null;
  for (const {row, candidates, seconds} of judgedRows(run)) {
    last = {candidates, seconds};
    if (run.candidates.stage[row] !== ACCEPTED) continue;
    const task = run.candidates.task[row];
    const isNew = !right.has(task);
    right.add(task);
    const ratio = candidateMedian(run, row);
    const before = best.get(task) || 0;
    if (ratio !== null && ratio > before) {
      best.set(task, ratio);
      logs += Math.log(Math.max(1, ratio)) - Math.log(Math.max(1, before));
    } else if (!isNew) {
      continue;
    }
    const values = [...best.values()];
    steps.push({candidates, seconds, right: right.size / tasks,
      fast: levels.map((level) => values.filter((value) => value > level).length / tasks), mean: Math.exp(logs / tasks)});
  }
  if (last) steps.push({...steps[steps.length - 1], ...last});
  return {levels, steps};
}

// Of one task: every candidate of it, and the best so far.
function courseOfTask(run, task) {
  const points = [];
  const steps = [];
  let candidates = 0;
  let seconds = 0;
  let best = 0;
  for (const one of judgedRows(run)) {
    if (run.candidates.task[one.row] !== task) continue;
    ++candidates;
    seconds += run.candidates.spent_s[one.row];
    const accepted = run.candidates.stage[one.row] === ACCEPTED;
    const ratio = accepted ? candidateMedian(run, one.row) : null;
    points.push({row: one.row, candidates, seconds, accepted, ratio});
    if (ratio !== null && ratio > best) {
      best = ratio;
      steps.push({candidates, seconds, best});
    }
  }
  if (steps.length) steps.push({candidates, seconds, best});
  return {points, steps};
}

// Reasons that differ in numbers only are one reason: {stage: [{reason, count, tasks}]}, the most frequent first.
function reasonsByStage(run) {
  const found = new Map();
  const {stage, reason, task} = run.candidates;
  for (let row = 0; row < stage.length; ++row) {
    if (!isRejected(stage[row]) || reason[row] < 0) continue;
    const text = data.strings[reason[row]];
    const key = stage[row] + " " + text.replace(/0x[\da-f]+|\d+(\.\d+)?(e[+-]?\d+)?/gi, "#").slice(0, 160);
    const entry = found.get(key) || {stage: stage[row], reason: text, count: 0, tasks: new Set()};
    ++entry.count;
    entry.tasks.add(task[row]);
    found.set(key, entry);
  }
  return d3.nest().key((one) => one.stage).entries([...found.values()].sort((a, b) => b.count - a.count));
}

// --- the roofline -----------------------------------------------------------------------------------------------------

// The bandwidth roof of a task: the smallest level that holds what it moves, as the judge has it.
function levelOf(roofs, bytes) {
  return roofs.levels.find((level) => level.size_bytes === null || bytes <= level.size_bytes);
}
