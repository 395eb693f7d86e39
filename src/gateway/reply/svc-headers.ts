import type { ServerResponse } from 'node:http';
import { formatUsd, type Nano } from '../../kernel';
import { addHeader, addUncheckedHeader } from '../../platform';
import type { Dropped } from '../../protocol';
import { budgetHeaders, type HttpRequest } from '../../web';

export const DROPPED = 'x-svc-dropped';
export const AUTO_CHOICE = 'x-svc-auto';

/** A caller is told these facts about a request. */
export interface CallFacts {
  readonly supplier: string;
  readonly region: string | null;
  readonly failover: boolean;
  /** The bound that near a budget's end was put on the answer; null where there is none. */
  readonly outputCap: number | null;
  /** The supplier's own name of the model; answers that were kept by earlier versions lack it. */
  readonly upstreamModel?: string;
  /** These parts of request or answer were left out; answers kept by earlier versions lack the list. */
  readonly dropped?: readonly string[];
  /** The text says how `auto` chose: `<model>; <reason>; <dial>`. Requests that name their model lack it. */
  readonly auto?: string;
  readonly latencyMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: Nano;
}

export type RouteFacts = Pick<
  CallFacts,
  'supplier' | 'region' | 'failover' | 'outputCap' | 'upstreamModel' | 'dropped' | 'auto'
>;

/** Known when the supplier has answered: the head of a stream carries these. */
export function setRouteHeaders(response: ServerResponse, facts: RouteFacts): void {
  addHeader(response, 'x-svc-supplier', facts.supplier);
  addHeader(response, 'x-svc-region', facts.region ?? 'unspecified');
  if (facts.upstreamModel !== undefined)
    addHeader(response, 'x-svc-upstream-model', headerText(facts.upstreamModel));
  addUncheckedHeader(response, 'x-svc-failover', facts.failover ? 'true' : 'false');
  if (typeof facts.outputCap === 'number')
    addUncheckedHeader(response, 'x-svc-output-cap', String(facts.outputCap));
  if (facts.auto !== undefined) addUncheckedHeader(response, AUTO_CHOICE, facts.auto);
  setDroppedHeader(response, facts.dropped ?? []);
  const { mostUsedBudget } = response.req as HttpRequest;
  if (mostUsedBudget === undefined) return;
  for (const [name, value] of Object.entries(budgetHeaders(mostUsedBudget)))
    addUncheckedHeader(response, name, value);
}

/** Names are told so that a caller can act on what an answer did without. */
export function setDroppedHeader(response: ServerResponse, dropped: readonly string[]): void {
  if (dropped.length > 0) addUncheckedHeader(response, DROPPED, dropped.join(', '));
}

/** Names are free texts of the operator; a header takes only some of them as they are. */
const headerText = (text: string): string => (/^[\x21-\x7e]+$/.test(text) ? text : encodeURI(text));

/** These are known when the request is settled: trailers of a stream, headers of a whole answer. */
export function settledHeaders(facts: CallFacts): Record<string, string> {
  return {
    'x-svc-latency-ms': String(facts.latencyMs),
    'x-svc-input-tokens': String(facts.inputTokens),
    'x-svc-output-tokens': String(facts.outputTokens),
    'x-svc-cost-usd': formatUsd(facts.costNano),
  };
}

/** Callers choose the names of fields, so what is told and kept of them is bounded. */
const MOST_TOLD = 20;
const LONGEST_TOLD = 64;
const MOST_KEPT = 200;
const LONGEST_KEPT = 200;

const unsafe = /[^A-Za-z0-9_.-]/g;
const positions = /\.?\*(?=\.|$)/g;

/** Callers read the names of what was left out or lowered, such as `seed` or `reasoning_effort.max`. */
export function droppedNames(dropped: readonly Dropped[]): readonly string[] {
  const names = new Set<string>();
  for (const { loss, name, path } of dropped) {
    if (names.size === MOST_TOLD) break;
    if (loss === 'fulfilled' || (loss === 'approximated' && name === undefined)) continue;
    const plain = (name ?? path.replace(positions, '')).slice(0, LONGEST_TOLD).replace(unsafe, '_');
    names.add(plain === '' ? '_' : plain);
  }
  return [...names];
}

/** All that did not arrive as it was, and how often, for the record; null where everything did. */
export function droppedCounts(dropped: readonly Dropped[]): Record<string, number> | null {
  let counts: Record<string, number> | null = null;
  let named = 0;
  for (const { name, path, count } of dropped) {
    if (named++ === MOST_KEPT) return counts;
    counts ??= Object.create(null) as Record<string, number>;
    const key = (name ?? path).slice(0, LONGEST_KEPT);
    counts[key] = (counts[key] ?? 0) + count;
  }
  return counts;
}
