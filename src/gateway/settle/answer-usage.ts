import {
  checkPlausible,
  completionTokens,
  type PriceRates,
  promptTokens,
  servedModes,
  totalTokens,
  unpricedFee,
  type Usage,
  usageOf,
  type UsageReading,
} from '../../kernel';
import { ServedUses } from '../../protocol';
import { type RoutedCall, usageLimitsOf } from '../admission';
import type { Call } from '../intake';
import { isText } from '../operations/operation';

const BYTES_PER_TOKEN = 4;

/** Estimates usage that the supplier did not report, and marks it as estimated. */
export const estimateUsage = (call: Call, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

/**
 * Each side of an implausible report is charged up to its bound, and told. Without a report the output is charged by
 * estimate, as in a stream.
 */
export function usageOfWhole(reading: UsageReading, routed: RoutedCall, deliveredBytes: () => number): Usage {
  return believed(reading, routed) ?? estimateUsage(routed.call, deliveredBytes());
}

function believed(reading: UsageReading, routed: RoutedCall): Usage | null {
  if (reading.kind !== 'ok') return null;
  const checked = checkPlausible(reading, usageLimitsOf(routed));
  if (checked.kind !== 'ok') return withinBounds(reading.usage, routed);
  const isBeyond = routed.call.measure !== null && totalTokens(checked.usage) > routed.held.tokens;
  return isBeyond ? { ...checked.usage, doubt: checked.usage.doubt ?? BEYOND } : checked.usage;
}

const BEYOND = 'more tokens than were held for';

/** Usage that no such call can have had costs what it could have used, and no less than an estimate. */
function withinBounds(reported: Usage, { call, held }: RoutedCall): Usage {
  const written = held.tokens - held.inputBound;
  const input = Math.min(promptTokens(reported), Math.max(held.inputBound, call.inputEstimate));
  const output = Math.min(completionTokens(reported), written);
  const { uses, modes, images, parts } = reported;
  const counts = { inputTokens: input, outputTokens: output, uses, modes, images, parts };
  return { ...usageOf(counts, 'estimated'), doubt: 'more tokens than such a request can use' };
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
  const usage = believed(reading, routed);
  if (usage === null) return estimateUsage(routed.call, deliveredBytes);
  if (usage.source !== 'partial' && deliveredBytes <= coveredBytes) return usage;
  const missing = Math.ceil(deliveredBytes / BYTES_PER_TOKEN) - completionTokens(usage);
  return { ...usage, outputTokens: usage.outputTokens + Math.max(0, missing), source: 'partial' };
}

/** Usage for charging: where the supplier does not report its mode, the requested mode counts. */
export function chargedUsage(
  usage: Usage,
  { fees }: Call,
  { translation }: { readonly translation: object | null },
): Usage {
  const asked = translation === null ? fees.modes : {};
  const modes = servedModes(usage.modes, asked);
  return modes === usage.modes ? usage : { ...usage, modes };
}

/** The usage includes uses of tools that a whole answer shows and its report does not count. */
export function withServedUses(usage: Usage, { operation, fees }: Call, answer: unknown): Usage {
  if (!isText(operation)) return usage;
  const served = new ServedUses(operation.dialect.name);
  served.read(answer);
  return served.join(usage, fees.uses);
}

/** Billed items without a price: they were charged at the dearest rate of their kind. */
export function unforeseenFee(usage: Usage, rates: PriceRates): string | null {
  const { uses, modes, images } = usage;
  if (uses === null && modes === null && images === null) return null;
  return unpricedFee(rates, {
    uses: uses ?? {},
    modes: modes ?? {},
    image: images === null ? null : (Object.keys(images)[0] ?? null),
  });
}
