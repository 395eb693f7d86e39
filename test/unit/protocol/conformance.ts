import { type DialectName } from '../../../src/protocol';
import { type Json } from './transcripts';

/**
 * These clients forgive nothing. Each reads a stream as its dialect's strictest client would, complains about
 * the first rule that is broken, and answers with what it has made.
 */
export interface Received {
  readonly answer?: Json;
  readonly error?: Json;
}

interface SseBlock {
  readonly event?: string;
  readonly data: string;
}

function must(condition: unknown, rule: string): asserts condition {
  if (!condition) throw new Error(`not conformant: ${rule}`);
}

function blocks(text: string): SseBlock[] {
  must(text.endsWith('\n\n'), 'the stream ends with a whole event');
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((block) => {
      const lines = block.split('\n');
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7);
      must(data.length === 1, 'one line of data an event');
      must(lines.length === (event === undefined ? 1 : 2), 'nothing but event and data');
      return { event, data: data[0]! };
    });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const parse = (text: string): Json => JSON.parse(text) as Json;

function receiveChat(text: string): Received {
  const all = blocks(text);
  const message: Json = { role: 'assistant', content: '' };
  const calls: { id: string; kind: string; name: string; text: string }[] = [];
  let [finish, usage, done, id]: [unknown, unknown, boolean, unknown] = [null, undefined, false, undefined];
  for (const [position, { event, data }] of all.entries()) {
    must(event === undefined, 'chat has no event names');
    must(!done, 'nothing behind [DONE]');
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    const chunk = parse(data);
    if (chunk.error) {
      must(position === all.length - 1, 'nothing behind an error, and no [DONE]');
      return { error: chunk.error as Json };
    }
    id ??= chunk.id;
    must(chunk.object === 'chat.completion.chunk' && chunk.id === id && typeof id === 'string', 'one id');
    const choices = chunk.choices as Json[];
    if (choices.length === 0) {
      must(finish !== null && usage === undefined && chunk.usage, 'usage comes once, behind the finish');
      usage = chunk.usage;
      continue;
    }
    must(finish === null && (chunk.usage ?? null) === null, 'nothing behind the finish');
    const [{ delta, finish_reason: reason, index }] = choices as [Json];
    must(index === 0 && choices.length === 1, 'one choice');
    readDelta(delta as Json, message, calls, position);
    finish = reason;
  }
  must(done && finish !== null, 'a finish and [DONE]');
  if (calls.length > 0) message.tool_calls = calls.map(wholeCall);
  return { answer: { message, finish_reason: finish, usage } };
}

function wholeCall({ id, kind, name, text }: { id: string; kind: string; name: string; text: string }): Json {
  if (kind === 'custom') return { id, type: kind, custom: { name, input: text } };
  must(text !== '', 'arguments are never nothing');
  return { id, type: kind, function: { name, arguments: text } };
}

function readDelta(
  delta: Json,
  message: Json,
  calls: { id: string; kind: string; name: string; text: string }[],
  position: number,
): void {
  must((delta.role === 'assistant') === (position === 0), 'the role in the first delta and only there');
  for (const field of ['content', 'reasoning_content', 'refusal']) {
    if (typeof delta[field] === 'string') message[field] = `${textOf(message[field])}${delta[field]}`;
  }
  for (const call of (delta.tool_calls ?? []) as Json[]) {
    const index = call.index as number;
    const kind = call.custom ? 'custom' : 'function';
    const called = call[kind] as Json;
    const piece = called[kind === 'custom' ? 'input' : 'arguments'];
    must(typeof piece === 'string', 'arguments are text');
    if (index === calls.length) {
      must(call.type === kind && typeof call.id === 'string' && called.name, 'a call begins with its name');
      calls.push({ id: call.id, kind, name: textOf(called.name), text: piece });
    } else {
      must(index < calls.length, 'calls are counted from 0 without a gap');
      must(call.id === undefined && called.name === undefined, 'a call is named once');
      calls[index]!.text += piece;
    }
  }
}

