import { answerTo, questionOf, type ModelAnswer, type ToolCall } from '../answer';
import { checkOpenaiContext } from './chat';
import { encryptedReasoning, isOfAccount } from '../account';
import { type Complaint, errorReply } from '../complaint';
import { listOf, objectOf, type JsonObject } from '../json';
import { piecesOf } from '../prompt';
import { jsonReply, namedFrame, type Reply, type StreamReply } from '../reply';
import { readResponses } from './responses-reader';
import type { Handler } from '../route';
import { contextOf, createdAt } from '../settings';
import { checkOpenaiModel, contentFilterComplaint } from '../strict/strict-chat';
import { conversationOf } from '../strict/strict-items';
import { checkResponses } from '../strict/strict-responses';
import { responsesUsage, type UsageVariant } from '../usage';
import { openaiSecret, vendorModel } from '../vendors';

export const responses: Handler = ({ body, key, settings, shelf, usageVariant }): Reply => {
  const stored = shelf.of(key);
  const { account } = settings;
  const complaint =
    checkResponses(body, stored) ??
    checkEncrypted(body, account) ??
    checkOpenaiModel(body['model'], settings);
  if (complaint) return errorReply('openai', complaint);
  const items = conversationOf(body, stored);
  const conversation = readResponses(body, items);
  if (questionOf(conversation.turns).directives.text('filter') === '') {
    return errorReply('openai', contentFilterComplaint);
  }
  const answer = answerTo(conversation);
  const overflow = checkOpenaiContext(answer, contextOf(answer.model, settings));
  if (overflow) return errorReply('openai', { ...overflow, param: 'input' });
  const secret = encryptedReasoningOf(answer, key, account);
  const response = completeResponse(answer, body, secret, usageVariant);
  if (body['store'] !== false) shelf.store(key, items, response);
  return body['stream'] === true
    ? new ResponseStream(answer, body, secret, usageVariant).reply()
    : jsonReply(response, { tempo: answer.tempo });
};

/** Encrypted reasoning that a client sends back so that the account can read it again. */
function encryptedReasoningOf(answer: ModelAnswer, key: string, account: string): string {
  return vendorModel(answer.model) === undefined
    ? encryptedReasoning(account, answer.key)
    : openaiSecret(key, answer.key);
}

/** Rejects encrypted reasoning of another account, which cannot be decrypted. */
function checkEncrypted(body: JsonObject, account: string): Complaint | undefined {
  const items = listOf(body['input']).map(objectOf);
  const isForeign = ({ encrypted_content: encrypted }: JsonObject): boolean =>
    typeof encrypted === 'string' && !isOfAccount(encrypted, account);
  if (!items.some(isForeign)) return undefined;
  const message = 'The encrypted content could not be verified. Reason: it could not be decrypted or parsed.';
  return { message, code: 'invalid_encrypted_content' };
}

function isTruncated(answer: ModelAnswer): boolean {
  return answer.finish === 'length' || answer.finish === 'filter';
}

/** Creates the response object in a given state; unfinished states have neither output nor usage. */
function envelope(answer: ModelAnswer, body: JsonObject, state: 'in_progress' | 'ended'): JsonObject {
  const reason = answer.finish === 'filter' ? 'content_filter' : 'max_output_tokens';
  const ended = state === 'ended';
  return {
    id: `resp_${answer.key}`,
    object: 'response',
    created_at: createdAt,
    status: ended ? (isTruncated(answer) ? 'incomplete' : 'completed') : 'in_progress',
    error: null,
    incomplete_details: ended && isTruncated(answer) ? { reason } : null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    model: answer.model,
    output: [],
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    reasoning: body['reasoning'] ?? { effort: null, summary: null },
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: body['text'] ?? { format: { type: 'text' } },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    usage: null,
    metadata: body['metadata'] ?? {},
  };
}

function completeResponse(
  answer: ModelAnswer,
  body: JsonObject,
  secret: string,
  variant: UsageVariant | undefined,
): JsonObject {
  return {
    ...envelope(answer, body, 'ended'),
    output: [
      ...(answer.reasoning.length > 0 ? [reasoningItem(answer, body, secret, true)] : []),
      ...(answer.text.length > 0 ? [messageItem(answer, answer.text.join(''))] : []),
      ...answer.calls.map((call) => callItem(call, call.arguments)),
    ],
    usage: responsesUsage(answer.usage, variant),
  };
}

