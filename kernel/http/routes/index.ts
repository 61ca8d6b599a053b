import type { HttpRoute } from "@svc/sdk";
import type { KernelPort } from "../../core/boot/kernel-port.ts";
import { agentCapabilityRoute, agentEventsRoute, agentsRoute } from "./agents-routes.ts";
import { askRoute } from "./ask-route.ts";
import { channelsRoute, testChannelRoute } from "./channels-routes.ts";
import { eventsRoute, recentEventsRoute } from "./events-routes.ts";
import { healthRoute } from "./health-route.ts";
import { readyRoute, rootRoute } from "./ready-route.ts";
import { reloadRoute } from "./reload-route.ts";
import { restartRoute } from "./restart-route.ts";
import { sendRoute } from "./send-route.ts";
import { taskRoute } from "./task-route.ts";
import { cancelRoute, followupRoute, liveTasksRoute } from "./tasks-routes.ts";
import { runToolRoute, toolsRoute } from "./tools-routes.ts";
import { traceRoute, tracesRoute } from "./traces-routes.ts";

/** The kernel's own routes; what they need of the port is looked up when they are called. All but `/health`, `/ready` and `/` are for this machine, most of them for peers too. */
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
