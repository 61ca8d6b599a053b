import type { CommandGroup } from "@svc/sdk";
import { amountWords, type Measure, shareWords } from "./caps.ts";
import type { Line } from "./routes.ts";

const group: CommandGroup = {
  name: "budgets",
  summary: "What agents have used of their budgets in this hour and day",
  commands: [
    {
      name: "budgets",
      args: "[agent]",
      summary: "What is used, of which cap, and until when it counts; of one agent, or of all",
      async run([agent], _options, cli) {
        const { budgets } = (await cli.request("GET", "/budgets")) as { readonly budgets: readonly Line[] };
        const shown = budgets.filter((line) => agent === undefined || line.agent === agent);
        cli.print(shown.map(wordsOf).join("\n") || "Nothing was used yet, and no cap is set.", { budgets: shown });
      },
    },
  ],
};
export default group;

const MEASURES: readonly Measure[] = ["turns", "tokens", "money"];

function wordsOf({ agent, period, to, caps, ...used }: Line): string {
  const parts = MEASURES.map((measure) => {
    const cap = caps.find((one) => one.measure === measure);
    const words = amountWords(used[measure], measure);
    return cap === undefined ? words : `${shareWords(used[measure], cap.cap, measure)} (${cap.setting})`;
  });
  return `${agent === "*" ? "all agents" : agent}, this ${period} until ${to}: ${parts.join(", ")}`;
}
