import type { ObservedResponse } from './caller';
import type { SupplierId } from './catalogue';
import type { SceneReport } from './scene-report';
import { type SendOptions, freshPrompt, type Scene } from './scene';

/** A response within this time did not involve waiting. */
export const NO_WAIT_MS = 1_500;
/** Tolerance on top of a timeout: other processing, and timers that are up to half a second late. */
export const SLACK_MS = 1_250;

type Range = number | readonly [least: number, most: number];

/** Expected observations of the caller and the suppliers; an absent field accepts anything. */
export interface Expectation {
  readonly ending: 'whole' | 'error' | 'refused' | 'whole or error' | 'whole or refused';
  readonly by?: SupplierId;
  readonly failover?: boolean;
  readonly status?: readonly number[];
  readonly codes?: readonly string[];
  /** Seconds, without fractions. */
  readonly retryAfter?: readonly [least: number, most: number];
  /** Number of words delivered before the stream failed. */
  readonly words?: number;
  readonly withinMs?: number;
  readonly atLeastMs?: number;
  /** Number of calls that reached each supplier. */
  readonly calls?: Partial<Record<SupplierId, Range>>;
}

/** Sends one request and compares the outcome with the expectation. */
export async function expectOnce(
  report: SceneReport,
  what: string,
  scene: Scene,
  expectation: Expectation,
  overrides: SendOptions = {},
): Promise<ObservedResponse> {
  const options = { prompt: freshPrompt(), ...overrides };
  const reference = expectation.ending.startsWith('whole') ? await scene.reference(options) : '';
  const answer = await scene.send(options);
  const counts = await scene.counts();
  const held =
    isRightEnding(expectation, answer, reference) &&
    isRightHead(expectation, scene, answer) &&
    isRightRefusal(expectation, answer) &&
    isInTime(expectation, answer) &&
    Object.entries(expectation.calls ?? {}).every(([supplierId, range]) =>
      isWithin(counts[supplierId as SupplierId], range),
    );
  const calls = scene.supplierIds.map((supplierId) => `${supplierId}${counts[supplierId]}`).join(' ');
  report.add(what, expectedText(expectation), `${observedText(scene, answer, reference)}; ${calls}`, held);
  return answer;
}

function isRightEnding({ ending, words }: Expectation, answer: ObservedResponse, reference: string): boolean {
  if (!ending.split(' or ').includes(answer.ending)) return false;
  // The complete text, without repetitions.
  if (answer.ending === 'whole') return answer.text === reference;
  return words === undefined || wordsIn(answer.text) === words;
}

function isRightHead({ by, failover }: Expectation, scene: Scene, answer: ObservedResponse): boolean {
  if (answer.status !== 200) return true;
  return (
    (by === undefined || scene.supplierOf(answer) === by) &&
    (failover === undefined || answer.headers['x-svc-failover'] === String(failover))
  );
}

function isRightRefusal({ status, codes, retryAfter }: Expectation, answer: ObservedResponse): boolean {
  if (answer.ending === 'whole') return true;
  if (answer.code === '') return false;
  if (status !== undefined && !status.includes(answer.status)) return false;
  if (codes !== undefined && !codes.includes(answer.code)) return false;
  return retryAfter === undefined || isWithin(retryAfterOf(answer), retryAfter);
}

const isInTime = ({ withinMs = Infinity, atLeastMs = 0 }: Expectation, { ms }: ObservedResponse): boolean =>
  ms <= withinMs && ms >= atLeastMs;

export const isWithin = (value: number, range: Range): boolean =>
  typeof range === 'number' ? value === range : value >= range[0] && value <= range[1];

/** NaN if the header is absent. */
export const retryAfterOf = ({ headers }: ObservedResponse): number =>
  Number(headers['retry-after'] ?? Number.NaN);

export const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

const rangeText = (range: Range): string =>
  typeof range === 'number' ? `${range}` : `${range[0]}–${range[1]}`;

function expectedText(expectation: Expectation): string {
  const { ending, by, failover, status, codes, retryAfter, words, withinMs, atLeastMs, calls } = expectation;
  const parts = [
    ending + (by === undefined ? '' : ` by ${by}`),
    failover === undefined ? '' : failover ? 'failover' : 'no failover',
    status?.join('/') ?? '',
    codes?.join('/') ?? '',
    retryAfter === undefined ? '' : `retry in ${rangeText(retryAfter)} s`,
    words === undefined ? '' : `${words} words`,
    atLeastMs === undefined ? '' : `≥ ${atLeastMs} ms`,
    withinMs === undefined ? '' : `≤ ${withinMs} ms`,
  ].filter((part) => part !== '');
  const callTexts = Object.entries(calls ?? {}).map(
    ([supplierId, range]) => `${supplierId}${rangeText(range)}`,
  );
  return `${parts.join(', ')}${callTexts.length === 0 ? '' : `; ${callTexts.join(' ')}`}`;
}

export function observedText(scene: Scene, answer: ObservedResponse, reference = ''): string {
  const { ending, status, code, text, headers, ms } = answer;
  const supplierId = scene.supplierOf(answer);
  const isOther = ending === 'whole' && reference !== '' && text !== reference;
  const parts = [
    `${isOther ? 'whole but another text' : ending}${supplierId === undefined ? '' : ` by ${supplierId}`}`,
    headers['x-svc-failover'] === 'true' ? 'failover' : '',
    status === 200 ? '' : `${status}`,
    code,
    headers['retry-after'] === undefined ? '' : `retry in ${headers['retry-after']} s`,
    ending === 'whole' || status !== 200 ? '' : `${wordsIn(text)} words`,
    `${Math.round(ms)} ms`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}
