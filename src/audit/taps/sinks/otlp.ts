import type { SettledRecord } from '#extension';
import type { OutgoingAnswer } from '../../../platform';
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

type Plain = string | number | boolean | readonly string[] | null | undefined;

/** What is null or empty is left out. Numbers are integers unless they are named in the second list. */
export function attributesOf(
  values: Readonly<Record<string, Plain>>,
  fractions: Readonly<Record<string, number>> = {},
): KeyValue[] {
  const found: KeyValue[] = [];
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    found.push({ key, value: valueOf(value as Exclude<Plain, null | undefined>) });
  }
  for (const [key, doubleValue] of Object.entries(fractions)) found.push({ key, value: { doubleValue } });
  return found;
}

function valueOf(value: string | number | boolean | readonly string[]): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { intValue: String(Math.trunc(value)) };
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

export const resource = { attributes: attributesOf({ 'service.name': 'switchboard' }) };
export const scope = { name: 'switchboard.records' };

/** Nanoseconds since 1970 of a time and so many milliseconds later. */
export const nanoOf = (time: string, laterMs = 0): string => `${Date.parse(time) + laterMs}000000`;

/** In the words of the conventions for generative AI, where they have one. */
export const operationOf = ({ operation }: SettledRecord): string => operationNames[operation] ?? operation;

// OpenTelemetry, semantic-conventions-genai, `gen_ai.operation.name`.
const operationNames: Readonly<Record<string, string>> = {
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
};

/** One line for people. */
export function lineOf({ operation, model, status, error_code: code, supplier }: SettledRecord): string {
  const outcome = code === null ? String(status) : `${status} ${code}`;
  return [operation, model ?? 'no model', outcome, ...(supplier === null ? [] : ['by', supplier])].join(' ');
}

// OTLP Specification, "Retryable Response Codes": 429, 502, 503 and 504 pass, and no other request may be sent again. Keys
// and addresses that are wrong say nothing of the records, which wait until the operator has set them right.
export const otlpKinds = {
  400: 'content',
  413: 'content',
  422: 'content',
  429: 'busy',
  500: 'content',
  503: 'busy',
} as const satisfies FailureKinds;

/**
 * What an OTLP receiver said, or throws what it refused. A request that it took in part is never sent again; it says how
 * many records it refused and not which, so each of them may be one.
 */
export function heard(
  answer: OutgoingAnswer,
  records: readonly SettledRecord[],
  {
    counted,
    kinds,
  }: { readonly counted: 'rejectedLogRecords' | 'rejectedSpans'; readonly kinds: FailureKinds },
): string {
  const { status } = answer;
  if (status < 200 || status > 299) throw refusal(answer, kinds);
  const json = jsonIn(answer);
  if (json === undefined)
    throw new SinkFailure('unknown', `it answered ${status} with something that is not OTLP`);
  const partial = json['partialSuccess'];
  const { [counted]: rejected = 0, errorMessage = '' } = (
    typeof partial === 'object' && partial !== null ? partial : {}
  ) as Readonly<Record<string, unknown>>;
  const words = typeof errorMessage === 'string' ? errorMessage.slice(0, 300) : '';
  const count = Number(rejected);
  if (!(count > 0)) return words === '' ? String(status) : `${status}: ${words}`;
  const reason =
    count >= records.length
      ? `it refused the record${words === '' ? '' : `: ${words}`}`
      : `it refused ${count} of these ${records.length} records without saying which${words === '' ? '' : `: ${words}`}`;
  throw new SinkFailure('some', reason, {
    refused: new Map(records.map(({ request_id: id }) => [id, reason])),
  });
}
