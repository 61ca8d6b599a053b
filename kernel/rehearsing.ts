/* The replay of recorded tasks as programs use it: with the program of its processes. */

import { fileURLToPath } from "node:url";
import { PARTS } from "./create-kernel.ts";
import * as replay from "./rehearsal/replay.ts";

/** Options of a replay: the tasks and the other configuration. */
export type ReplayOptions = Omit<replay.ReplayOptions, "parts" | "program">;

const PROGRAM = fileURLToPath(new URL("./rehearsal-program.js", import.meta.url));

/** Rehearses recorded tasks with the present configuration and another one; see `rehearsal/replay.ts`. */
export const replayWith = (options: ReplayOptions) => replay.replayWith({ ...options, parts: PARTS, program: PROGRAM });
