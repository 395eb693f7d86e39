import type { CanonicalRequest, DialectName } from '../../protocol';
import type { RequestView } from '../engine/features';
import type { Call, TextOperation } from '../../gateway';
import { type Seal, sealOf } from './sealed-history';
import { resultsIn } from './tool-results';

type Turn = CanonicalRequest['turns'][number];
type Block = Exclude<Turn, { role: 'tool' }>['blocks'][number];

/** The features of a request for the router, and the capabilities that its model needs. */
export interface AutoView {
  readonly request: RequestView;
  /** The ids of the tool calls whose results the request brings; null where it brings none. */
  readonly results: readonly string[] | null;
  /** It continues a conversation. */
  readonly isContinued: boolean;
  readonly needsSchema: boolean;
  readonly hasAudio: boolean;
  /** A translation would drop or refuse some tool or field. */
  readonly isOfOneDialect: boolean;
  readonly wantsReasoning: boolean;
  readonly dialect: DialectName;
  readonly seal: Seal;
}

/** Reads the conversation as a judge of the answer would. */
export function autoView(call: Call, { dialect }: TextOperation): AutoView {
  const decoded = dialect.decodeRequest(call.inbound.body);
  if (!decoded.ok) throw decoded.error;
  const { system, turns, tools, responseFormat, opaque, reasoning } = decoded.value;
  const blocks = turns.flatMap(blocksOf);
  const lastQuestion = turns.findLast(({ role }) => role === 'user');
  const has = (type: Block['type']): boolean => blocks.some((block) => block.type === type);
  return {
    request: {
      text: lastQuestion === undefined ? '' : blocksOf(lastQuestion).map(textOf).join('\n'),
      tokens: call.inputEstimate,
      turns: turns.length,
      tools: tools.length,
      hasToolResult: turns.some(({ role }) => role === 'tool'),
      hasImage: has('image'),
      hasDocument: has('document'),
      jsonMode: responseFormat !== undefined && responseFormat.type !== 'text',
      systemLength: system.reduce((sum, turn) => sum + blocksOf(turn).map(textOf).join('\n').length, 0),
      stream: call.stream,
      ...(call.maxOutputTokens === null ? {} : { maxTokens: call.maxOutputTokens }),
    },
    results: resultsIn(turns),
    isContinued: turns.some(({ role }) => role === 'assistant'),
    needsSchema: responseFormat?.type === 'schema',
    hasAudio: has('audio'),
    isOfOneDialect:
      tools.some(({ kind }) => kind === 'opaque') ||
      [{ opaque }, ...turns].some((part) => part.opaque?.some(({ essential }) => essential !== undefined)),
    wantsReasoning:
      reasoning !== undefined &&
      reasoning.mode !== 'off' &&
      (reasoning.mode ?? reasoning.effort) !== undefined,
    dialect: dialect.name,
    seal: sealOf(decoded.value),
  };
}

const blocksOf = (turn: Turn): readonly Block[] =>
  turn.role === 'tool' ? turn.results.flatMap(({ blocks }) => blocks) : turn.blocks;

const textOf = (block: Block): string => ('text' in block && block.text !== undefined ? block.text : '');
