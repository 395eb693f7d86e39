import { type Fault, printJson } from '../../../src/kernel';
import {
  type DialectName,
  dialects,
  type EncodedRequest,
  gemini,
  type EncodingTarget,
} from '../../../src/protocol';
import { settingsOf } from '../../../simulator/settings';
import { checkChat } from '../../../simulator/strict/strict-chat';
import { checkMessagesBody } from '../../../simulator/strict/strict-messages';
import { checkResponses } from '../../../simulator/strict/strict-responses';
import { type Json } from './transcripts';

/** Dialects of suppliers; clients cannot use Gemini's. */
export type TargetName = DialectName | 'gemini';
const targets = { ...dialects, gemini };

export function tryConvert(
  from: DialectName,
  to: TargetName,
  body: unknown,
  target?: EncodingTarget,
): EncodedRequest | Fault {
  const request = dialects[from].decodeRequest(body);
  if (!request.ok) return request.error;
  const encoded = targets[to].encodeRequest(request.value, target);
  return encoded.ok ? { ...encoded.value, body: asReceived(encoded.value.body) } : encoded.error;
}

/** Returns a body as the other end parses it. */
export const asReceived = (body: Json): Json => JSON.parse(printJson(body)) as Json;

export function convert(
  from: DialectName,
  to: TargetName,
  body: unknown,
  target?: EncodingTarget,
): EncodedRequest {
  const encoded = tryConvert(from, to, body, target);
  if (encoded instanceof Error) throw encoded;
  return encoded;
}

export function refusal(from: DialectName, to: DialectName, body: unknown, target?: EncodingTarget): Fault {
  const encoded = tryConvert(from, to, body, target);
  if (encoded instanceof Error) return encoded;
  throw new Error(`not refused: ${JSON.stringify(encoded.body)}`);
}

/** Signatures that the strict supplier accepts. */
const settings = settingsOf({ modelPrefix: '' });

/** Returns the error of a strict supplier of the dialect, or undefined if it accepts the request. */
export function complaint(dialect: DialectName, body: Json): string | undefined {
  if (dialect === 'chat') return checkChat(body)?.message;
  if (dialect === 'responses') return checkResponses(body)?.message;
  return checkMessagesBody(body, settings, (thinking) => `signed:${thinking}`)?.message;
}

/** Formats losses like `dropped messages.*.cache_control`. */
export const describeLosses = ({ dropped }: EncodedRequest): string[] =>
  dropped.map(({ loss, path, count }) => `${loss} ${path}${count > 1 ? ` ${count}` : ''}`).sort();
