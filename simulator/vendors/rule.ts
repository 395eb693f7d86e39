import type { IncomingHttpHeaders } from 'node:http';
import { listOf, objectOf, textOf, type JsonObject } from '../json';

/** Error response of a vendor. */
export interface Refusal {
  readonly status: number;
  readonly body: unknown;
}

export interface VendorCall {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  /** Identifies the account: a signature for one account is invalid for another. */
  readonly key: string;
}

/** Something a vendor rejects, with the wording of its error. */
export interface VendorRule<Model> {
  readonly name: string;
  /** Source of the rule and its wording; `recalled` if only the rule has a source. */
  readonly source: string;
  readonly refuses: (call: VendorCall, model: Model) => Refusal | undefined;
}

/** An error response and the rule that was broken. */
export interface BrokenVendorRule extends Refusal {
  readonly rule: string;
}

export function firstBroken<Model>(
  rules: readonly VendorRule<Model>[],
  call: VendorCall,
  model: Model,
): BrokenVendorRule | undefined {
  for (const rule of rules) {
    const refusal = rule.refuses(call, model);
    if (refusal) return { ...refusal, rule: rule.name };
  }
  return undefined;
}

/** Returns the message of an error body in any vendor's shape. */
export function errorMessageOf(body: unknown): string {
  const { error, message } = objectOf(body);
  const [detail] = listOf(objectOf(message)['detail']);
  const errorMessage = [error, objectOf(error)['message'], message, objectOf(detail)['msg']];
  return errorMessage.map(textOf).find((text) => text !== '') ?? '';
}

/** Formats an English list: `'none', 'low', and 'high'`. */
export function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`;
}

/** Whether the field is present; clients write null for a field they omit. */
export const isPresent = (body: JsonObject, field: string): boolean =>
  body[field] !== undefined && body[field] !== null;
