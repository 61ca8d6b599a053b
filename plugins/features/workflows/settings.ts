import type { Schema } from "@svc/sdk";

/** The section `workflows` of svc.json (001:L186-188), defaults filled in. */
export interface WorkflowsSettings {
  readonly enabled: boolean;
  /** Folder of the definitions, relative to the folder of svc.json. */
  readonly dir: string;
  readonly editor: "disabled" | "readonly" | "edit";
  readonly extern?: { readonly baseUrl?: string; readonly apiKey?: string };
  readonly matching: {
    readonly enabled: boolean;
    readonly mode: "suggest" | "auto";
    readonly autoRunThreshold: number;
    readonly suggestThreshold: number;
  };
}

const score = (value: number, description: string): Schema => ({ type: "number", minimum: 0, maximum: 1, default: value, description });

/** The section of svc.json. */
export const WORKFLOWS: Schema = {
  type: "object",
  description: "workflow engine",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch" },
    dir: { type: "string", minLength: 1, default: ".svc/workflows", restart: true, description: "folder of definitions" },
    editor: {
      type: "string",
      enum: ["disabled", "readonly", "edit"],
      default: "edit",
      description: "editor mode; the editor page exists only in mode edit",
    },
    extern: {
      type: "object",
      description: "external workflow service",
      additionalProperties: false,
      properties: {
        baseUrl: { type: "string", description: "address; empty = not connected" },
        apiKey: { type: "string", secret: true, description: "key as env reference" },
      },
    },
    matching: {
      type: "object",
      description: "message-to-workflow matching",
      additionalProperties: false,
      default: {},
      properties: {
        enabled: { type: "boolean", default: false, description: "switch" },
        mode: { type: "string", enum: ["suggest", "auto"], default: "suggest", description: "suggest only logs; auto runs the workflow instead of the agent" },
        autoRunThreshold: score(0.85, "score from which auto mode runs the workflow"),
        suggestThreshold: score(0.65, "score from which a match is logged"),
      },
    },
  },
};
