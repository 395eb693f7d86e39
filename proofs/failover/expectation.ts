import type { Answer } from './caller';
import type { Place } from './catalogue';
import type { Sheet } from './sheet';
import { type AskOptions, freshPrompt, type Scene } from './scene';

/** An answer within this time needed no waiting. */
export const SOON_MS = 1_500;
/** On top of a limit: everything that is not waiting for it, and that timers of half a second are late. */
export const SLACK_MS = 1_250;

type Range = number | readonly [least: number, most: number];

/** The caller and the suppliers must see this. A part that is not named may be anything. */
export interface Expectation {
  readonly ending: 'whole' | 'error' | 'refused' | 'whole or error' | 'whole or refused';
  readonly by?: Place;
  readonly failover?: boolean;
  readonly status?: readonly number[];
  readonly codes?: readonly string[];
  /** Whole seconds. */
  readonly retryAfter?: readonly [least: number, most: number];
  /** Of a stream that failed: this many words of the answer had come. */
  readonly words?: number;
  readonly withinMs?: number;
  readonly atLeastMs?: number;
  /** Calls that reached each supplier. */
  readonly calls?: Partial<Record<Place, Range>>;
}

/** Asks once and holds what came against what must come. */
export async function expectOnce(
  sheet: Sheet,
  what: string,
  scene: Scene,
  expectation: Expectation,
  given: AskOptions = {},
): Promise<Answer> {
  const asked = { prompt: freshPrompt(), ...given };
  const reference = expectation.ending.startsWith('whole') ? await scene.reference(asked) : '';
  const answer = await scene.ask(asked);
  const counts = await scene.counts();
  const held =
    isRightEnding(expectation, answer, reference) &&
    isRightHead(expectation, scene, answer) &&
    isRightRefusal(expectation, answer) &&
    isInTime(expectation, answer) &&
    Object.entries(expectation.calls ?? {}).every(([place, range]) => within(counts[place as Place], range));
  const calls = scene.places.map((place) => `${place}${counts[place]}`).join(' ');
  sheet.add(what, expectedText(expectation), `${seenText(scene, answer, reference)}; ${calls}`, held);
  return answer;
}

function isRightEnding({ ending, words }: Expectation, answer: Answer, reference: string): boolean {
  if (!ending.split(' or ').includes(answer.ending)) return false;
  // Whole means all of it, and none of it twice.
  if (answer.ending === 'whole') return answer.text === reference;
  return words === undefined || wordsIn(answer.text) === words;
}

function isRightHead({ by, failover }: Expectation, scene: Scene, answer: Answer): boolean {
  if (answer.status !== 200) return true;
  return (
    (by === undefined || scene.placeOf(answer) === by) &&
    (failover === undefined || answer.headers['x-svc-failover'] === String(failover))
  );
}

function isRightRefusal({ status, codes, retryAfter }: Expectation, answer: Answer): boolean {
  if (answer.ending === 'whole') return true;
  if (answer.code === '') return false;
  if (status !== undefined && !status.includes(answer.status)) return false;
  if (codes !== undefined && !codes.includes(answer.code)) return false;
  return retryAfter === undefined || within(retryAfterOf(answer), retryAfter);
}

const isInTime = ({ withinMs = Infinity, atLeastMs = 0 }: Expectation, { ms }: Answer): boolean =>
  ms <= withinMs && ms >= atLeastMs;

export const within = (value: number, range: Range): boolean =>
  typeof range === 'number' ? value === range : value >= range[0] && value <= range[1];

/** NaN where there is none. */
export const retryAfterOf = ({ headers }: Answer): number => Number(headers['retry-after'] ?? Number.NaN);

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
  const counted = Object.entries(calls ?? {}).map(([place, range]) => `${place}${rangeText(range)}`);
  return `${parts.join(', ')}${counted.length === 0 ? '' : `; ${counted.join(' ')}`}`;
}

export function seenText(scene: Scene, answer: Answer, reference = ''): string {
  const { ending, status, code, text, headers, ms } = answer;
  const place = scene.placeOf(answer);
  const isOther = ending === 'whole' && reference !== '' && text !== reference;
  const parts = [
    `${isOther ? 'whole but another text' : ending}${place === undefined ? '' : ` by ${place}`}`,
    headers['x-svc-failover'] === 'true' ? 'failover' : '',
    status === 200 ? '' : `${status}`,
    code,
    headers['retry-after'] === undefined ? '' : `retry in ${headers['retry-after']} s`,
    ending === 'whole' || status !== 200 ? '' : `${wordsIn(text)} words`,
    `${Math.round(ms)} ms`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}
