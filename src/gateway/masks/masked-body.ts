import { JsonText, printJson, readJsonText } from '../../kernel';
import { isRecord, type JsonObject } from '../../protocol';
import { isText, type Operation } from '../operations/operation';
import type { AnswerMasks } from './answer-masks';
import { maskMembers, maskResponse } from './masked-values';

const SPOKEN: ReadonlySet<string> = new Set(['transcription', 'translation']);

/** A whole answer as its caller may see it. What has nothing to mask keeps its bytes. */
export function maskedBody(
  masks: AnswerMasks,
  operation: Operation,
  { body, contentType }: { readonly body: Buffer; readonly contentType: string },
): Buffer {
  const isSpoken = SPOKEN.has(operation.name);
  if (operation.name === 'embeddings' || operation.name === 'speech') return body;
  if (contentType !== 'application/json') return isSpoken ? maskedText(masks, body) : body;
  const { changes } = masks;
  const written = isText(operation) ? operation.dialect.written : {};
  const numberOf = (digits: string): JsonText => new JsonText(digits);
  const fields = readJsonText(body.toString('utf8'), { ...written, numberOf });
  if (!isRecord(fields)) return body;
  if (isText(operation) && operation.dialect.name === 'responses') maskResponse(masks, fields);
  else maskMembers(masks, fields);
  if (masks.changes === changes) return body;
  if (isSpoken) leaveOutPieces(fields);
  return Buffer.from(printJson(fields));
}

function maskedText(masks: AnswerMasks, body: Buffer): Buffer {
  const text = body.toString('utf8');
  const shown = masks.whole(text);
  return shown === text ? body : Buffer.from(shown);
}

/** A match may lie across the pieces that repeat the text of a recording. */
function leaveOutPieces(fields: JsonObject): void {
  for (const name of ['segments', 'words']) if (Array.isArray(fields[name])) fields[name] = [];
}
