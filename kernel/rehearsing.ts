/* What is tried in a kernel of its own, as programs use it: a start, and the replay of recorded tasks with the program of its processes. */

import { fileURLToPath } from "node:url";
import { PARTS } from "./create-kernel.ts";
import type { EditorOptions } from "./editing.ts";
import * as rehearsal from "./editor/rehearse.ts";
import * as replay from "./rehearsal/replay.ts";

/** Options of a replay: the tasks and the other configuration. */
export type ReplayOptions = Omit<replay.ReplayOptions, "parts" | "program">;

const PROGRAM = fileURLToPath(new URL("./rehearsal-program.js", import.meta.url));

/** Rehearses recorded tasks with the present configuration and another one; see `rehearsal/replay.ts`. */
export const replayWith = (options: ReplayOptions) => replay.replayWith({ ...options, parts: PARTS, program: PROGRAM });
/** Reads, checks and sets up like a start, in memory, and asks the engines whether they are usable. */
export const rehearse = (options: EditorOptions) => rehearsal.rehearse({ ...options, parts: PARTS });
