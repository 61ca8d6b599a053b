import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take 50 s and more on two processors, the longest first. None of them may begin when all others are done. */
const LONGEST = [
  "test/cli/deploy.test.ts",
  "test/faults/cron-clock.test.ts",
  "test/contract/forge-b-daemon.test.ts",
  "test/house/sdk-template.test.ts",
  "test/faults/settings-queue.test.ts",
  "test/faults/postgres-server.test.ts",
  "test/rules/distributed.test.ts",
  "test/contract/forge-b-contract.test.ts",
  "test/contract/torture.test.ts",
  "test/ui/states.test.ts",
  "test/ui/live.test.ts",
  "test/ui/keyboard.test.ts",
];

/** The small files come last: none of them is waited for. */
const ROWS = ["commands", "house", "alone", "rooms", "browser"];

/** Vitest's own order, by the size of the files, with the longest before all others, and each project in one row: its files share processes. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return at === -1 ? LONGEST.length : at;
    };
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const row = ({ project }: TestSpecification) => ROWS.indexOf(project.name);
    return sorted.sort((a, b) => group(a) - group(b) || row(a) - row(b) || place(a) - place(b));
  }
}
