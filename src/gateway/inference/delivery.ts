import {
  checkPlausible,
  completionTokens,
  type Fault,
  type Usage,
  type UsageLimits,
  type UsageReading,
  usageOf,
} from '../../kernel';
import type { Dropped } from '../../protocol';
import type { Call } from './describe';

/** What reached the caller, or is about to: everything settlement needs to know of it. */
export interface Delivery {
  readonly usage: Usage;
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  /** What a translation lost on the way to the supplier or back. */
  readonly dropped: readonly Dropped[];
  /** Set when the answer did not become whole. */
  readonly problem: Fault | null;
}

const BYTES_PER_TOKEN = 4;

/** What nobody reported is counted here, and says so. */
export const estimateUsage = (call: Call, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

/** A report that cannot be true counts as none, as in a stream: what was written is charged by estimate. */
export function usageOfWhole(
  reading: UsageReading,
  call: Call,
  limits: UsageLimits,
  deliveredBytes: () => number,
): Usage {
  const checked = checkPlausible(reading, limits);
  return checked.kind === 'ok' ? checked.usage : estimateUsage(call, deliveredBytes());
}

/**
 * The same for a stream. Of a report that came before all was
 * written, what went in stands; what came out is counted where that is more.
 */
export function usageOfStream(
  reading: UsageReading,
  call: Call,
  limits: UsageLimits,
  deliveredBytes: number,
  coveredBytes = deliveredBytes,
): Usage {
  const checked = checkPlausible(reading, limits);
  if (checked.kind !== 'ok') return estimateUsage(call, deliveredBytes);
  const { usage } = checked;
  if (usage.source !== 'partial' && deliveredBytes <= coveredBytes) return usage;
  const missing = Math.ceil(deliveredBytes / BYTES_PER_TOKEN) - completionTokens(usage);
  return { ...usage, outputTokens: usage.outputTokens + Math.max(0, missing), source: 'partial' };
}
