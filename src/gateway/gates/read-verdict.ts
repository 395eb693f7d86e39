import { catalogue, type ErrorCode, type Fault, fault, isErrorCode } from '../../kernel';

const MAX_MESSAGE_LENGTH = 1_000;

export interface GateRejection {
  readonly verdict: 'reject';
  readonly problem: Fault;
}

export const ABSTAINED = Object.freeze({ verdict: 'abstain' as const });

/** Response of a gate. Fields are checked when read, as they can be anything. */
export type GateResponse = Readonly<Record<string, unknown>> & { readonly verdict: string };

export function parseGateResponse(value: unknown): GateResponse {
  if (typeof value !== 'object' || value === null) throw new BadVerdict('it is no object');
  const { verdict } = value as { readonly verdict?: unknown };
  if (typeof verdict !== 'string') throw new BadVerdict('it names no verdict');
  return value as GateResponse;
}

/** The code must be one of the catalogue's 4xx errors; the message replaces its default. */
export function readRejection(gate: string, { code, message }: GateResponse): GateRejection {
  if (!isClientErrorCode(code))
    throw new BadVerdict('its code is none of the catalogue with a status from 400 to 499');
  if (typeof message !== 'string' || message === '') throw new BadVerdict('it has no message');
  const problem = fault(code, { message: message.slice(0, MAX_MESSAGE_LENGTH), details: { gate } });
  return { verdict: 'reject', problem };
}

function isClientErrorCode(code: unknown): code is ErrorCode {
  if (!isErrorCode(code)) return false;
  const { status } = catalogue.get(code)!;
  return status >= 400 && status < 500;
}

export function readLaneIds({ lanes }: GateResponse, max: number): ReadonlySet<number> {
  if (!Array.isArray(lanes) || lanes.length > max) throw new BadVerdict('its lanes are no list of ids');
  const ids = new Set<number>();
  for (const id of lanes as readonly unknown[]) {
    if (!Number.isSafeInteger(id)) throw new BadVerdict('its lanes are no list of ids');
    ids.add(id as number);
  }
  return ids;
}

export function readTexts({ texts }: GateResponse, count: number): ReadonlyMap<number, string> {
  if (!Array.isArray(texts) || texts.length > count) throw new BadVerdict('its texts are no list of pieces');
  const newTexts = new Map<number, string>();
  for (const piece of texts as readonly unknown[]) {
    if (typeof piece !== 'object' || piece === null)
      throw new BadVerdict('a piece of its texts is no object');
    const { at, text } = piece as { readonly at?: unknown; readonly text?: unknown };
    if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at >= count || newTexts.has(at))
      throw new BadVerdict('a piece of its texts names no place of the request, or one twice');
    if (typeof text !== 'string') throw new BadVerdict('a piece of its texts has no text');
    newTexts.set(at, text);
  }
  return newTexts;
}

export const unknownVerdictError = ({ verdict }: GateResponse): BadVerdict =>
  new BadVerdict(`"${verdict.slice(0, 40)}" is no verdict at this stage`);

export class BadVerdict extends Error {
  constructor(reason: string) {
    super(`a bad verdict: ${reason}`);
    this.name = 'BadVerdict';
  }
}
