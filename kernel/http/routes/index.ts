import type { HttpRoute } from "@svc/sdk";
import type { KernelPort } from "../../port.ts";
import { agentCapabilityRoute, agentEventsRoute, agentsRoute } from "./agents.ts";
import { askRoute } from "./ask.ts";
import { channelsRoute, testChannelRoute } from "./channels.ts";
import { eventsRoute, recentEventsRoute } from "./events.ts";
import { healthRoute } from "./health.ts";
import { readyRoute, rootRoute } from "./ready.ts";
import { reloadRoute } from "./reload.ts";
import { restartRoute } from "./restart.ts";
import { sendRoute } from "./send.ts";
import { taskRoute } from "./task.ts";
import { cancelRoute, followupRoute, liveTasksRoute } from "./tasks.ts";
import { runToolRoute, toolsRoute } from "./tools.ts";
import { traceRoute, tracesRoute } from "./traces.ts";

/** The kernel's own routes; what they need of the port is looked up when they are called. All but `/health`, `/ready` and `/` are for this machine, most of them for mesh peers too. */
export function kernelRoutes(port: KernelPort): HttpRoute[] {
  return [
    taskRoute(port),
    askRoute(port),
    sendRoute(port),
    liveTasksRoute(port),
    cancelRoute(port),
    followupRoute(port),
    agentsRoute(port),
    agentEventsRoute(port),
    agentCapabilityRoute(port),
    channelsRoute(port),
    testChannelRoute(port),
    toolsRoute(port),
    runToolRoute(port),
    eventsRoute(port),
    recentEventsRoute(port),
    tracesRoute(port),
    traceRoute(port),
    healthRoute(port),
    readyRoute(port),
    rootRoute(),
    reloadRoute(port),
    restartRoute(port),
  ];
}
