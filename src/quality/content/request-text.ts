import { type RequestCounters, sealOf } from '../../autorouter';
import type { JsonFields } from '../../kernel';
import { type CanonicalRequest, type DialectName, dialects } from '../../protocol';

type TranscriptTurn = CanonicalRequest['turns'][number];
export interface RequestText {
  readonly conversation: string;
  readonly lastQuestion: string;
  /** Without tokens and streaming, which only the response reveals. */
  readonly counters: Omit<RequestCounters, 'tokens' | 'stream'>;
  readonly wantsJson: boolean;
  readonly wantsSchema: boolean;
  /** Whether the request contains something that only a user or a supplier's own tool can read. */
  readonly isOpaque: boolean;
  /** Whether the request contains something that only models of the replying model's family can read. */
  readonly isSealed: boolean;
}

export function readRequest(surface: DialectName, body: JsonFields): RequestText | null {
  const decoded = dialects[surface].decodeRequest(body);
  if (!decoded.ok) return null;
  const { system, turns, tools, responseFormat, maxOutputTokens } = decoded.value;
  const wantsJson = responseFormat !== undefined && responseFormat.type !== 'text';
  const blocks = turns.flatMap(blocksOf);
  const lastQuestion = turns.findLast(({ role }) => role === 'user');
  return {
    conversation: [...system, ...turns].map(turnText).join('\n\n'),
    lastQuestion: lastQuestion === undefined ? '' : blocksOf(lastQuestion).map(blockText).join('\n'),
    counters: {
      turns: turns.length,
      tools: tools.length,
      hasToolResult: turns.some(({ role }) => role === 'tool'),
      hasImage: blocks.some(({ type }) => type === 'image'),
      hasDocument: blocks.some(({ type }) => type === 'document'),
      jsonMode: wantsJson,
      systemLength: system.reduce((sum, turn) => sum + turnText(turn).length, 0),
      ...(maxOutputTokens === undefined ? {} : { maxTokens: maxOutputTokens }),
    },
    wantsJson,
    wantsSchema: responseFormat?.type === 'schema',
    isOpaque:
      tools.some(({ kind }) => kind === 'opaque') ||
      blocks.some(({ type }) => type === 'opaque' || type === 'audio'),
    isSealed: sealOf(decoded.value) === 'family',
  };
}

type MessageTurn = Exclude<TranscriptTurn, { role: 'tool' }>;
type RequestBlock = MessageTurn['blocks'][number];

function blocksOf(turn: TranscriptTurn): readonly RequestBlock[] {
  return turn.role === 'tool' ? turn.results.flatMap(({ blocks }) => blocks) : turn.blocks;
}

const turnText = (turn: TranscriptTurn): string =>
  `${turn.role}: ${blocksOf(turn).map(blockText).join('\n')}`;

function blockText(block: RequestBlock): string {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return block.text;
    case 'tool-use':
      return `(calls ${block.name} with ${block.arguments})`;
    case 'reasoning':
      return '';
    case 'opaque':
      return block.text ?? '(something that only its own supplier understands)';
    case 'image':
    case 'document':
    case 'audio':
      return `(${block.type})`;
  }
}
