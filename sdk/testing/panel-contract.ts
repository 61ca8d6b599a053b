import assert from "node:assert/strict";
import type { FakeContext } from "./fake-context.ts";
import type { Runner } from "./runner.ts";

/** Subject of `panelContract`: the context that the plugin was set up with; created afresh for each test. */
export interface PanelSubject {
  readonly context: Pick<FakeContext<never>, "registered">;
  dispose?(): Promise<void>;
}

/** Contract suite of every plugin with panels. Run it with any runner: `panelContract({ describe, it }, () => ({ context }))`. */
export function panelContract(runner: Runner, make: () => PanelSubject | Promise<PanelSubject>): void {
  const given = (test: (registered: FakeContext<never>["registered"]) => void) => async () => {
    const { context, dispose } = await make();
    try {
      test(context.registered);
    } finally {
      await dispose?.();
    }
  };

  runner.describe("panel contract", () => {
    runner.it(
      "has panels with an id for addresses, a title for people, and a guard",
      given(({ panels }) => {
        assert.ok(panels.length > 0, "the plugin provides no panel");
        for (const { id, title, place, guard } of panels) {
          assert.match(id, /^[a-z0-9][a-z0-9-]*$/, `the id '${id}' is not of lower-case letters, digits and '-'`);
          assert.ok(title.trim() === title && title !== "" && title.length <= 40, `the title of ${id} must be of 1 to 40 characters`);
          assert.ok(["page", "admin", "card"].includes(place), `the place of ${id} is '${place}'`);
          assert.notEqual(guard, "signed", `${id} is shown to people, who sign nothing`);
        }
      }),
    );

    runner.it(
      "serves the module of each panel on the dashboard's server",
      given(({ panels, files, routes }) => {
        for (const { id, module } of panels) {
          assert.match(module, /^\/(?!\/)[^?#]*\.m?js$/, `the module of ${id} is not the path of a script`);
          const served = [
            ...files.filter(({ server }) => server === "dashboard").map(({ prefix }) => module.startsWith(`${prefix}/`)),
            ...routes.filter(({ server, method }) => server === "dashboard" && method === "GET").map(({ path }) => path === module),
          ];
          assert.ok(served.includes(true), `neither files nor a route of the dashboard's server serve ${module}`);
        }
      }),
    );
  });
}
