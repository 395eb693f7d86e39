import type { ServerResponse } from 'node:http';
import { formatUsd, type Nano } from '../../kernel';
import { addHeader, addUncheckedHeader } from '../../platform';
import type { Dropped } from '../../protocol';
import { budgetHeaders, type HttpRequest } from '../../web';

export const DROPPED_HEADER = 'x-svc-dropped';
export const AUTO_HEADER = 'x-svc-auto';

export interface CallSummary {
  readonly supplier: string;
  readonly region: string | null;
  readonly failover: boolean;
  /** Output limit imposed near the end of a budget; null if none. */
  readonly outputCap: number | null;
  /** Supplier's name of the model; missing in responses stored by earlier versions. */
  readonly upstreamModel?: string;
  /** Names of omitted parts of the request or response; missing in responses stored by earlier versions. */
  readonly dropped?: readonly string[];
  /** How `auto` chose: `<model>; <reason>; <dial>`. Undefined if the request names its model. */
  readonly auto?: string;
  readonly latencyMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
}

export type RouteSummary = Pick<
  CallSummary,
  'supplier' | 'region' | 'failover' | 'outputCap' | 'upstreamModel' | 'dropped' | 'auto'
>;

/** Sets the headers that are known once the supplier has responded, also at the head of a stream. */
export function setRouteHeaders(response: ServerResponse, facts: RouteSummary): void {
  addHeader(response, 'x-svc-supplier', facts.supplier);
  addHeader(response, 'x-svc-region', facts.region ?? 'unspecified');
  if (facts.upstreamModel !== undefined)
    addHeader(response, 'x-svc-upstream-model', headerText(facts.upstreamModel));
  addUncheckedHeader(response, 'x-svc-failover', facts.failover ? 'true' : 'false');
  if (typeof facts.outputCap === 'number')
    addUncheckedHeader(response, 'x-svc-output-cap', String(facts.outputCap));
  if (facts.auto !== undefined) addUncheckedHeader(response, AUTO_HEADER, facts.auto);
  setDroppedHeader(response, facts.dropped ?? []);
  const { mostUsedBudget } = response.req as HttpRequest;
  if (mostUsedBudget === undefined) return;
  for (const [name, value] of Object.entries(budgetHeaders(mostUsedBudget)))
    addUncheckedHeader(response, name, value);
}

export function setDroppedHeader(response: ServerResponse, dropped: readonly string[]): void {
  if (dropped.length > 0) addUncheckedHeader(response, DROPPED_HEADER, dropped.join(', '));
}

/** Model names are the operator's free text, which a header cannot always carry unescaped. */
const headerText = (text: string): string => (/^[\x21-\x7e]+$/.test(text) ? text : encodeURI(text));

/** Values known after settlement: trailers of a stream, headers of a non-streaming response. */
export function settledHeaders(facts: CallSummary): Record<string, string> {
  return {
    'x-svc-latency-ms': String(facts.latencyMs),
    'x-svc-input-tokens': String(facts.inputTokens),
    'x-svc-output-tokens': String(facts.outputTokens),
    'x-svc-cost-usd': formatUsd(facts.costNano),
  };
}

/** Limits on field names in headers and records, because callers control these names. */
const MAX_REPORTED_NAMES = 20;
const MAX_REPORTED_NAME_LENGTH = 64;
const MAX_RECORDED_NAMES = 200;
const MAX_RECORDED_NAME_LENGTH = 200;

const unsafeCharacters = /[^A-Za-z0-9_.-]/g;
const pathWildcards = /\.?\*(?=\.|$)/g;

/** Names of omitted or lowered fields for callers, such as `seed` or `reasoning_effort.max`. */
export function droppedNames(dropped: readonly Dropped[]): readonly string[] {
  const names = new Set<string>();
  for (const { loss, name, path } of dropped) {
    if (names.size === MAX_REPORTED_NAMES) break;
    if (loss === 'fulfilled' || (loss === 'approximated' && name === undefined)) continue;
    const safeName = (name ?? path.replace(pathWildcards, ''))
      .slice(0, MAX_REPORTED_NAME_LENGTH)
      .replace(unsafeCharacters, '_');
    names.add(safeName === '' ? '_' : safeName);
  }
  return [...names];
}

export function droppedCounts(dropped: readonly Dropped[]): Record<string, number> | null {
  let counts: Record<string, number> | null = null;
  let nameCount = 0;
  for (const { name, path, count } of dropped) {
    if (nameCount++ === MAX_RECORDED_NAMES) return counts;
    counts ??= Object.create(null) as Record<string, number>;
    const key = (name ?? path).slice(0, MAX_RECORDED_NAME_LENGTH);
    counts[key] = (counts[key] ?? 0) + count;
  }
  return counts;
}
