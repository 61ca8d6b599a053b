import type { TypedDocument } from "../api-types.ts";
import type { OwnGroup } from "../group.ts";
import { table } from "../table.ts";

interface Operation {
  readonly summary?: string;
  readonly tags: readonly [string];
  readonly "x-guard": string;
}

const group: OwnGroup = {
  name: "api",
  summary: "The HTTP API of the running daemon",
  commands: [
    {
      name: "api",
      anywhere: true,
      args: "",
      summary: "Every HTTP route: who may call it and whose it is; with --json an OpenAPI 3.1 document",
      options: [
        { flags: "--types", description: "what every route answers, as TypeScript declarations" },
        { flags: "--server <name>", description: "another server than the daemon's own, such as dashboard" },
      ],
      async run(_args, { server = "daemon", types }, cli) {
        const document = (await cli.request("GET", `/openapi.json?server=${encodeURIComponent(String(server))}`)) as TypedDocument & {
          readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
        };
        if (types === true) {
          const { apiTypes } = await import("../api-types.js");
          cli.print(apiTypes(document), { types: apiTypes(document) });
          return;
        }
        const rows = Object.entries(document.paths).flatMap(([path, methods]) =>
          Object.entries(methods).map(([method, { summary = "", tags, "x-guard": guard }]) => [method.toUpperCase(), path, guard, tags[0], summary]),
        );
        cli.print(table([["METHOD", "PATH", "WHO", "OF", "WHAT"], ...rows.sort((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1))]), document);
      },
    },
  ],
};

export default group;
