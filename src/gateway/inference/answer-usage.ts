import { checkPlausible, completionTokens, type Usage, type UsageReading, usageOf } from '../../kernel';
import type { Call } from './describe';
import { type RoutedCall, usageLimitsOf } from './routed-call';

const BYTES_PER_TOKEN = 4;

/** Usage that the supplier did not report is counted here, and marked as estimated. */
export const estimateUsage = (call: Call, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

/** A report that cannot be true counts as none, as in a stream: what was written is charged by estimate. */
export function usageOfWhole(reading: UsageReading, routed: RoutedCall, deliveredBytes: () => number): Usage {
  const checked = checkPlausible(reading, usageLimitsOf(routed));
  return checked.kind === 'ok' ? checked.usage : estimateUsage(routed.call, deliveredBytes());
}

/**
 * The same for a stream. Of a report that came before all was written, the input stands; the output is counted where
 * that is more.
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
