import { vi } from "vitest";

/** What is waited for comes late on a busy machine: the default of a second would judge the machine, and no setting changes it. */
const PATIENCE_MS = 20_000;

// Run before each file: a process of many files is told once.
const { waitFor } = vi;
if (waitFor.name !== "patient")
  vi.waitFor = function patient(callback, options) {
    return waitFor(callback, typeof options === "number" ? options : { timeout: PATIENCE_MS, ...options });
  };
