import { randomFrom } from './hash';
import { isObject, type JsonObject } from './json';
import { usageVariants, type UsageVariant } from './usage';

/** A rule applies if every field present matches. */
interface FaultMatch {
  readonly path?: string;
  readonly model?: string;
  /** Key of the request, without `Bearer`. */
  readonly key?: string;
  readonly lane?: string;
  /** Applies only to the nth matching request since the rule was added, starting at 1. */
  readonly nth?: number;
  /** Applies to every nth matching request. */
  readonly every?: number;
  readonly probability?: number;
}

/** `after` counts events of a stream, or bytes of a non-streaming body; defaults to half of the bytes. */
export type Fault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'hang' | 'refuse' | 'no-terminator' | 'non-json' | 'empty-body' | 'crlf' | 'comments' }
  | { readonly kind: 'reset' | 'cut' | 'clean-cut' | 'malformed-event'; readonly after?: number }
  | { readonly kind: 'stall'; readonly after?: number; readonly ms?: number }
  | {
      readonly kind: 'error-event';
      readonly after?: number;
      readonly status?: number;
      readonly message?: string;
    }
  | { readonly kind: 'slow-first-token' | 'pace'; readonly ms: number }
  | { readonly kind: 'delay'; readonly ms: number; readonly untilMs?: number }
  | { readonly kind: 'wrong-usage'; readonly variant: UsageVariant }
  | { readonly kind: 'huge-body' | 'gzip-bomb'; readonly bytes?: number }
  | { readonly kind: 'redirect'; readonly status?: number; readonly location?: string }
  | { readonly kind: 'split'; readonly bytes: number };

export type FaultKind = Fault['kind'];
export type FaultOf<K extends FaultKind, F extends Fault = Fault> = F extends Fault
  ? K extends F['kind']
    ? F
    : never
  : never;

export interface FaultRule {
  readonly match?: FaultMatch;
  /** Number of times the rule applies; unlimited by default. */
  readonly times?: number;
  readonly fault: Fault;
}

export interface FaultSubject {
  readonly path: string;
  readonly lane: string;
  readonly key: string;
  readonly model: string;
}

interface StoredRule {
  readonly id: number;
  readonly rule: FaultRule;
  seen: number;
  applied: number;
}

type FieldKind = 'integer' | 'status' | 'share' | 'text' | 'any' | 'texts' | 'variant';

const fieldsOf: Readonly<Record<FaultKind, Readonly<Record<string, FieldKind>>>> = {
  status: { status: 'status', body: 'any', headers: 'texts' },
  hang: {},
  refuse: {},
  'no-terminator': {},
  'non-json': {},
  'empty-body': {},
  crlf: {},
  comments: {},
  reset: { after: 'integer' },
  cut: { after: 'integer' },
  'clean-cut': { after: 'integer' },
  'malformed-event': { after: 'integer' },
  stall: { after: 'integer', ms: 'integer' },
  'error-event': { after: 'integer', status: 'status', message: 'text' },
  'slow-first-token': { ms: 'integer' },
  pace: { ms: 'integer' },
  delay: { ms: 'integer', untilMs: 'integer' },
  'wrong-usage': { variant: 'variant' },
  'huge-body': { bytes: 'integer' },
  'gzip-bomb': { bytes: 'integer' },
  redirect: { status: 'status', location: 'text' },
  split: { bytes: 'integer' },
};
const requiredFields: Partial<Readonly<Record<FaultKind, string>>> = {
  status: 'status',
  'slow-first-token': 'ms',
  pace: 'ms',
  delay: 'ms',
  'wrong-usage': 'variant',
  split: 'bytes',
};
const matchFields: Readonly<Record<string, FieldKind>> = {
  path: 'text',
  model: 'text',
  key: 'text',
  lane: 'text',
  nth: 'integer',
  every: 'integer',
  probability: 'share',
};

/** Rules in effect. Several can apply to one request, in the order they were added. */
export class FaultRules {
  private readonly rules: StoredRule[] = [];
  private readonly random: () => number;
  private lastId = 0;

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  add(rule: FaultRule): number {
    this.rules.push({ id: ++this.lastId, rule, seen: 0, applied: 0 });
    return this.lastId;
  }

