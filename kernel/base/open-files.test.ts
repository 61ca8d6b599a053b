import { afterEach, expect, it, vi } from "vitest";
import { noteRefusedConnection, openFilesProblem } from "./open-files.ts";

afterEach(() => vi.useRealTimers());

it("FLT-8 connections that were refused for want of descriptors are a problem until a minute after the latest, and news once", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  expect(openFilesProblem()).toBeUndefined();
  expect(noteRefusedConnection("no room")).toBe(true);
  vi.advanceTimersByTime(59_000);
  expect(noteRefusedConnection("no room")).toBe(false);
  vi.advanceTimersByTime(59_000);
  expect(openFilesProblem()).toBe("no room");
  vi.advanceTimersByTime(1_000);
  expect(openFilesProblem()).toBeUndefined();
  expect(noteRefusedConnection("no room")).toBe(true);
});
