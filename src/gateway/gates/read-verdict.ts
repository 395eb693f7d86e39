import { catalogue, type ErrorCode, type Fault, fault, isErrorCode } from '../../kernel';

const LONGEST_MESSAGE = 1_000;

/** The request is refused with this. */
export interface Refused {
  readonly verdict: 'reject';
  readonly problem: Fault;
}

export const PASSED = Object.freeze({ verdict: 'abstain' as const });

/** What a gate answered, field by field: it is read once, as it may be anything. */
export type Answer = Readonly<Record<string, unknown>> & { readonly verdict: string };

/** Throws where it is no verdict of any kind. */
export function answerIn(given: unknown): Answer {
  if (typeof given !== 'object' || given === null) throw new BadVerdict('it is no object');
  const { verdict } = given as { readonly verdict?: unknown };
  if (typeof verdict !== 'string') throw new BadVerdict('it names no verdict');
  return given as Answer;
}

/** The code is one of the catalogue's refusals of callers; the message is said in its place. */
export function refusedBy(gate: string, { code, message }: Answer): Refused {
  if (!isRefusal(code))
    throw new BadVerdict('its code is none of the catalogue with a status from 400 to 499');
  if (typeof message !== 'string' || message === '') throw new BadVerdict('it has no message');
  const problem = fault(code, { message: message.slice(0, LONGEST_MESSAGE), details: { gate } });
  return { verdict: 'reject', problem };
}

function isRefusal(code: unknown): code is ErrorCode {
  if (!isErrorCode(code)) return false;
  const { status } = catalogue.get(code)!;
  return status >= 400 && status < 500;
}

/** The ids of lanes; what else stands in the list is wrong. */
export function lanesIn({ lanes }: Answer, most: number): ReadonlySet<number> {
  if (!Array.isArray(lanes) || lanes.length > most) throw new BadVerdict('its lanes are no list of ids');
  const ids = new Set<number>();
  for (const id of lanes as readonly unknown[]) {
    if (!Number.isSafeInteger(id)) throw new BadVerdict('its lanes are no list of ids');
    ids.add(id as number);
  }
  return ids;
}

/** The new texts by their places; each place stands there once. */
export function textsIn({ texts }: Answer, count: number): ReadonlyMap<number, string> {
  if (!Array.isArray(texts) || texts.length > count) throw new BadVerdict('its texts are no list of pieces');
  const found = new Map<number, string>();
  for (const piece of texts as readonly unknown[]) {
    if (typeof piece !== 'object' || piece === null)
      throw new BadVerdict('a piece of its texts is no object');
    const { at, text } = piece as { readonly at?: unknown; readonly text?: unknown };
    if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at >= count || found.has(at))
      throw new BadVerdict('a piece of its texts names no place of the request, or one twice');
    if (typeof text !== 'string') throw new BadVerdict('a piece of its texts has no text');
    found.set(at, text);
  }
  return found;
}

export const unknownVerdict = ({ verdict }: Answer): BadVerdict =>
  new BadVerdict(`"${verdict.slice(0, 40)}" is no verdict at this stage`);

export class BadVerdict extends Error {
  constructor(reason: string) {
    super(`a bad verdict: ${reason}`);
    this.name = 'BadVerdict';
  }
}
