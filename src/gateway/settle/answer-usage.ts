import {
  completionTokens,
  isPlausible,
  type Modes,
  type PriceRates,
  promptTokens,
  servedModes,
  unpricedFee,
  type Usage,
  usageOf,
  type UsageReading,
} from '../../kernel';
import { ServedUses } from '../../protocol';
import { type RoutedCall, usageLimitsOf } from '../admission';
import type { LaneTry } from '../attempt';
import type { Call } from '../intake';
import { isText } from '../operations/operation';
import { withinHold } from './within-hold';

const BYTES_PER_TOKEN = 4;

/** Estimates usage that the supplier did not report, and marks it as estimated. */
export const estimateUsage = (call: Call, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

/**
 * Usage of a non-streaming answer. Without a report it is estimated, and so is a side that a report does not count.
 * `deliveredBytes` is called only for an estimate.
 */
export function usageOfWhole(reading: UsageReading, routed: RoutedCall, deliveredBytes: () => number): Usage {
  const isComplete = reading.kind === 'ok' && reading.usage.missing === undefined;
  return readOrEstimated(reading, routed, isComplete ? 0 : deliveredBytes());
}

function readOrEstimated(reading: UsageReading, routed: RoutedCall, deliveredBytes: number): Usage {
  if (reading.kind === 'ok' && reading.usage.missing === undefined) return believed(reading.usage, routed);
  const estimate = estimateUsage(routed.call, deliveredBytes);
  if (reading.kind === 'ok') return believed(completed(reading.usage, estimate), routed);
  return reading.kind === 'absent' ? estimate : { ...estimate, ignored: [reading.field] };
}

/** Fills a missing side with the estimate. A grand total is divided: the output as estimated, the rest is input. */
function completed({ missing, totalOfBoth, ...usage }: Usage, estimate: Usage): Usage {
  if (missing === undefined) return usage;
  const [read, written] = [promptTokens(usage), completionTokens(usage)];
  let [input, output] = [promptTokens(estimate), completionTokens(estimate)];
  if (totalOfBoth !== undefined) {
    output = Math.max(written, Math.min(output, totalOfBoth));
    input = totalOfBoth - output;
  }
  const inputTokens = missing === 'output' ? 0 : Math.max(0, input - read);
  const outputTokens = missing === 'input' ? 0 : Math.max(0, output - written);
  return {
    ...usage,
    inputTokens: usage.inputTokens + inputTokens,
    outputTokens: usage.outputTokens + outputTokens,
    source: missing === 'both' ? 'estimated' : 'partial',
    doubt: usage.doubt ?? (missing === 'both' ? NO_COUNT : `no usable count of the ${missing}`),
  };
}

const NO_COUNT = 'no usable count of input and output';

/** More than such a request can use is charged only up to its bounds. */
function believed(usage: Usage, routed: RoutedCall): Usage {
  if (isPlausible(usage, usageLimitsOf(routed))) return usage;
  return { ...usage, source: 'estimated', doubt: 'more tokens than such a request can use' };
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
  const usage = readOrEstimated(reading, routed, deliveredBytes);
  if (reading.kind !== 'ok') return usage;
  if (reading.usage.source !== 'partial' && deliveredBytes <= coveredBytes) return usage;
  const missing = Math.ceil(deliveredBytes / BYTES_PER_TOKEN) - completionTokens(usage);
  return { ...usage, outputTokens: usage.outputTokens + Math.max(0, missing), source: 'partial' };
}

const NO_MODES: Modes = Object.freeze({});

const PRICED_LIFETIMES: ReadonlySet<unknown> = new Set(['5m', '30m', '1h', undefined, null]);

/** Whether a part of the body asks for a cache lifetime that no price names. */
function asksUnknownLifetime(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(asksUnknownLifetime);
  for (const name in value) {
    const member: unknown = Reflect.get(value, name);
    if (typeof member !== 'object' || member === null) continue;
    const isLifetime = name === 'cache_control' || name.startsWith('prompt_cache_');
    if (isLifetime ? !PRICED_LIFETIMES.has(Reflect.get(member, 'ttl')) : asksUnknownLifetime(member))
      return true;
  }
  return false;
}

/** Cache writes of a request with an unknown lifetime whose report names none: at the price of the longest known one. */
function withLifetimes(usage: Usage, { inbound }: Call): Usage {
  const { cacheWriteTokens: written, cacheWriteLongTokens: long } = usage;
  if (written === 0 || long > 0 || !asksUnknownLifetime(inbound.body)) return usage;
  return { ...usage, cacheWriteTokens: 0, cacheWriteLongTokens: written };
}

/**
 * Usage for charging. Where the supplier does not report its mode, the requested mode counts; what contradicts the
 * request or itself is kept within the hold.
 */
export function chargedUsage(
  usage: Usage,
  by: Pick<LaneTry, 'routed' | 'route'>,
  { translation }: { readonly translation: object | null },
): Usage {
  const modes = servedModes(usage.modes, translation === null ? by.routed.call.fees.modes : NO_MODES);
  const served = modes === usage.modes ? usage : { ...usage, modes };
  return withinHold(withLifetimes(served, by.routed.call), by);
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
