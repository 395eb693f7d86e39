import { answerTo, type ModelAnswer, type Conversation } from './answer';
import { checkOpenaiContext } from './dialects/chat';
import { errorReply } from './complaint';
import { listOf, numberOf, objectOf, textOf, type JsonObject } from './json';
import { dataFrame, jsonReply, type Reply, type StreamReply } from './reply';
import type { Handler } from './route';
import { contextOf, createdAt } from './settings';
import { checkOpenaiModel } from './strict/strict-chat';
import {
  fieldSet,
  missingParameter,
  numberWithin,
  optional,
  unknownParameter,
  type Check,
} from './strict/strict';
import { chatUsage, type UsageVariant } from './usage';

const fields = fieldSet(
  'model prompt best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream ' +
    'stream_options suffix temperature top_p user',
);

/** Legacy completions route: one prompt, one choice. */
export const completions: Handler = ({ body, settings, usageVariant }): Reply => {
  const complaint = checkCompletions(body) ?? checkOpenaiModel(body['model'], settings);
  if (complaint) return errorReply('openai', complaint);
  const conversation = readCompletions(body);
  const answer = answerTo(conversation);
  const overflow = checkOpenaiContext(answer, contextOf(answer.model, settings));
  if (overflow) return errorReply('openai', overflow);
  const text = answer.text.join('');
  const body200 = { ...chunk(answer, text, finish(answer)), usage: chatUsage(answer.usage, usageVariant) };
  return body['stream'] === true
    ? streamed(answer, objectOf(body['stream_options'])['include_usage'] === true, usageVariant)
    : jsonReply(body200, { tempo: answer.tempo });
};

function checkCompletions(body: JsonObject): Check {
  return (
    unknownParameter(body, fields) ??
    (body['prompt'] === undefined ? missingParameter('prompt') : undefined) ??
    optional(body, 'stream', 'boolean') ??
    numberWithin(body, 'temperature', 0, 2) ??
    numberWithin(body, 'max_tokens', 1, 1_000_000, true)
  );
}

function readCompletions(body: JsonObject): Conversation {
  const { prompt, stop } = body;
  const text = typeof prompt === 'string' ? prompt : listOf(prompt).map(textOf).join('\n');
  return {
    model: textOf(body['model']),
    turns: [{ text, results: [] }],
    weight: { characters: text.length, images: 0 },
    tools: [],
    choice: { mode: 'none' },
    parallel: false,
    outputLimit: numberOf(body['max_tokens']) ?? 16,
    stops: typeof stop === 'string' ? [stop] : listOf(stop).map(textOf),
    thinks: false,
  };
}

function finish(answer: ModelAnswer): string {
  return answer.finish === 'length' ? 'length' : 'stop';
}

function chunk(answer: ModelAnswer, text: string, finishReason: string | null): JsonObject {
  return {
    id: `cmpl-${answer.key}`,
    object: 'text_completion',
    created: createdAt,
    model: answer.model,
    choices: [{ index: 0, text, logprobs: null, finish_reason: finishReason }],
  };
}

function streamed(
  answer: ModelAnswer,
  includesUsage: boolean,
  variant: UsageVariant | undefined,
): StreamReply {
  const usage = { ...chunk(answer, '', null), choices: [], usage: chatUsage(answer.usage, variant) };
  const frames = [
    ...answer.text.map((piece) => dataFrame(chunk(answer, piece, null))),
    dataFrame(chunk(answer, '', finish(answer))),
    ...(includesUsage ? [dataFrame(usage)] : []),
    'data: [DONE]\n\n',
  ];
  return { kind: 'stream', dialect: 'completions', frames, preamble: 0, closing: 1, tempo: answer.tempo };
}
