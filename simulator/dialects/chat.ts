import { answerTo, questionOf, type ModelAnswer, type Finish, type ToolCall } from '../answer';
import { readChat } from './chat-reader';
import { errorReply, type Complaint } from '../complaint';
import { numberOf, objectOf, textOf } from '../json';
import { piecesOf } from '../prompt';
import { jsonReply, type Reply, type StreamReply } from '../reply';
import type { Handler } from '../route';
import { contextOf, createdAt, isReasoningModel } from '../settings';
import { checkChat, checkForeignChat, checkOpenaiModel, contentFilterComplaint } from '../strict/strict-chat';
import { chatUsage, type UsageVariant } from '../usage';
import { vendorModel } from '../vendors';

const finishes: Readonly<Record<Finish, string>> = {
  end: 'stop',
  length: 'length',
  tools: 'tool_calls',
  'stop-sequence': 'stop',
  filter: 'content_filter',
};

export const chatCompletions: Handler = ({ body, settings, usageVariant }): Reply => {
  const vendor = vendorModel(textOf(body['model']))?.vendor ?? 'openai';
  const check = vendor === 'openai' ? checkChat : checkForeignChat;
  const complaint = check(body) ?? checkOpenaiModel(body['model'], settings);
  if (complaint) return errorReply('openai', complaint);
  const conversation = readChat(body);
  if (questionOf(conversation.turns).directives.text('filter') === '') {
    return errorReply('openai', contentFilterComplaint);
  }
  const baseAnswer = answerTo(conversation);
  const answer =
    settings.account === '' ? baseAnswer : { ...baseAnswer, calls: baseAnswer.calls.map(withNumberedId) };
  const overflow = checkOpenaiContext(answer, contextOf(answer.model, settings));
  if (overflow) return errorReply('openai', overflow);
  const choices = numberOf(body['n']) ?? 1;
  const includesUsage = objectOf(body['stream_options'])['include_usage'] === true;
  return body['stream'] === true
    ? streamResponse(answer, choices, includesUsage, usageVariant)
    : jsonReply(completeResponse(answer, choices, usageVariant), { tempo: answer.tempo });
};

export function checkOpenaiContext(answer: ModelAnswer, context: number): Complaint | undefined {
  const { uncachedInput, cacheRead, cacheWrite } = answer.usage;
  const prompt = uncachedInput + cacheRead + cacheWrite;
  if (prompt <= context) return undefined;
  return {
    message:
      `This model's maximum context length is ${context} tokens. However, your messages resulted in ` +
      `${prompt} tokens. Please reduce the length of the messages.`,
    code: 'context_length_exceeded',
    param: 'messages',
  };
}

function completeResponse(answer: ModelAnswer, choices: number, variant: UsageVariant | undefined): object {
  const message = {
    role: 'assistant',
    content: answer.text.length > 0 ? answer.text.join('') : null,
    ...(visibleReasoning(answer).length > 0 ? { reasoning_content: visibleReasoning(answer).join('') } : {}),
    ...(answer.calls.length > 0 ? { tool_calls: answer.calls.map(completeCall) } : {}),
    refusal: null,
    annotations: [],
  };
  return {
    id: `chatcmpl-${answer.key}`,
    object: 'chat.completion',
    created: createdAt,
    model: answer.model,
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: finishes[answer.finish],
    })),
    usage: chatUsage(multiplyUsage(answer, choices), variant),
    service_tier: 'default',
    system_fingerprint: 'fp_sim',
  };
}

/** Only models named for it show their reasoning; others bill it without showing it. */
function visibleReasoning(answer: ModelAnswer): readonly string[] {
  const isVisible = isReasoningModel(answer.model) || vendorModel(answer.model)?.vendor === 'deepseek';
  return isVisible ? answer.reasoning : [];
}

/** Some suppliers number the calls of each response and use letters that other suppliers reject. */
const withNumberedId = (call: ToolCall, index: number): ToolCall => ({
  ...call,
  id: `functions.${call.name}:${index}`,
});

const idOf = ({ id, key }: ToolCall): string => id ?? `call_${key}`;

function completeCall(call: ToolCall): object {
  return {
    id: idOf(call),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  };
}

function multiplyUsage(answer: ModelAnswer, choices: number): ModelAnswer['usage'] {
  const { usage } = answer;
  return { ...usage, output: usage.output * choices, reasoning: usage.reasoning * choices };
}

function streamResponse(
  answer: ModelAnswer,
  choices: number,
  includesUsage: boolean,
  variant: UsageVariant | undefined,
): StreamReply {
  const head =
    `data: {"id":"chatcmpl-${answer.key}","object":"chat.completion.chunk","created":${createdAt},` +
    `"model":${JSON.stringify(answer.model)},"service_tier":"default","system_fingerprint":"fp_sim","choices":[`;
  const tail = includesUsage ? '],"usage":null}\n\n' : ']}\n\n';
  const indexes = Array.from({ length: choices }, (_, index) => index);
  const chunk = (index: number, delta: string, finish = 'null'): string =>
    `${head}{"index":${index},"delta":${delta},"logprobs":null,"finish_reason":${finish}}${tail}`;
  const frames = indexes.map((index) => chunk(index, '{"role":"assistant","content":"","refusal":null}'));
  for (const delta of deltas(answer)) for (const index of indexes) frames.push(chunk(index, delta));
  for (const index of indexes) frames.push(chunk(index, '{}', `"${finishes[answer.finish]}"`));
  if (includesUsage) {
    const usage = JSON.stringify(chatUsage(multiplyUsage(answer, choices), variant));
    const frame = `${head}]${usage === undefined ? '' : `,"usage":${usage}`}}\n\n`;
    frames.push(frame, ...(variant === 'double' ? [frame] : []));
  }
  frames.push('data: [DONE]\n\n');
  return { kind: 'stream', dialect: 'chat', frames, preamble: choices, closing: 1, tempo: answer.tempo };
}

function* deltas(answer: ModelAnswer): Generator<string> {
  for (const piece of visibleReasoning(answer)) yield `{"reasoning_content":${JSON.stringify(piece)}}`;
  for (const piece of answer.text) yield `{"content":${JSON.stringify(piece)}}`;
  const calls = answer.calls.map(callDeltas);
  if (!answer.interleave) {
    for (const call of calls) yield* call;
    return;
  }
  const longest = Math.max(0, ...calls.map((call) => call.length));
  for (let step = 0; step < longest; step++) {
    for (const call of calls) yield* call.slice(step, step + 1);
  }
}

function callDeltas(call: ToolCall, index: number): string[] {
  const start = { index, ...completeCall({ ...call, arguments: '' }) };
  return [
    JSON.stringify({ tool_calls: [start] }),
    ...piecesOf(call.arguments, 8).map((piece) =>
      JSON.stringify({ tool_calls: [{ index, function: { arguments: piece } }] }),
    ),
  ];
}
