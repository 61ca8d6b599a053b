import type { ProgramSection } from "@svc/sdk";
import { programSection } from "@svc/sdk/program-tier";

/** The section `tiers.cli-a`. */
export interface Section extends ProgramSection {
  readonly guard?: GuardSection;
}

/** The section `tiers.cli-a.guard`: how runs of restricted autonomy are held. None of it makes such a run free. */
export interface GuardSection {
  readonly wall?: "auto" | "require" | "off";
  readonly folders?: readonly string[];
  readonly servers?: readonly string[];
}

/** The schema of that section. */
export const sectionSchema = programSection("Claude Code", "claude", {
  guard: {
    type: "object",
    description: "how runs of autonomy report and propose are held",
    additionalProperties: false,
    properties: {
      wall: {
        enum: ["auto", "require", "off"],
        description: "auto: behind bubblewrap where it is shown to hold, else with fewer rights; require: fail such runs without it; off: never; default auto",
      },
      folders: {
        type: "array",
        items: { type: "string", pattern: "^/" },
        description: "folders beside the workspace that such runs may read, as absolute paths: a common repository, tool chains",
      },
      servers: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description: "names of the agent's tool servers that a run of autonomy propose gets",
      },
    },
  },
});
