import type { SettledRecord } from '#extension';
import type { OutgoingResponse } from '../../../platform';
import { SinkFailure } from '../failure';
import { type FailureKinds, jsonIn, refusal } from './post';

/*
 * The encoding in JSON of the OTLP Specification 1.9, "JSON Protobuf Encoding": names in lowerCamelCase, ids of traces
 * and spans in hexadecimal digits, 64-bit integers as decimal texts, enumerations as numbers.
 */

export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } };

type OtlpValue = string | number | boolean | readonly string[] | null | undefined;

/** Omits null and empty values. Numbers are integers unless they are listed in `fractions`. */
export function attributesOf(
  values: Readonly<Record<string, OtlpValue>>,
  fractions: Readonly<Record<string, number>> = {},
): KeyValue[] {
  const attributes: KeyValue[] = [];
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    attributes.push({ key, value: valueOf(value as Exclude<OtlpValue, null | undefined>) });
  }
  for (const [key, doubleValue] of Object.entries(fractions))
    attributes.push({ key, value: { doubleValue } });
  return attributes;
}

function valueOf(value: string | number | boolean | readonly string[]): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { intValue: String(Math.trunc(value)) };
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

export const resource = { attributes: attributesOf({ 'service.name': 'switchboard' }) };
export const scope = { name: 'switchboard.records' };

/** Nanoseconds since 1970, for a time plus `laterMs`. */
export const nanoOf = (time: string, laterMs = 0): string => `${Date.parse(time) + laterMs}000000`;

/** Name from the conventions for generative AI, if they have one. */
export const operationOf = ({ operation }: SettledRecord): string => operationNames[operation] ?? operation;

// OpenTelemetry, semantic-conventions-genai, `gen_ai.operation.name`.
const operationNames: Readonly<Record<string, string>> = {
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
};

export function summaryOf({ operation, model, status, error_code: code, supplier }: SettledRecord): string {
  const outcome = code === null ? String(status) : `${status} ${code}`;
  return [operation, model ?? 'no model', outcome, ...(supplier === null ? [] : ['by', supplier])].join(' ');
}

// OTLP Specification, "Retryable Response Codes": 429, 502, 503 and 504 are temporary, and no other request may be sent
// again. Wrong keys or addresses say nothing about the records, which wait until the operator fixes them.
export const otlpKinds = {
  400: 'content',
  413: 'content',
  422: 'content',
  429: 'busy',
  500: 'content',
  503: 'busy',
} as const satisfies FailureKinds;

/**
 * Returns an OTLP receiver's response, or throws its refusal. A partly accepted request is never sent again; the
 * receiver says only how many records it refused, so each could be one.
 */
export function readResponse(
  response: OutgoingResponse,
  records: readonly SettledRecord[],
  {
    counted,
    kinds,
  }: { readonly counted: 'rejectedLogRecords' | 'rejectedSpans'; readonly kinds: FailureKinds },
): string {
  const { status } = response;
  if (status < 200 || status > 299) throw refusal(response, kinds);
  const json = jsonIn(response);
  if (json === undefined)
    throw new SinkFailure('unknown', `it answered ${status} with something that is not OTLP`);
  const partial = json['partialSuccess'];
  const { [counted]: rejected = 0, errorMessage = '' } = (
    typeof partial === 'object' && partial !== null ? partial : {}
  ) as Readonly<Record<string, unknown>>;
  const message = typeof errorMessage === 'string' ? errorMessage.slice(0, 300) : '';
  const count = Number(rejected);
  if (!(count > 0)) return message === '' ? String(status) : `${status}: ${message}`;
  const reason =
    count >= records.length
      ? `it refused the record${message === '' ? '' : `: ${message}`}`
      : `it refused ${count} of these ${records.length} records without saying which${message === '' ? '' : `: ${message}`}`;
  throw new SinkFailure('some', reason, {
    refused: new Map(records.map(({ request_id: id }) => [id, reason])),
  });
}
