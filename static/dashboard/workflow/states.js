// How each state of a node is drawn: the class of its colour, and a sign of its own, for colours alone tell not everybody.
// Signs are paths in a box of 16 by 16; lines, not areas.
export const STATES = {
  done: ["ok", "M3 8.5l3.5 3.5L13 4.5"],
  dead: ["bad", "M4 4l8 8M12 4l-8 8"],
  deleted: ["bad", "M3.5 5h9M6 5V3h4v2M5 5l.5 8h5l.5-8"],
  expired: ["bad", "M4 3h8M4 13h8M5 3l6 10M11 3L5 13"],
  retry: ["warn", "M12.5 6A5 5 0 1 0 13 9M13 3v3.5H9.5"],
  working: ["info", "M5 3.5v9l7.5-4.5z"],
  cancelled: ["warn", "M8 3a5 5 0 1 0 .01 0M4.5 11.5l7-7"],
  ready: ["ready", "M8 4.5a3.5 3.5 0 1 0 .01 0"],
  delayed: ["wait", "M8 3a5 5 0 1 0 .01 0M8 5.2V8l2 1.6"],
  pending: ["wait", "M3.5 8h.01M8 8h.01M12.5 8h.01"],
  blocked: ["wait", "M6 4v8M10 4v8"],
};
const OTHER = ["wait", "M4 8h8"];

export const look = (state) => STATES[state] ?? OTHER;

// In these states there is no job to look at.
const WITHOUT_JOB = new Set(["pending", "deleted", "expired", "cancelled", "gone"]);
export const hasJob = (state) => !WITHOUT_JOB.has(state);
