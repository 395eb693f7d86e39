import { JsonText, printJson, readJsonText } from '../../kernel';
import { isRecord, type JsonObject } from '../../protocol';
import { isText, type GatewayOperation } from '../operations/operation';
import type { AnswerMasks } from './answer-masks';
import { maskMembers, maskResponse } from './mask-values';

const TRANSCRIPT_OPERATIONS: ReadonlySet<string> = new Set(['transcription', 'translation']);

export function maskBody(
  masks: AnswerMasks,
  operation: GatewayOperation,
  { body, contentType }: { readonly body: Buffer; readonly contentType: string },
): Buffer {
  const isTranscript = TRANSCRIPT_OPERATIONS.has(operation.name);
  if (operation.name === 'embeddings' || operation.name === 'speech') return body;
  if (contentType !== 'application/json') return isTranscript ? maskPlainText(masks, body) : body;
  const { changes } = masks;
  const written = isText(operation) ? operation.dialect.written : {};
  const numberOf = (digits: string): JsonText => new JsonText(digits);
  const fields = readJsonText(body.toString('utf8'), { ...written, numberOf });
  if (!isRecord(fields)) return body;
  if (isText(operation) && operation.dialect.name === 'responses') maskResponse(masks, fields);
  else maskMembers(masks, fields);
  if (masks.changes === changes) return body;
  if (isTranscript) removeSegments(fields);
  return Buffer.from(printJson(fields));
}

function maskPlainText(masks: AnswerMasks, body: Buffer): Buffer {
  const text = body.toString('utf8');
  const masked = masks.maskText(text);
  return masked === text ? body : Buffer.from(masked);
}

/** Segments repeat the text of a transcript, and a match could span several of them. */
function removeSegments(fields: JsonObject): void {
  for (const name of ['segments', 'words']) if (Array.isArray(fields[name])) fields[name] = [];
}