function receiveMessages(text: string): Received {
  const all = blocks(text);
  const content: Json[] = [];
  let message: Json | undefined;
  let open: { block: Json; json: string } | undefined;
  let [ended, stopped] = [false, false];
  for (const [position, { event, data }] of all.entries()) {
    must(data !== '[DONE]', 'messages have no [DONE]');
    const value = parse(data);
    must(event === value.type, 'the name of the event is its type');
    must(!stopped, 'nothing behind message_stop');
    if (value.type === 'error') {
      must(position === all.length - 1, 'nothing behind an error');
      return { error: value.error as Json };
    }
    must((value.type === 'message_start') === (position === 0), 'message_start comes first and once');
    must(!ended || value.type === 'message_stop', 'only message_stop behind message_delta');
    switch (value.type) {
      case 'message_start': {
        message = value.message as Json;
        const { input_tokens: input } = message.usage as Json;
        must(Number.isInteger(input) && Number(input) > 0, 'input tokens are shown from the start');
        break;
      }
      case 'content_block_start':
        must(!open && value.index === content.length, 'blocks in a row, one at a time');
        open = { block: { ...(value.content_block as Json) }, json: '' };
        break;
      case 'content_block_delta':
        must(open && value.index === content.length, 'pieces belong to the open block');
        receivePiece(open, value.delta as Json);
        break;
      case 'content_block_stop':
        must(open && value.index === content.length, 'the open block stops');
        if (open.block.type === 'tool_use' && open.json !== '') open.block.input = parseOr(open.json);
        content.push(open.block);
        open = undefined;
        break;
      case 'message_delta':
        must(!open, 'every block is closed');
        Object.assign(message!, value.delta, {
          usage: { ...(message!.usage as Json), ...(value.usage as Json) },
        });
        ended = true;
        break;
      default:
        must(value.type === 'message_stop' && ended, 'a known event in its place');
        stopped = true;
    }
  }
  must(stopped, 'message_stop');
  return { answer: { ...message, content } };
}

function receivePiece(open: { block: Json; json: string }, delta: Json): void {
  const { block } = open;
  const expected: Record<string, string> = {
    text_delta: 'text',
    thinking_delta: 'thinking',
    signature_delta: 'thinking',
    input_json_delta: 'tool_use',
  };
  must(expected[String(delta.type)] === block.type, 'a piece of its block');
  if (delta.type === 'text_delta') block.text = `${String(block.text)}${String(delta.text)}`;
  if (delta.type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(delta.thinking)}`;
  if (delta.type === 'signature_delta') block.signature = delta.signature;
  if (delta.type === 'input_json_delta') open.json += String(delta.partial_json);
}

/** An answer that was cut off may leave arguments that are no object. */
function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { arguments: text };
  }
}

function receiveResponses(text: string): Received {
  const all = blocks(text);
  const items = new Map<number, { item: Json; text: string; done?: Json }>();
  for (const [position, { event, data }] of all.entries()) {
    const value = parse(data);
    const type = String(value.type);
    must(event === type, 'the name of the event is its type');
    must(value.sequence_number === position, 'events are counted from 0');
    must((type === 'response.created') === (position === 0), 'response.created comes first and once');
    const response = value.response as Json;
    if (type === 'response.failed') {
      must(position === all.length - 1, 'nothing behind a failure');
      return { error: response.error as Json };
    }
    if (type === 'response.completed' || type === 'response.incomplete') {
      must(position === all.length - 1, 'nothing behind the end');
      must(`response.${String(response.status)}` === type, 'the status is the event');
      const done = [...items.values()].map((item) => item.done);
      must(JSON.stringify(done) === JSON.stringify(response.output), 'the end repeats every finished item');
      return { answer: response };
    }
    if (value.output_index !== undefined) receiveItem(type, value, items);
  }
  throw new Error('not conformant: a stream has an end');
}

function receiveItem(
  type: string,
  value: Json,
  items: Map<number, { item: Json; text: string; done?: Json }>,
): void {
  const index = value.output_index as number;
  const known = items.get(index);
  if (type === 'response.output_item.added') {
    must(index === items.size, 'items are counted from 0 without a gap');
    items.set(index, { item: value.item as Json, text: '' });
    return;
  }
  must(known && !known.done, 'an item begins before its pieces and ends once');
  if (type === 'response.output_item.done') {
    const done = value.item as Json;
    must(done.id === known.item.id && done.type === known.item.type, 'the item that began');
    const content = ((done.content ?? done.summary ?? []) as Json[])[0];
    const shown = done.arguments ?? done.input ?? content?.text ?? content?.refusal ?? '';
    must(shown === known.text, 'the pieces add up to the item');
    known.done = done;
    return;
  }
  must(value.item_id === known.item.id, 'a piece names its item');
  if (type.endsWith('.delta')) known.text += String(value.delta);
}

export const receive: Readonly<Record<DialectName, (text: string) => Received>> = {
  chat: receiveChat,
  messages: receiveMessages,
  responses: receiveResponses,
};
