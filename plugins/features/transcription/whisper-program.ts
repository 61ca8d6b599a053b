import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// A process of its own: reads a line of JSON for each recording, writes one with its words.

interface Run {
  readonly promise: Promise<{ readonly result: string; readonly language?: string }>;
}
interface Context {
  transcribeFile(file: string, options: object): Run;
  release(): Promise<void>;
}
interface Library {
  WhisperContext: { new (options: object): Context | Promise<Context>; toggleNativeLog(on: boolean): void };
}

const PACKAGE = `@fugood/node-whisper-${process.platform}-${process.arch}`;
let loaded: { readonly model: string; readonly context: Context } | undefined;

function library(): Library {
  try {
    return createRequire(import.meta.url)(PACKAGE) as Library;
  } catch (error) {
    throw new Error(
      `its library ${PACKAGE} cannot be loaded (${(error as { code?: string }).code ?? error}): npm install ${PACKAGE}@1.1.3, or set binary or server of transcription`,
    );
  }
}

async function contextOf(model: string): Promise<Context> {
  if (loaded?.model === model) return loaded.context;
  await loaded?.context.release();
  loaded = undefined;
  const { WhisperContext } = library();
  WhisperContext.toggleNativeLog(false);
  const context = await new WhisperContext({ filePath: model, useGpu: false });
  loaded = { model, context };
  return context;
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { file, model, language, threads } = JSON.parse(line) as { file: string; model: string; language: string; threads: number };
    const context = await contextOf(model);
    const { result, language: heard } = await context.transcribeFile(file, { language, maxThreads: threads }).promise;
    process.stdout.write(`${JSON.stringify({ text: result.trim(), ...(heard === undefined ? {} : { language: heard }) })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`);
  }
}
