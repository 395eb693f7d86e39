import {
  answerTo,
  promptTokensOf,
  questionOf,
  type ModelAnswer,
  type Finish,
  type ToolCall,
} from '../answer';
import { errorReply, type Complaint } from '../complaint';
import { responsePath, boundSignature } from '../account';
import { listOf, textOf, type JsonObject } from '../json';
import { piecesOf } from '../prompt';
import { readMessages } from './messages-reader';
import { jsonReply, namedFrame, type Reply, type StreamReply } from '../reply';
import type { Handler } from '../route';
import { contextOf, type Settings } from '../settings';
import { checkCount, checkMessagesBody } from '../strict/strict-messages';
import type { ThinkingSigner } from '../strict/strict-blocks';
import { messagesUsage, type UsageVariant } from '../usage';
import { claudeThinking, prefixBefore, sealOf, vendorModel } from '../vendors';

const finishes: Readonly<Record<Finish, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  'stop-sequence': 'stop_sequence',
  filter: 'refusal',
};
const filtered: Complaint = { message: 'Output blocked by content filtering policy' };

/** Creates the signature of a thinking block, which must come back unchanged. */
const signer =
  (body: JsonObject, { account }: Settings): ThinkingSigner =>
  (thinking, path) =>
    boundSignature(account, thinking, body, path);

/** Returns the visible thinking and its signature. */
type ThinkingPresenter = (thinking: string) => { readonly thinking: string; readonly signature: string };

/** Models of the vendor sign for the account and for the preceding conversation. */
function thinkingPresenterFor(body: JsonObject, key: string, settings: Settings): ThinkingPresenter {
  const model = vendorModel(textOf(body['model']));
  if (model?.vendor !== 'anthropic')
    return (thinking) => ({
      thinking,
      signature: boundSignature(settings.account, thinking, body, responsePath(body)),
    });
  const { shows } = claudeThinking(body, model);
  const prefix = prefixBefore(body, listOf(body['messages']).length);
  return (thought) => {
    const thinking = shows ? thought : '';
    return { thinking, signature: sealOf({ model: model.id, account: key, prefix, thinking }) };
  };
}

const signs = (body: JsonObject, settings: Settings): ThinkingSigner =>
  vendorModel(textOf(body['model'])) === undefined ? signer(body, settings) : undefined;

export const messages: Handler = ({ body, key, settings, usageVariant }): Reply => {
  const complaint = checkMessagesBody(body, settings, signs(body, settings));
  if (complaint) return errorReply('messages', complaint);
  const conversation = readMessages(body);
  if (questionOf(conversation.turns).directives.text('filter') === '')
    return errorReply('messages', filtered);
  const prompt = promptTokensOf(conversation);
  const context = contextOf(conversation.model, settings);
  if (prompt > context) {
    return errorReply('messages', { message: `prompt is too long: ${prompt} tokens > ${context} maximum` });
  }
  const answer = answerTo(conversation);
  const present = thinkingPresenterFor(body, key, settings);
  const review = reviewOf(body, answer);
  return body['stream'] === true
    ? streamResponse(answer, { show: present, review }, usageVariant)
    : jsonReply({ ...completeResponse(answer, present, usageVariant), ...review }, { tempo: answer.tempo });
};

export const countTokensOfMessages: Handler = ({ body, settings }): Reply => {
  const complaint = checkCount(body, settings, signs(body, settings));
  if (complaint) return errorReply('messages', complaint);
  return jsonReply({ input_tokens: promptTokensOf(readMessages(body)) });
};

/** Review of tool calls that a request enables with `safeguards`, in the form Claude Code 2.1.332 parses. */
function reviewOf(body: JsonObject, { calls }: ModelAnswer): object {
  if (listOf(body['safeguards']).length === 0) return {};
  const verdict = { type: 'evaluated', outcome: 'not_flagged' };
  const verdicts = Object.fromEntries(calls.map(({ key }) => [`toolu_${key}`, verdict]));
  const status = { type: 'available', tool_uses: verdicts };
  return { safeguard_results: [{ type: 'dangerous_tool_use', status }] };
}

