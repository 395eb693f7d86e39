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
import { ObservedToolUses } from '../../protocol';
import { type RoutedCall, usageLimitsOf } from '../admission';
import type { LaneAttempt } from '../attempt';
import type { GatewayCall } from '../intake';
import { isText } from '../operations/operation';
import { withinHold } from './within-hold';

const BYTES_PER_TOKEN = 4;

/** Estimates usage that the supplier did not report, and marks it as estimated. */
export const estimateUsage = (call: GatewayCall, deliveredBytes: number): Usage =>
  usageOf(
    { inputTokens: call.inputEstimate, outputTokens: Math.ceil(deliveredBytes / BYTES_PER_TOKEN) },
    'estimated',
  );

/**
 * Usage of a non-streaming response. Estimates what the report lacks; `deliveredBytes` is called only for an estimate.
 */
export function usageOfComplete(
  reading: UsageReading,
  routed: RoutedCall,
  deliveredBytes: () => number,
): Usage {
  const isComplete = reading.kind === 'ok' && reading.usage.missing === undefined;
  return readOrEstimate(reading, routed, isComplete ? 0 : deliveredBytes());
}

function readOrEstimate(reading: UsageReading, routed: RoutedCall, deliveredBytes: number): Usage {
  if (reading.kind === 'ok' && reading.usage.missing === undefined)
    return checkPlausible(reading.usage, routed);
  const estimate = estimateUsage(routed.call, deliveredBytes);
  if (reading.kind === 'ok') return checkPlausible(fillMissing(reading.usage, estimate), routed);
  return reading.kind === 'absent' ? estimate : { ...estimate, ignored: [reading.field] };
}

/** Fills a missing side with the estimate. A grand total is divided into the estimated output and the rest as input. */
function fillMissing({ missing, totalOfBoth, ...usage }: Usage, estimate: Usage): Usage {
  if (missing === undefined) return usage;
  const [reportedInput, reportedOutput] = [promptTokens(usage), completionTokens(usage)];
  let [input, output] = [promptTokens(estimate), completionTokens(estimate)];
  if (totalOfBoth !== undefined) {
    output = Math.max(reportedOutput, Math.min(output, totalOfBoth));
    input = totalOfBoth - output;
  }
  const inputTokens = missing === 'output' ? 0 : Math.max(0, input - reportedInput);
  const outputTokens = missing === 'input' ? 0 : Math.max(0, output - reportedOutput);
  return {
    ...usage,
    inputTokens: usage.inputTokens + inputTokens,
    outputTokens: usage.outputTokens + outputTokens,
    source: missing === 'both' ? 'estimated' : 'partial',
    doubt: usage.doubt ?? (missing === 'both' ? NO_COUNT : `no usable count of the ${missing}`),
  };
}

const NO_COUNT = 'no usable count of input and output';

/** Marks usage as doubtful if it exceeds what such a request can use, so that it is charged only up to its limits. */
function checkPlausible(usage: Usage, routed: RoutedCall): Usage {
  if (isPlausible(usage, usageLimitsOf(routed))) return usage;
  return { ...usage, source: 'estimated', doubt: 'more tokens than such a request can use' };
}

/** Usage of a stream. A report from before the end keeps its input; our own count replaces its output if higher. */
export function usageOfStream(
  reading: UsageReading,
  routed: RoutedCall,
  deliveredBytes: number,
  coveredBytes = deliveredBytes,
): Usage {
  const usage = readOrEstimate(reading, routed, deliveredBytes);
  if (reading.kind !== 'ok') return usage;
  if (reading.usage.source !== 'partial' && deliveredBytes <= coveredBytes) return usage;
  const missing = Math.ceil(deliveredBytes / BYTES_PER_TOKEN) - completionTokens(usage);
  return { ...usage, outputTokens: usage.outputTokens + Math.max(0, missing), source: 'partial' };
}

const NO_MODES: Modes = Object.freeze({});

/** Usage to charge. The requested mode counts if the supplier reports none; implausible usage is capped by the hold. */
export function chargedUsage(
  usage: Usage,
  by: Pick<LaneAttempt, 'routed' | 'route'>,
  { translation }: { readonly translation: object | null },
): Usage {
  const { call } = by.routed;
  const modes = servedModes(usage.modes, translation === null ? call.fees.modes : NO_MODES);
  const adjustedUsage = translation === null ? withLongWrites(usage, call) : usage;
  return withinHold(modes === adjustedUsage.modes ? adjustedUsage : { ...adjustedUsage, modes }, by);
}

/**
 * Moves cache writes without a reported lifetime to the long price if the request asks for a long or unknown lifetime.
 */
function withLongWrites(usage: Usage, { inbound: { body } }: GatewayCall): Usage {
  const { untimedWrites = 0, cacheWriteTokens: short, cacheWriteLongTokens: long } = usage;
  if (untimedWrites === 0 || !requestsLongWrites(body)) return usage;
  const moved = Math.min(untimedWrites, short);
  return { ...usage, cacheWriteTokens: short - moved, cacheWriteLongTokens: long + moved };
}

const SHORT_LIFETIMES: ReadonlySet<unknown> = new Set([undefined, null, '5m', '30m']);

function requestsLongWrites(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(requestsLongWrites);
  for (const name in value) {
    const member: unknown = Reflect.get(value, name);
    if (typeof member !== 'object' || member === null) continue;
    const hasLifetime = name === 'cache_control' || name.startsWith('prompt_cache_');
    if (hasLifetime ? !SHORT_LIFETIMES.has(Reflect.get(member, 'ttl')) : requestsLongWrites(member))
      return true;
  }
  return false;
}

/** Adds tool uses that a complete response shows but its report does not count. */
export function withServedUses(usage: Usage, { operation, fees }: GatewayCall, answer: unknown): Usage {
  if (!isText(operation)) return usage;
  const served = new ObservedToolUses(operation.dialect.name);
  served.read(answer);
  return served.join(usage, fees.uses);
}

/** A billed item without a price, which was charged at the dearest rate of its kind; null if none. */
export function findUnpricedFee(usage: Usage, rates: PriceRates): string | null {
  const { uses, modes, images } = usage;
  if (uses === null && modes === null && images === null) return null;
  return unpricedFee(rates, {
    uses: uses ?? {},
    modes: modes ?? {},
    image: images === null ? null : (Object.keys(images)[0] ?? null),
  });
}
