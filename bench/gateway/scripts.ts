import type { StreamScript } from './supplier';
import { chunkOf, lastChunk } from './wire';

/** Text that marks a piece in every dialect. */
export const MARK = Buffer.from('" token"');

const usage = { prompt_tokens: 24, completion_tokens: 48, total_tokens: 72 };
const shared = { id: 'chatcmpl-8Hq2tX0vB3yW5mC7', created: 1_763_700_000, model: 'bench-model' };

export const completeResponse: Buffer = jsonResponse({
  ...shared,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'The ferry leaves at nine and takes two hours. '.repeat(4) },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
  system_fingerprint: 'fp_44709d6fcb',
});

function jsonResponse(body: object): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

const streamHead = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n' +
    'transfer-encoding: chunked\r\n\r\n',
);

function chatEvent(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  const event = { ...shared, object: 'chat.completion.chunk', system_fingerprint: 'fp_44709d6fcb', choices };
  return `data: ${JSON.stringify(event)}\n\n`;
}

const chatUsage = `data: ${JSON.stringify({ ...shared, object: 'chat.completion.chunk', choices: [], usage })}\n\n`;

/** A Chat Completions stream; only the last event of a piece has the mark. */
export function chatStream(length: number, eventsPerPiece = 1): StreamScript {
  const piece =
    chatEvent({ content: ' words' }).repeat(eventsPerPiece - 1) + chatEvent({ content: ' token' });
  return {
    opening: Buffer.concat([streamHead, chunkOf(chatEvent({ role: 'assistant', content: '' }))]),
    piece: chunkOf(piece),
    closing: Buffer.concat([
      chunkOf(chatEvent({}, 'stop')),
      chunkOf(chatUsage),
      chunkOf('data: [DONE]\n\n'),
      lastChunk,
    ]),
    length,
    events: eventsPerPiece,
  };
}

const messagesEvent = (body: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;

export function messagesStream(length: number): StreamScript {
  const message = {
    id: 'msg_01Q8vX3nT5bK7wZ9',
    type: 'message',
    role: 'assistant',
    model: 'bench-model',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 24, output_tokens: 1 },
  };
  const text = { type: 'text', text: '' };
  return {
    opening: Buffer.concat([
      streamHead,
      chunkOf(
        messagesEvent({ type: 'message_start', message }) +
          messagesEvent({ type: 'content_block_start', index: 0, content_block: text }),
      ),
    ]),
    piece: chunkOf(
      messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' token' } }),
    ),
    closing: Buffer.concat([
      chunkOf(
        messagesEvent({ type: 'content_block_stop', index: 0 }) +
          messagesEvent({
            type: 'message_delta',
            delta: { stop_reason: 'end_turn', stop_sequence: null },
            usage: { output_tokens: 48 },
          }) +
          messagesEvent({ type: 'message_stop' }),
      ),
      lastChunk,
    ]),
    length,
    events: 1,
  };
}

/** Endless text with the number of its stream, so that a reader can be matched with its source. */
export function numberedStream(
  number: number,
): Pick<StreamScript, 'opening' | 'piece'> & { readonly payloadShare: number } {
  const event = chatEvent({ content: `stream ${number} goes on ${'and on '.repeat(100)}` });
  return {
    opening: Buffer.concat([streamHead, chunkOf(chatEvent({ role: 'assistant', content: '' }))]),
    piece: Buffer.concat(Array.from({ length: 16 }, () => chunkOf(event))),
    payloadShare: Buffer.byteLength(event) / chunkOf(event).length,
  };
}
