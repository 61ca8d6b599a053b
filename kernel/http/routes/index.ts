import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";
import { agentCapabilityRoute, agentsRoute } from "./agents-routes.ts";
import { channelsRoute, sendRoute, testChannelRoute } from "./channels-routes.ts";
import { healthRoute, readyRoute, reloadRoute, restartRoute, rootRoute } from "./daemon-routes.ts";
import { eventsRoute, recentEventsRoute } from "./events-routes.ts";
import { nodesRoute } from "./nodes-route.ts";
import { askRoute, taskRoute } from "./task-route.ts";
import { cancelRoute, followupRoute, liveTasksRoute } from "./tasks-routes.ts";
import { runToolRoute, toolsRoute } from "./tools-routes.ts";
import { traceRoute, tracesRoute } from "./traces-routes.ts";

/** The part of the kernel that the routes use. */
export type RoutesKernel = Pick<
  Kernel,
  | "agents"
  | "bus"
  | "capability"
  | "channels"
  | "defaultAgent"
  | "health"
  | "node"
  | "nodes"
  | "reload"
  | "restart"
  | "runTool"
  | "strategies"
  | "tasks"
  | "testChannel"
  | "tools"
  | "traces"
>;

/**
 * Returns the kernel's own routes; their dependencies are looked up at each call. All but `/health`, `/ready` and `/` are for this machine, most of
 * them for peers too.
 */
export function kernelRoutes(kernel: RoutesKernel): HttpRoute[] {
  return [
    taskRoute(kernel),
    askRoute(kernel),
    sendRoute(kernel),
    liveTasksRoute(kernel),
    cancelRoute(kernel),
    followupRoute(kernel),
    agentsRoute(kernel),
    agentCapabilityRoute(kernel),
    channelsRoute(kernel),
    testChannelRoute(kernel),
    toolsRoute(kernel),
    runToolRoute(kernel),
    eventsRoute(kernel),
    recentEventsRoute(kernel),
    tracesRoute(kernel),
    traceRoute(kernel),
    healthRoute(kernel),
    readyRoute(kernel),
    nodesRoute(kernel),
    rootRoute(),
    reloadRoute(kernel),
    restartRoute(kernel),
  ];
}
