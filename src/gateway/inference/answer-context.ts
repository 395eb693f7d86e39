import {
  completionTokens,
  costOf,
  formatUsd,
  monotonicMs,
  promptTokens,
  type Usage,
  type UsageLimits,
} from '../../kernel';
import type { JsonObject } from '../../protocol';
import type { CallSecrets } from '../../routing';
import type { LaneAnswer } from './answered';
import type { Call } from './describe';
import { chargedUsage } from './fees';
import type { Inbound } from './inbound';
import type { Outbound } from './outbound';
import type { TextSurface } from './surface';

/** What every reader of a supplier's stream needs to know of the request and of the lane that serves it. */
export interface AnswerContext {
  readonly inbound: Inbound;
  readonly call: Call;
  readonly surface: TextSurface;
  readonly outbound: Outbound;
  /** What a report of usage has to keep to, to be believed. */
  readonly limits: UsageLimits;
  /** The catalogue's name of the model: what answers call it, whatever its supplier does. */
  readonly model: string;
  /** What must not be passed on of a failure in the stream. */
  readonly secrets: CallSecrets;
  /** What the caller is told beside the final usage. */
  readonly facts: (usage: Usage) => JsonObject;
}

/** The `svc` object: the same as the `x-svc-*` trailers, for clients that cannot read trailers. */
export function svcFacts(
  { startedMs }: Inbound,
  call: Call,
  { route: { lane, price }, failover, outbound, outputCap }: LaneAnswer,
): AnswerContext['facts'] {
  return (usage) => ({
    supplier: lane.provider.name,
    region: lane.region,
    upstream_model: lane.upstreamModel,
    failover,
    ...(outputCap !== null && { output_cap: outputCap }),
    latency_ms: Math.round(monotonicMs() - startedMs),
    input_tokens: promptTokens(usage),
    output_tokens: completionTokens(usage),
    cost_usd: formatUsd(costOf(chargedUsage(usage, call, outbound), price.rates)),
  });
}
