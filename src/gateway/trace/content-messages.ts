import type { TextPiece } from '#extension';
import { type JsonFields, parseJsonText } from '../../kernel';
import type { CanonicalRequest } from '../../protocol';
import { isText, type GatewayOperation } from '../operations/operation';

/**
 * Messages, parts and tools by the JSON schemas of https://github.com/open-telemetry/semantic-conventions-genai,
 * model/gen-ai/gen-ai-{input-messages,output-messages,system-instructions,tool-definitions}.json, as of November 2026.
 */
export interface TracePart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface TraceMessage {
  readonly role: string;
  readonly parts: readonly TracePart[];
  readonly finish_reason?: string;
}

export interface ContentForModel {
  readonly messages: readonly TraceMessage[];
  readonly instructions: readonly TracePart[];
  readonly tools: readonly TracePart[];
}

type CanonicalRequestTurn = CanonicalRequest['turns'][number];
type CanonicalTurnBlock = Extract<
  CanonicalRequestTurn,
  { readonly role: 'user' | 'assistant' }
>['blocks'][number];
type CanonicalToolResult = Extract<CanonicalRequestTurn, { readonly role: 'tool' }>['results'][number];

export const textPart = (content: string): TracePart => ({ type: 'text', content });

/** A request that its own dialect cannot parse is reported by its texts only. */
export function contentForModel(
  operation: GatewayOperation,
  body: JsonFields,
  texts: () => readonly TextPiece[],
): ContentForModel | null {
  if (!isText(operation)) return null;
  const decoded = operation.name === 'completions' ? null : operation.dialect.decodeRequest(body);
  if (decoded?.ok !== true) return { messages: textMessages(texts()), instructions: [], tools: [] };
  const { system, turns, tools } = decoded.value;
  // Instructions within the conversation are part of it.
  const inHistory = system.filter(({ at }) => historyPath.test(at));
  const instructions = system.filter(({ at }) => !historyPath.test(at));
  return {
    messages: [...inHistory, ...turns].map(toMessage),
    instructions: instructions.flatMap(({ blocks }) => blocks.map(toPart)),
    tools: tools.map(toToolPart),
  };
}

const historyPath = /^(messages|input)\b/;

function textMessages(texts: readonly TextPiece[]): TraceMessage[] {
  return texts
    .filter(({ kind }) => kind !== 'definition')
    .map(({ role, text }) => ({ role, parts: [textPart(text)] }));
}

function toMessage(turn: CanonicalRequestTurn): TraceMessage {
  if (turn.role === 'tool') return { role: 'tool', parts: turn.results.map(toResultPart) };
  return { role: turn.role, parts: turn.blocks.map(toPart) };
}

function toPart(block: CanonicalTurnBlock): TracePart {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return textPart(block.text);
    case 'reasoning':
      return { type: 'reasoning', content: block.text };
    case 'tool-use':
      return {
        type: 'tool_call',
        id: block.id,
        name: block.name,
        arguments: parseArguments(block.arguments),
      };
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

function toResultPart({ toolUseId, blocks }: CanonicalToolResult): TracePart {
  const parts = blocks.map(toPart);
  const texts = parts.map(({ type, content }) => (type === 'text' ? content : null));
  const response = texts.includes(null) ? parts : texts.join('\n');
  return { type: 'tool_call_response', id: toolUseId, response };
}

/** Only kind and size: neither the bytes nor the URL, which could be signed. The schemas require the empty fields. */
function mediaOf(
  modality: string,
  source:
    { readonly kind: 'data'; readonly mediaType: string; readonly data: string } | { readonly kind: 'url' },
): TracePart {
  if (source.kind === 'url') return { type: 'uri', modality, uri: '' };
  const size = Math.floor((source.data.length * 3) / 4);
  return { type: 'blob', modality, mime_type: source.mediaType, content: '', size };
}

/** Only names: definitions of tools that a supplier runs can contain credentials. */
function toToolPart(tool: CanonicalRequest['tools'][number]): TracePart {
  if (tool.kind === 'opaque') {
    const type = typeOf(tool.value);
    return { type, name: tool.name ?? type };
  }
  const { kind: type, name, description } = tool;
  const parameters = tool.kind === 'function' ? tool.schema : undefined;
  return { type, name, description, parameters };
}

const typeOf = ({ type }: JsonFields): string => (typeof type === 'string' ? type : 'other');

export function parseArguments(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}
