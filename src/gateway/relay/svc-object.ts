import { completionTokens, costOf, formatUsd, monotonicMs, promptTokens, type Usage } from '../../kernel';
import type { Dropped, JsonObject } from '../../protocol';
import type { LaneResponse } from '../attempt';
import { droppedNames } from '../reply/svc-headers';

/**
 * The `svc` object from the charged usage: same content as the `x-svc-*` trailers, for clients that cannot read
 * trailers.
 */
export function svcObject(answer: LaneResponse, usage: Usage, lost: readonly Dropped[]): JsonObject {
  const dropped = droppedNames(lost);
  const { routed, route, failover } = answer;
  const { lane, price } = route;
  const { cappedOutput } = routed.held;
  const { startedMs, priceFactor } = routed.call.inbound;
  return {
    supplier: lane.provider.name,
    region: lane.region,
    upstream_model: lane.upstreamModel,
    failover,
    ...(cappedOutput !== null && { output_cap: cappedOutput }),
    ...(dropped.length > 0 && { dropped }),
    latency_ms: Math.round(monotonicMs() - startedMs),
    input_tokens: promptTokens(usage),
    output_tokens: completionTokens(usage),
    cost_usd: formatUsd(costOf(usage, price.rates, priceFactor)),
  };
}
