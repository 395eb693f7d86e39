import type { TextPiece } from '#extension';
import { type JsonFields, parseJsonText } from '../../kernel';
import type { CanonicalRequest } from '../../protocol';
import { isText, type Operation } from '../operations/operation';

/**
 * Messages, parts and tools by the JSON schemas of https://github.com/open-telemetry/semantic-conventions-genai,
 * model/gen-ai/gen-ai-{input-messages,output-messages,system-instructions,tool-definitions}.json, as of November 2026.
 */
export interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
  readonly finish_reason?: string;
}

/** What a request says to a model. */
export interface SaidToModel {
  readonly messages: readonly Message[];
  readonly instructions: readonly Part[];
  readonly tools: readonly Part[];
}

type Turn = CanonicalRequest['turns'][number];
type Block = Extract<Turn, { readonly role: 'user' | 'assistant' }>['blocks'][number];
type Result = Extract<Turn, { readonly role: 'tool' }>['results'][number];

export const textPart = (content: string): Part => ({ type: 'text', content });

/** A request that its own dialect cannot read is told by its texts alone. */
export function saidToModel(
  operation: Operation,
  body: JsonFields,
  texts: () => readonly TextPiece[],
): SaidToModel | null {
  if (!isText(operation)) return null;
  const read = operation.name === 'completions' ? null : operation.dialect.decodeRequest(body);
  if (read?.ok !== true) return { messages: textMessages(texts()), instructions: [], tools: [] };
  const { system, turns, tools } = read.value;
  // Instructions that stand in the conversation are a part of it.
  const inHistory = system.filter(({ at }) => isOfHistory.test(at));
  const before = system.filter(({ at }) => !isOfHistory.test(at));
  return {
    messages: [...inHistory, ...turns].map(messageOf),
    instructions: before.flatMap(({ blocks }) => blocks.map(partOf)),
    tools: tools.map(toolOf),
  };
}

const isOfHistory = /^(messages|input)\b/;

function textMessages(texts: readonly TextPiece[]): Message[] {
  return texts
    .filter(({ kind }) => kind !== 'definition')
    .map(({ role, text }) => ({ role, parts: [textPart(text)] }));
}

function messageOf(turn: Turn): Message {
  if (turn.role === 'tool') return { role: 'tool', parts: turn.results.map(resultOf) };
  return { role: turn.role, parts: turn.blocks.map(partOf) };
}

function partOf(block: Block): Part {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return textPart(block.text);
    case 'reasoning':
      return { type: 'reasoning', content: block.text };
    case 'tool-use':
      return { type: 'tool_call', id: block.id, name: block.name, arguments: argumentsOf(block.arguments) };
    case 'image':
      return mediaOf('image', block.source);
    case 'document':
      return block.source.kind === 'text' ? textPart(block.source.text) : mediaOf('document', block.source);
    case 'audio':
      return mediaOf('audio', { kind: 'data', mediaType: `audio/${block.format}`, data: block.data });
    case 'opaque':
      return block.text === undefined ? { type: typeOf(block.value) } : textPart(block.text);
  }
}

function resultOf({ toolUseId, blocks }: Result): Part {
  const parts = blocks.map(partOf);
  const texts = parts.map(({ type, content }) => (type === 'text' ? content : null));
  const response = texts.includes(null) ? parts : texts.join('\n');
  return { type: 'tool_call_response', id: toolUseId, response };
}

/** Its kind and size alone: neither its bytes nor its address, which may be signed. The schemas want the empty fields. */
function mediaOf(
  modality: string,
  source:
    { readonly kind: 'data'; readonly mediaType: string; readonly data: string } | { readonly kind: 'url' },
): Part {
  if (source.kind === 'url') return { type: 'uri', modality, uri: '' };
  const size = Math.floor((source.data.length * 3) / 4);
  return { type: 'blob', modality, mime_type: source.mediaType, content: '', size };
}

/** Definitions of tools that a supplier runs may hold somebody's credentials: only their names are told. */
function toolOf(tool: CanonicalRequest['tools'][number]): Part {
  if (tool.kind === 'opaque') {
    const type = typeOf(tool.value);
    return { type, name: tool.name ?? type };
  }
  const { kind: type, name, description } = tool;
  const parameters = tool.kind === 'function' ? tool.schema : undefined;
  return { type, name, description, parameters };
}

const typeOf = ({ type }: JsonFields): string => (typeof type === 'string' ? type : 'other');

/** An object where the text is one. */
export function argumentsOf(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}
