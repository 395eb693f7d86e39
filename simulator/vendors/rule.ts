import type { IncomingHttpHeaders } from 'node:http';
import { listOf, objectOf, textOf, type JsonObject } from '../json';

/** A vendor's refusal, as it goes over the wire. */
export interface Refusal {
  readonly status: number;
  readonly body: unknown;
}

export interface VendorCall {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  /** The key owns the call: what was signed for one account is foreign to another. */
  readonly key: string;
}

/** One thing that a vendor refuses, with the words it says. */
export interface Rule<Model> {
  readonly name: string;
  /** The rule and its words were read here; `recalled` where only the rule has a source. */
  readonly source: string;
  readonly refuses: (call: VendorCall, model: Model) => Refusal | undefined;
}

/** A refusal, and the rule that was broken. */
export interface Broken extends Refusal {
  readonly rule: string;
}

export function firstBroken<Model>(
  rules: readonly Rule<Model>[],
  call: VendorCall,
  model: Model,
): Broken | undefined {
  for (const rule of rules) {
    const refusal = rule.refuses(call, model);
    if (refusal) return { ...refusal, rule: rule.name };
  }
  return undefined;
}

/** The body of a refusal says this, in whichever of the vendors' shapes. */
export function wordsOf(body: unknown): string {
  const { error, message } = objectOf(body);
  const [detail] = listOf(objectOf(message)['detail']);
  const words = [error, objectOf(error)['message'], message, objectOf(detail)['msg']];
  return words.map(textOf).find((text) => text !== '') ?? '';
}

/** As English lists are written: `'none', 'low', and 'high'`. */
export function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`;
}

/** The field is there at all; null is what a client writes for a field it leaves out. */
export const given = (body: JsonObject, field: string): boolean =>
  body[field] !== undefined && body[field] !== null;
