export { createDeliveries, type DeliveriesDeps, type DeliveryLimits } from "./deliveries.ts";
export { createLoopGuard, type LoopGuard } from "./loop-guard.ts";
