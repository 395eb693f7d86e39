import { answerTo, promptTokensOf, questionOf, type Answer, type Finish, type ToolCall } from '../answer';
import { errorReply, type Complaint } from '../complaint';
import { answerPath, boundSignature } from '../account';
import { listOf, textOf, type JsonObject } from '../json';
import { piecesOf } from '../prompt';
import { readMessages } from './messages-reader';
import { jsonReply, namedFrame, type Reply, type StreamReply } from '../reply';
import type { Handler } from '../route';
import { contextOf, type Settings } from '../settings';
import { checkCount, checkMessagesBody } from '../strict/strict-messages';
import type { Sign } from '../strict/strict-blocks';
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

/** The signature this supplier puts under its thinking, and wants to see again unchanged. */
const signer =
  (body: JsonObject, { account }: Settings): Sign =>
  (thinking, path) =>
    boundSignature(account, thinking, body, path);

/** Thoughts are shown and signed so. */
type Show = (thinking: string) => { readonly thinking: string; readonly signature: string };

/** A model of the vendor signs for the account and for all that was said before. */
function showOf(body: JsonObject, key: string, settings: Settings): Show {
  const model = vendorModel(textOf(body['model']));
  if (model?.vendor !== 'anthropic')
    return (thinking) => ({
      thinking,
      signature: boundSignature(settings.account, thinking, body, answerPath(body)),
    });
  const { shows } = claudeThinking(body, model);
  const prefix = prefixBefore(body, listOf(body['messages']).length);
  return (thought) => {
    const thinking = shows ? thought : '';
    return { thinking, signature: sealOf({ model: model.id, account: key, prefix, thinking }) };
  };
}

const signs = (body: JsonObject, settings: Settings): Sign =>
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
  const show = showOf(body, key, settings);
  const review = reviewOf(body, answer);
  return body['stream'] === true
    ? streamed(answer, { show, review }, usageVariant)
    : jsonReply({ ...whole(answer, show, usageVariant), ...review }, { tempo: answer.tempo });
};

export const countTokensOfMessages: Handler = ({ body, settings }): Reply => {
  const complaint = checkCount(body, settings, signs(body, settings));
  if (complaint) return errorReply('messages', complaint);
  return jsonReply({ input_tokens: promptTokensOf(readMessages(body)) });
};

/** The review of tool calls that a request asks for with `safeguards`, as Claude Code 2.1.332 reads it. */
function reviewOf(body: JsonObject, { calls }: Answer): object {
  if (listOf(body['safeguards']).length === 0) return {};
  const verdict = { type: 'evaluated', outcome: 'not_flagged' };
  const verdicts = Object.fromEntries(calls.map(({ key }) => [`toolu_${key}`, verdict]));
  const status = { type: 'available', tool_uses: verdicts };
  return { safeguard_results: [{ type: 'dangerous_tool_use', status }] };
}

function whole(answer: Answer, show: Show, variant: UsageVariant | undefined): object {
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

function streamed(
  answer: Answer,
  { show, review }: { readonly show: Show; readonly review: object },
  variant: UsageVariant | undefined,
): StreamReply {
  const started = messagesUsage({ ...answer.usage, output: 1, reasoning: 0 }, variant);
  const message = {
    id: `msg_${answer.key}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: started,
  };
  const ended = namedFrame({
    type: 'message_delta',
    delta: { stop_reason: finishes[answer.finish], stop_sequence: answer.stopSequence ?? null, ...review },
    usage: messagesUsage(answer.usage, variant),
  });
  const frames = [
    namedFrame({ type: 'message_start', message }),
    namedFrame({ type: 'ping' }),
    ...blocks(answer, show).flatMap((block, index) => blockFrames(block, index)),
    ended,
    ...(variant === 'double' ? [ended] : []),
    namedFrame({ type: 'message_stop' }),
  ];
  return { kind: 'stream', dialect: 'messages', frames, preamble: 2, closing: 1, tempo: answer.tempo };
}

interface Block {
  readonly opened: object;
  /** Ready-made JSON of each delta. */
  readonly deltas: readonly string[];
}

function blocks(answer: Answer, show: Show): Block[] {
  const thinking = answer.reasoning.join('');
  const found: Block[] = answer.calls.map((call) => ({
    opened: toolBlock(call, {}),
    // An empty piece comes first, and is all there is when the tool takes nothing.
    deltas: ['', ...(call.arguments === '{}' ? [] : piecesOf(call.arguments, 8))].map(
      (piece) => `{"type":"input_json_delta","partial_json":${JSON.stringify(piece)}}`,
    ),
  }));
  if (answer.text.length > 0) {
    const deltas = answer.text.map((piece) => `{"type":"text_delta","text":${JSON.stringify(piece)}}`);
    found.unshift({ opened: { type: 'text', text: '' }, deltas });
  }
  if (thinking !== '') {
    const shown = show(thinking);
    const deltas = (shown.thinking === '' ? [] : answer.reasoning).map(
      (piece) => `{"type":"thinking_delta","thinking":${JSON.stringify(piece)}}`,
    );
    deltas.push(`{"type":"signature_delta","signature":"${shown.signature}"}`);
    found.unshift({ opened: { type: 'thinking', thinking: '', signature: '' }, deltas });
  }
  return found;
}

function blockFrames({ opened, deltas }: Block, index: number): string[] {
  const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`;
  return [
    namedFrame({ type: 'content_block_start', index, content_block: opened }),
    ...deltas.map((delta) => `${head}${delta}}\n\n`),
    namedFrame({ type: 'content_block_stop', index }),
  ];
}
