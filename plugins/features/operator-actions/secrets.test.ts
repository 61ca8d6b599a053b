import { expect, it } from "vitest";
import { createVariables } from "./secrets.ts";

it("a secret that begins another one leaves nothing of the longer", () => {
  const values: Readonly<Record<string, string>> = { API_TOKEN: "s3cret-part", API_KEY: "s3cret-part/and more" };
  const variables = createVariables((name) => values[name]);
  for (const name of ["API_TOKEN", "API_KEY"]) variables.read(name);
  expect(variables.hide("s3cret-part/and more, s3cret-part%2Fand%20more, s3cret-part")).toBe("[API_KEY], [API_KEY], [API_TOKEN]");
});
