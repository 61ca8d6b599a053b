import { svcError } from "@svc/sdk";
import { createThread, type Thread } from "@svc/sdk/thread";
import type { Answers, Ask } from "./protocol.ts";

/** The index thread. Questions reject with `SVC_INDEX_FAILED`. */
export type IndexThread = Thread<Ask, Answers>;

/** Makes the index thread. */
export const createIndexThread = (): IndexThread => createThread({ file: new URL("./worker.js", import.meta.url), failed });

const failed = (reason: string, cause?: string): Error =>
  svcError("SVC_INDEX_FAILED", `The index failed: ${reason}. Build it again with: svc agent index <id>`, {
    status: 500,
    ...(cause === undefined ? {} : { sqlite: cause }),
  });
