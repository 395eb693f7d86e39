import { type RequestCounters, sealOf } from '../../autorouter';
import type { JsonFields } from '../../kernel';
import { type CanonicalRequest, type DialectName, dialects } from '../../protocol';

type Turn = CanonicalRequest['turns'][number];
/** A request as a judge reads it, and what it asks of a model that is to answer it. */
export interface RequestText {
  /** The instructions and the conversation, oldest first. */
  readonly conversation: string;
  readonly lastQuestion: string;
  /** They lack the tokens and the stream, which only its answer tells. */
  readonly counters: Omit<RequestCounters, 'tokens' | 'stream'>;
  /** The answer is to be JSON. */
  readonly wantsJson: boolean;
  readonly wantsSchema: boolean;
  /** Something in it only a person or a supplier's own tool can look into. */
  readonly isOpaque: boolean;
  /** Something in it only models of the family that answered can read. */
  readonly isSealed: boolean;
}

/** It is null where the body cannot be read. */
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

type SpokenTurn = Exclude<Turn, { role: 'tool' }>;
type Block = SpokenTurn['blocks'][number];

function blocksOf(turn: Turn): readonly Block[] {
  return turn.role === 'tool' ? turn.results.flatMap(({ blocks }) => blocks) : turn.blocks;
}

const turnText = (turn: Turn): string => `${turn.role}: ${blocksOf(turn).map(blockText).join('\n')}`;

function blockText(block: Block): string {
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
