import type { CanonicalRequest, DialectName } from '../../protocol';
import type { RequestView } from '../engine/features';
import type { GatewayCall, TextOperation } from '../../gateway';
import { type Seal, sealOf } from './sealed-history';
import { resultsIn } from './tool-results';

type RequestTurn = CanonicalRequest['turns'][number];
type TurnBlock = Exclude<RequestTurn, { role: 'tool' }>['blocks'][number];

export interface AutoView {
  readonly request: RequestView;
  /** Ids of the tool calls whose results the request contains; null if it contains none. */
  readonly results: readonly string[] | null;
  readonly isContinued: boolean;
  readonly needsSchema: boolean;
  readonly hasAudio: boolean;
  /** A conversion to another dialect would drop or refuse some tool or field. */
  readonly isOfOneDialect: boolean;
  readonly wantsReasoning: boolean;
  readonly dialect: DialectName;
  readonly seal: Seal;
}

export function autoView(call: GatewayCall, { dialect }: TextOperation): AutoView {
  const decoded = dialect.decodeRequest(call.inbound.body);
  if (!decoded.ok) throw decoded.error;
  const { system, turns, tools, responseFormat, opaque, reasoning } = decoded.value;
  const blocks = turns.flatMap(blocksOf);
  const lastQuestion = turns.findLast(({ role }) => role === 'user');
  const has = (type: TurnBlock['type']): boolean => blocks.some((block) => block.type === type);
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

const blocksOf = (turn: RequestTurn): readonly TurnBlock[] =>
  turn.role === 'tool' ? turn.results.flatMap(({ blocks }) => blocks) : turn.blocks;

const textOf = (block: TurnBlock): string => ('text' in block && block.text !== undefined ? block.text : '');
