import { type AgentTool, type Schema, svcError } from "@svc/sdk";
import type { Act, ActParts } from "./acts.ts";

const text = (description: string, maxLength = 60_000): Schema => ({ type: "string", minLength: 1, maxLength, description });
const list = (items: Schema, description: string): Schema => ({ type: "array", items, maxItems: 50, description });

/** Tools of agents that were asked on a forge. They act as that agent, in the project and thread of their run, and for who asked. */
export function forgeTools(open: () => Promise<ActParts> | undefined): readonly AgentTool[] {
  const has = async (agent: string) => {
    const parts = await open();
    return parts !== undefined && [...parts.forges.values()].some((forge) => forge.agents().some((one) => one.agent === agent));
  };
  const tool = (act: Act, description: string, properties: Readonly<Record<string, Schema>>, required: readonly string[]): AgentTool => ({
    name: `svc_forge_${act}`,
    description,
    input: { type: "object", additionalProperties: false, required: [...required], properties },
    for: has,
    run: async (input, call) => {
      const parts = await open();
      if (parts === undefined) throw svcError("SVC_FORGE_OFF", "No code forge is connected.");
      const { perform } = await import("./acts.js");
      return perform(act, parts, input, call);
    },
  });
  return [
    tool(
      "comment",
      "Write a further comment in the thread you were asked in (your answer is posted by itself). With `ask`, another agent answers it there. At most 5 a run.",
      { text: text("Markdown."), ask: text("The id of another agent that is to answer.", 64) },
      ["text"],
    ),
    tool(
      "label",
      "Add and remove labels of the issue or request you were asked on; only labels that the project has. At most 10 a run.",
      { add: list(text("A label.", 255), "Labels to add."), remove: list(text("A label.", 255), "Labels to remove.") },
      [],
    ),
    tool(
      "open_request",
      "Open a merge or pull request from a branch that you have pushed. Where one of the same branches is open, that one is answered. At most 1 a run.",
      {
        title: text("One line.", 255),
        text: text("Its description, Markdown."),
        source: text("The branch that you have pushed.", 255),
        target: text("The branch it is to go into; the default branch when left out.", 255),
        draft: { type: "boolean", description: "Not ready to be merged." },
      },
      ["title", "text", "source"],
    ),
    tool(
      "review",
      "Review the request you were asked on: a verdict with words, and comments at lines. At most 1 a run.",
      {
        verdict: { type: "string", enum: ["comment", "approve", "request_changes"], description: "`comment` decides nothing." },
        text: text("Markdown."),
        comments: list(
          {
            type: "object",
            additionalProperties: false,
            required: ["path", "line", "text"],
            properties: {
              path: text("The file.", 1_000),
              line: { type: "integer", minimum: 1, description: "In the file." },
              side: { type: "string", enum: ["old", "new"], description: "Default new." },
              text: text("Markdown."),
            },
          },
          "Comments at lines of the diff.",
        ),
      },
      ["verdict", "text"],
    ),
  ];
}
