import { tortureContract } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import { fakeMedia } from "./calls.harness.ts";
import plugin from "./index.ts";

// The suite of all plugins knows no media: with them, the routes do what they are there for.
describe("with media", () =>
  tortureContract(
    { describe, it: (name, run) => it(name, { timeout: 60_000 }, run) },
    { plugin: plugin as never, config: { allow: ["*"], maxPerHour: 60 }, fake: { services: { "call-media": fakeMedia().media }, agents: [{ id: "ada" }] } },
  ));
