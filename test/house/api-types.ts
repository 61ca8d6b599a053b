import type { Answers, HttpRoute } from "@svc/sdk";
import type { OwnedRoute } from "../../kernel/http/router.ts";

const WORDS = `// What the HTTP API of svc answers, as its routes declare it: import type { Answers } from "@svc/cli/api.d.ts". Written by npm run docs.
// A daemon with other plugins prints its own with: svc api --types
`;

/** The types of every answer of the kernel and of plugins, whose folder is given with their entry, as a file for programs. */
export async function publishedTypes(entries: readonly { readonly path: string; readonly source: string }[]): Promise<string> {
  // Imported by an address that only runs: the rooms of the kernel and the cli are no part of this project.
  const load = async <T>(path: string): Promise<T> => (await import(new URL(`../../${path}`, import.meta.url).href)) as T;
  const { apiDocument } = await load<typeof import("../../kernel/http/api-document.ts")>("kernel/http/api-document.ts");
  const { readAnswers } = await load<typeof import("../../kernel/http/api-answers.ts")>("kernel/http/api-answers.ts");
  const { apiTypes } = await load<typeof import("../../cli/api-types.ts")>("cli/api-types.ts");
  const described = entries.flatMap(({ path, source }) => {
    const name = /^ +answers: \(\) => import\("\.\/([\w/-]+)\.js"\),$/m.exec(source)?.[1];
    return name === undefined ? [] : [{ owner: path, file: `${path}/${name}.ts` }];
  });
  const owners = [{ owner: "kernel", file: "kernel/http/routes/answers.ts" }, ...described];
  const routes: OwnedRoute[] = [];
  for (const { owner, file } of owners) {
    const { default: told } = await load<{ readonly default: Answers & { readonly default?: Answers } }>(file);
    // jiti, which runs this for `npm run docs`, wraps a default export once more.
    const answers = { default: told.default ?? told };
    for (const key of Object.keys(answers.default.routes)) {
      const [method, path] = key.split(" ") as [HttpRoute["method"], string];
      routes.push({ method, path, guard: "open", owner, answers: async () => answers, handle: () => undefined });
    }
  }
  return `${WORDS}\n${apiTypes(apiDocument("daemon", "", routes, await readAnswers(routes)) as never)}`;
}
