import { svcError } from "@svc/sdk";
import { createThread, type Thread } from "@svc/sdk/thread";
import type { Answers, Ask, Progress } from "./code-protocol.ts";

/** The thread that reads code. Questions reject with `SVC_CODE_FAILED`. */
export type CodeThread = Thread<Ask, Answers, Progress>;

const MEMORY_MB = 1_024;

/** Makes the thread. */
export const createCodeThread = (): CodeThread => createThread({ file: new URL("./worker.js", import.meta.url), memoryMb: MEMORY_MB, failed });

const failed = (reason: string, cause?: string): Error =>
  svcError("SVC_CODE_FAILED", `The code index failed: ${reason}. Build it again with: svc agent index <id>`, {
    status: 500,
    ...(cause === undefined ? {} : { reason: cause }),
  });