function completeResponse(
  answer: ModelAnswer,
  show: ThinkingPresenter,
  variant: UsageVariant | undefined,
): object {
  const thinking = answer.reasoning.join('');
  return {
    id: `msg_${answer.key}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: [
      ...(thinking === '' ? [] : [{ type: 'thinking', ...show(thinking) }]),
      ...(answer.text.length > 0 ? [{ type: 'text', text: answer.text.join('') }] : []),
      ...answer.calls.map((call) => toolBlock(call, call.input)),
    ],
    stop_reason: finishes[answer.finish],
    stop_sequence: answer.stopSequence ?? null,
    usage: messagesUsage(answer.usage, variant),
  };
}

function toolBlock(call: ToolCall, input: object): object {
  return { type: 'tool_use', id: `toolu_${call.key}`, name: call.name, input };
}

function streamResponse(
  answer: ModelAnswer,
  { show, review }: { readonly show: ThinkingPresenter; readonly review: object },
  variant: UsageVariant | undefined,
): StreamReply {
  const startUsage = messagesUsage({ ...answer.usage, output: 1, reasoning: 0 }, variant);
  const message = {
    id: `msg_${answer.key}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: startUsage,
  };
  const endFrame = namedFrame({
    type: 'message_delta',
    delta: { stop_reason: finishes[answer.finish], stop_sequence: answer.stopSequence ?? null, ...review },
    usage: messagesUsage(answer.usage, variant),
  });
  const frames = [
    namedFrame({ type: 'message_start', message }),
    namedFrame({ type: 'ping' }),
    ...blocks(answer, show).flatMap((block, index) => blockFrames(block, index)),
    endFrame,
    ...(variant === 'double' ? [endFrame] : []),
    namedFrame({ type: 'message_stop' }),
  ];
  return { kind: 'stream', dialect: 'messages', frames, preamble: 2, closing: 1, tempo: answer.tempo };
}

interface StreamedBlock {
  readonly openingBlock: object;
  /** JSON of each delta. */
  readonly deltas: readonly string[];
}

function blocks(answer: ModelAnswer, show: ThinkingPresenter): StreamedBlock[] {
  const thinking = answer.reasoning.join('');
  const toolBlocks: StreamedBlock[] = answer.calls.map((call) => ({
    openingBlock: toolBlock(call, {}),
    // An empty piece comes first, and is the only one if the tool takes no arguments.
    deltas: ['', ...(call.arguments === '{}' ? [] : piecesOf(call.arguments, 8))].map(
      (piece) => `{"type":"input_json_delta","partial_json":${JSON.stringify(piece)}}`,
    ),
  }));
  if (answer.text.length > 0) {
    const deltas = answer.text.map((piece) => `{"type":"text_delta","text":${JSON.stringify(piece)}}`);
    toolBlocks.unshift({ openingBlock: { type: 'text', text: '' }, deltas });
  }
  if (thinking !== '') {
    const visible = show(thinking);
    const deltas = (visible.thinking === '' ? [] : answer.reasoning).map(
      (piece) => `{"type":"thinking_delta","thinking":${JSON.stringify(piece)}}`,
    );
    deltas.push(`{"type":"signature_delta","signature":"${visible.signature}"}`);
    toolBlocks.unshift({ openingBlock: { type: 'thinking', thinking: '', signature: '' }, deltas });
  }
  return toolBlocks;
}

function blockFrames({ openingBlock: opened, deltas }: StreamedBlock, index: number): string[] {
  const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`;
  return [
    namedFrame({ type: 'content_block_start', index, content_block: opened }),
    ...deltas.map((delta) => `${head}${delta}}\n\n`),
    namedFrame({ type: 'content_block_stop', index }),
  ];
}