function reasoningItem(answer: ModelAnswer, body: JsonObject, secret: string, complete: boolean): JsonObject {
  const encrypts = listOf(body['include']).includes('reasoning.encrypted_content');
  return {
    id: `rs_${answer.key}`,
    type: 'reasoning',
    summary: complete ? [{ type: 'summary_text', text: answer.reasoning.join('') }] : [],
    ...(encrypts ? { encrypted_content: secret } : {}),
  };
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function messageItem(answer: ModelAnswer, text: string | undefined): JsonObject {
  return {
    id: `msg_${answer.key}`,
    type: 'message',
    status: text === undefined ? 'in_progress' : isTruncated(answer) ? 'incomplete' : 'completed',
    role: 'assistant',
    content: text === undefined ? [] : [textPart(text)],
  };
}

function callItem(call: ToolCall, text: string | undefined): JsonObject {
  return {
    id: `fc_${call.key}`,
    type: 'function_call',
    status: text === undefined ? 'in_progress' : 'completed',
    call_id: `call_${call.key}`,
    name: call.name,
    ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
    arguments: text ?? '',
  };
}

/** Writes the events of one response; `sequence_number` runs through all of them. */
class ResponseStream {
  private readonly frames: string[] = [];
  private outputIndex = 0;

  constructor(
    private readonly answer: ModelAnswer,
    private readonly body: JsonObject,
    private readonly secret: string,
    private readonly variant: UsageVariant | undefined,
  ) {}

  reply(): StreamReply {
    const { answer, body, secret, variant } = this;
    const completedResponse = completeResponse(answer, body, secret, variant);
    const startedResponse = envelope(answer, body, 'in_progress');
    this.push('response.created', { response: startedResponse });
    const progress =
      variant === 'double' ? { ...startedResponse, usage: completedResponse['usage'] } : startedResponse;
    this.push('response.in_progress', { response: progress });
    if (answer.reasoning.length > 0) this.reason();
    if (answer.text.length > 0) this.speak();
    this.call();
    this.push(isTruncated(answer) ? 'response.incomplete' : 'response.completed', {
      response: completedResponse,
    });
    return {
      kind: 'stream',
      dialect: 'responses',
      frames: this.frames,
      preamble: 2,
      closing: 1,
      tempo: answer.tempo,
    };
  }

  private push(type: string, fields: JsonObject): void {
    this.frames.push(namedFrame({ type, sequence_number: this.frames.length, ...fields }));
  }

  private reason(): void {
    const text = this.answer.reasoning.join('');
    const position = { item_id: `rs_${this.answer.key}`, output_index: this.outputIndex, summary_index: 0 };
    this.added(reasoningItem(this.answer, this.body, this.secret, false));
    this.push('response.reasoning_summary_part.added', {
      ...position,
      part: { type: 'summary_text', text: '' },
    });
    this.pieces('response.reasoning_summary_text.delta', position, this.answer.reasoning);
    this.push('response.reasoning_summary_text.done', { ...position, text });
    this.push('response.reasoning_summary_part.done', { ...position, part: { type: 'summary_text', text } });
    this.done(reasoningItem(this.answer, this.body, this.secret, true), this.outputIndex++);
  }

  private speak(): void {
    const text = this.answer.text.join('');
    const position = { item_id: `msg_${this.answer.key}`, output_index: this.outputIndex, content_index: 0 };
    this.added(messageItem(this.answer, undefined));
    this.push('response.content_part.added', { ...position, part: textPart('') });
    this.pieces('response.output_text.delta', { ...position, logprobs: [] }, this.answer.text);
    this.push('response.output_text.done', { ...position, logprobs: [], text });
    this.push('response.content_part.done', { ...position, part: textPart(text) });
    this.done(messageItem(this.answer, text), this.outputIndex++);
  }

  private call(): void {
    const { calls, interleave } = this.answer;
    const first = this.outputIndex;
    const parts = calls.map((call) => piecesOf(call.arguments, 8));
    const position = (index: number): JsonObject => ({
      item_id: `fc_${calls[index]?.key ?? ''}`,
      output_index: first + index,
    });
    if (interleave) {
      for (const call of calls) this.added(callItem(call, undefined), first + calls.indexOf(call));
      const longest = Math.max(0, ...parts.map((part) => part.length));
      for (let step = 0; step < longest; step++) {
        parts.forEach((part, index) =>
          this.pieces('response.function_call_arguments.delta', position(index), part.slice(step, step + 1)),
        );
      }
    }
    for (const [index, call] of calls.entries()) {
      if (!interleave) {
        this.added(callItem(call, undefined), first + index);
        this.pieces('response.function_call_arguments.delta', position(index), parts[index] ?? []);
      }
      const text = { name: call.name, arguments: call.arguments };
      this.push('response.function_call_arguments.done', { ...position(index), ...text });
      this.done(callItem(call, call.arguments), first + index);
    }
  }

  private pieces(type: string, position: JsonObject, pieces: readonly string[]): void {
    for (const delta of pieces) this.push(type, { ...position, delta });
  }

  private added(item: JsonObject, index = this.outputIndex): void {
    this.push('response.output_item.added', { output_index: index, item });
  }

  private done(item: JsonObject, index: number): void {
    this.push('response.output_item.done', { output_index: index, item });
  }
}
