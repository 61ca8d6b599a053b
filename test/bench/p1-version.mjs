import { SVC, timeNode } from "./process.mjs";
import { median, ratioAtMost } from "./rounds.mjs";

const several = async (args) => {
  const times = [];
  for (let run = 0; run < 5; run += 1) times.push(await timeNode(args));
  return [median(times)];
};

export default {
  id: "P1",
  title: "svc --version",
  against: "node -e 0",
  lines: [{ what: "svc --version", unit: "ms", target: ratioAtMost(1.25) }],
  open: async () => ({ floor: () => several(["-e", "0"]), ours: () => several([SVC, "--version"]) }),
};
