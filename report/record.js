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
const QUICK_CHECK = data.stages.indexOf("quick_check");  // right as far as it was checked, and not checked further: not rejected
const OPEN = -1;
const PROBLEM = -2;

function stageName(stage) {
  return stage === OPEN ? "open" : stage === PROBLEM ? "not judged" : data.stages[stage];
}

function isRejected(stage) {
  return stage !== ACCEPTED && stage !== QUICK_CHECK && stage !== OPEN;
}

const STAGE_MEANINGS = {
  build: "does not compile",
  load: "cannot be loaded",
  verify: "wrong on the task's own shapes",
  quick_check: "passed the quick check, and was not judged further",
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

// For each judgement, in the order of judging: {row, candidates, seconds, again} with the counts up to it. One that was measured again
// after it was chosen is no new candidate: it counts where it stands.
function* judgedRows(run) {
  const {stage, spent_s, again} = run.candidates;
  let candidates = 0;
  let seconds = 0;
  for (let row = 0; row < stage.length; ++row) {
    seconds += spent_s[row];
    if (stage[row] < 0) continue;
    if (!again[row]) ++candidates;
    yield {row, candidates, seconds, again: Boolean(again[row])};
  }
}

// A task's best so far. What was measured again after it was chosen takes the place of what the search had measured, as in the
// figures: the course ends where the headline stands.
class BestSoFar {
  ratio = 0;
  isFinal = false;

  // True where it changed.
  add(ratio, again) {
    if (ratio === null || (!again && (this.isFinal || ratio <= this.ratio))) return false;
    this.isFinal = again;
    this.ratio = ratio;
    return true;
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
  for (const {row, candidates, seconds, again} of judgedRows(run)) {
    last = {candidates, seconds};
    if (run.candidates.stage[row] !== ACCEPTED) continue;
    const task = run.candidates.task[row];
    const isNew = !right.has(task);
    right.add(task);
    if (!best.has(task)) best.set(task, new BestSoFar());
    const before = best.get(task).ratio;
    if (best.get(task).add(candidateMedian(run, row), again)) {
      logs += Math.log(Math.max(1, best.get(task).ratio)) - Math.log(Math.max(1, before));
    } else if (!isNew) {
      continue;
    }
    const values = [...best.values()].map((one) => one.ratio);
    steps.push({candidates, seconds, right: right.size / tasks,
      fast: levels.map((level) => values.filter((value) => value > level).length / tasks), mean: Math.exp(logs / tasks)});
  }
  if (last) steps.push({...steps[steps.length - 1], ...last});
  return {levels, steps};
}

// Of one task: every judgement of a candidate of it, and the best so far.
function courseOfTask(run, task) {
  const points = [];
  const steps = [];
  const best = new BestSoFar();
  let candidates = 0;
  let seconds = 0;
  for (const {row, again} of judgedRows(run)) {
    if (run.candidates.task[row] !== task) continue;
    if (!again) ++candidates;
    seconds += run.candidates.spent_s[row];
    const accepted = run.candidates.stage[row] === ACCEPTED;
    const ratio = accepted ? candidateMedian(run, row) : null;
    points.push({row, candidates, seconds, accepted, ratio});
    if (best.add(ratio, again)) steps.push({candidates, seconds, best: best.ratio});
  }
  if (steps.length) steps.push({candidates, seconds, best: best.ratio});
  return {points, steps};
}

// The row in which each candidate ended: of one that was measured again, the last.
function lastRows(run) {
  const {task, candidate} = run.candidates;
  return [...new Map(candidate.map((one, row) => [one < 0 ? `row ${row}` : `${task[row]} ${one}`, row])).values()];
}

// How much of a run is judged: a search has no list to go through, a batch has.
function judgedText(run) {
  const candidates = counted(run.figures.candidates, "candidate");
  return run.strategy ? `${candidates} tried` : `${run.done.toLocaleString("en")} of ${counted(run.planned, "candidate")} judged`;
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
