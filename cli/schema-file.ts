import { join } from "node:path";
import type { ObjectSchema } from "@svc/sdk";
import { firstParty } from "./catalog.ts";
import type { Cli } from "./cli.ts";
import { offlineCode } from "./kernel-code.ts";

const NAME = "svc.schema.json";

/** Reference from svc.json to the schema beside it, for editors. */
export const SCHEMA_REFERENCE = `./.svc/${NAME}`;

/** All settings of the core and of the plugins that are here. */
export async function knownSettings(cli: Cli): Promise<ObjectSchema> {
  const { configurationSchema } = offlineCode();
  return configurationSchema({ file: cli.file, dataFolder: cli.dataFolder, known: firstParty().map(({ folder }) => folder), env: process.env });
}

/** The JSON schema of svc.json as editors read it. */
export async function schemaForEditors(cli: Cli): Promise<unknown> {
  const { editorSchema } = offlineCode();
  return editorSchema(await knownSettings(cli));
}

/** Writes it into the data folder; answers the file. */
export async function writeSchema(cli: Cli): Promise<string> {
  const text = JSON.stringify(await schemaForEditors(cli));
  await cli.data().then((folder) => folder.write(NAME, text));
  return join(cli.dataFolder, NAME);
}