  remove(id: number): boolean {
    const index = this.rules.findIndex((stored) => stored.id === id);
    if (index >= 0) this.rules.splice(index, 1);
    return index >= 0;
  }

  clear(): void {
    this.rules.length = 0;
  }

  list(): readonly Readonly<StoredRule>[] {
    return this.rules;
  }

  /** A refusing lane does not listen, so there is no request to match. */
  refuses(lane: string): boolean {
    return this.rules.some(
      ({ rule }) =>
        rule.fault.kind === 'refuse' && (rule.match?.lane === undefined || rule.match.lane === lane),
    );
  }

  faultsFor(subject: FaultSubject): Fault[] {
    const faults: Fault[] = [];
    for (const stored of this.rules) {
      if (stored.rule.fault.kind === 'refuse' || !fits(stored.rule.match, subject)) continue;
      stored.seen++;
      if (!this.isDue(stored)) continue;
      stored.applied++;
      faults.push(stored.rule.fault);
    }
    return faults;
  }

  /** Returns a number of the range from the seeded generator. */
  between(min: number, max: number): number {
    return min + this.random() * Math.max(0, max - min);
  }

  private isDue({ rule, seen, applied }: StoredRule): boolean {
    const { nth, every, probability } = rule.match ?? {};
    if (rule.times !== undefined && applied >= rule.times) return false;
    if (nth !== undefined && seen !== nth) return false;
    if (every !== undefined && seen % every !== 0) return false;
    return probability === undefined || this.random() < probability;
  }
}

function fits(match: FaultMatch | undefined, subject: FaultSubject): boolean {
  if (match === undefined) return true;
  return (['path', 'model', 'key', 'lane'] as const).every(
    (field) => match[field] === undefined || match[field] === subject[field],
  );
}

/** Validates a rule received over HTTP, or returns what is wrong with it. */
export function readRule(value: unknown): { readonly rule: FaultRule } | { readonly wrong: string } {
  if (!isObject(value) || !isObject(value['fault']))
    return { wrong: 'expected {match?, times?, fault: {kind, …}}' };
  const { match = {}, times, fault } = value;
  const fields = fieldsOf[fault['kind'] as FaultKind];
  if (fields === undefined)
    return { wrong: `unknown fault kind; known: ${Object.keys(fieldsOf).join(', ')}` };
  if (!isObject(match)) return { wrong: 'match: expected an object' };
  const wrong =
    findInvalidField(value, { match: 'any', times: 'integer', fault: 'any' }, 'rule') ??
    findInvalidField(match, matchFields, 'match') ??
    findInvalidField(fault, { kind: 'text', ...fields }, 'fault');
  if (wrong !== undefined) return { wrong };
  const required = requiredFields[fault['kind'] as FaultKind];
  if (required !== undefined && !(required in fault)) return { wrong: `fault.${required}: required` };
  if (fault['bytes'] === 0 || match['every'] === 0 || times === 0) {
    return { wrong: 'bytes, every and times: at least 1' };
  }
  return { rule: value as unknown as FaultRule };
}

function findInvalidField(
  value: JsonObject,
  fields: Readonly<Record<string, FieldKind>>,
  place: string,
): string | undefined {
  for (const [name, entry] of Object.entries(value)) {
    const kind = fields[name];
    if (kind === undefined) return `${place}: unknown field ${name}`;
    if (!isOfKind(entry, kind)) return `${place}.${name}: wrong type or range`;
  }
  return undefined;
}

function isOfKind(value: unknown, kind: FieldKind): boolean {
  switch (kind) {
    case 'any':
      return true;
    case 'text':
      return typeof value === 'string';
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= 0;
    case 'status':
      return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599;
    case 'share':
      return typeof value === 'number' && value >= 0 && value <= 1;
    case 'texts':
      return isObject(value) && Object.values(value).every((entry) => typeof entry === 'string');
    case 'variant':
      return usageVariants.some((variant) => variant === value);
  }
}
