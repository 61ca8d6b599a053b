/** The figures by name; each is imported when it is measured. */
export const FIGURES = new Map([
  ["P1", () => import("./p1-version.mjs")],
  ["P2", () => import("./p2-command.mjs")],
  ["P3", () => import("./p3-start.mjs")],
  ["P4", () => import("./p4-memory.mjs")],
  ["P5", () => import("./p5-tasks.mjs")],
  ["P6", () => import("./p6-one-caller.mjs")],
  ["P7", () => import("./p7-hooks.mjs")],
  ["P8", () => import("./p8-bus.mjs")],
  ["P9", () => import("./p9-accept.mjs")],
  ["P10", () => import("./p10-blocks.mjs")],
  ["P11", () => import("./p11-plugins.mjs")],
  ["P12", () => import("./p12-engine.mjs")],
  ["P13", () => import("./p13-crons.mjs")],
  ["P14", () => import("./p14-leaks.mjs")],
  ["P15", () => import("./p15-search.mjs")],
  ["P16", () => import("./p16-webhooks.mjs")],
]);
