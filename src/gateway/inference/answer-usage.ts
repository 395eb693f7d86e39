import { checkPlausible, completionTokens, type Usage, type UsageReading, usageOf } from '../../kernel';
import type { Call } from './describe';
import { type RoutedCall, usageLimitsOf } from './routed-call';

const BYTES_PER_TOKEN = 4;

/** Estimates usage that the supplier did not report, and marks it as estimated. */
export const estimateUsage = (call: Call, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

/** An implausible report counts as none, as in a stream: the output is charged by estimate. */
export function usageOfWhole(reading: UsageReading, routed: RoutedCall, deliveredBytes: () => number): Usage {
  const checked = checkPlausible(reading, usageLimitsOf(routed));
  return checked.kind === 'ok' ? checked.usage : estimateUsage(routed.call, deliveredBytes());
}

/**
 * The same for a stream. A report from before the end keeps its input; its output is replaced by our count where that
 * is higher.
 */
export function usageOfStream(
  reading: UsageReading,
  routed: RoutedCall,
  deliveredBytes: number,
  coveredBytes = deliveredBytes,
): Usage {
  const checked = checkPlausible(reading, usageLimitsOf(routed));
  if (checked.kind !== 'ok') return estimateUsage(routed.call, deliveredBytes);
  const { usage } = checked;
  if (usage.source !== 'partial' && deliveredBytes <= coveredBytes) return usage;
  const missing = Math.ceil(deliveredBytes / BYTES_PER_TOKEN) - completionTokens(usage);
  return { ...usage, outputTokens: usage.outputTokens + Math.max(0, missing), source: 'partial' };
}
