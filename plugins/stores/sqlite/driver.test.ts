import { describe, expect, it } from "vitest";
import { driverProblem, openFile, requireFitting } from "./driver.ts";

describe("the library's native part", () => {
  it("is not loaded under a Node.js that it would end: 13 on Node.js 20 (F14)", () => {
    expect(() => requireFitting(20, () => "13.2.0")).toThrow(expect.objectContaining({ code: "SVC_STORE_DRIVER", message: expect.stringContaining("13.2.0") }));
    expect(() => requireFitting(20, () => "12.11.1")).not.toThrow();
    expect(() => requireFitting(22, () => "13.2.0")).not.toThrow();
  });

  it("is tried before there is a database, so that a doctor can say what a start would (F3)", () => {
    expect(driverProblem()).toBeUndefined();
    expect(() => openFile("/nonexistent/folder/x.db", {})).toThrow(/directory does not exist/);
  });
});
