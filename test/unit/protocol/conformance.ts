import { type DialectName } from '../../../src/protocol';
import { type Json } from './transcripts';

/**
 * Strict clients: each reads a stream as the strictest client of its dialect would, throws at the first violated rule
 * and returns the assembled response.
 */
export interface Received {
  readonly answer?: Json;
  readonly error?: Json;
}

interface SseBlock {
  readonly event?: string;
  readonly data: string;
}

function assertRule(condition: unknown, rule: string): asserts condition {
  if (!condition) throw new Error(`not conformant: ${rule}`);
}

function parseBlocks(text: string): SseBlock[] {
  assertRule(text.endsWith('\n\n'), 'the stream ends with a whole event');
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((block) => {
      const lines = block.split('\n');
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7);
      assertRule(data.length === 1, 'one line of data an event');
      assertRule(lines.length === (event === undefined ? 1 : 2), 'nothing but event and data');
      return { event, data: data[0]! };
    });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const parse = (text: string): Json => JSON.parse(text) as Json;

function receiveChat(text: string): Received {
  const allBlocks = parseBlocks(text);
  const message: Json = { role: 'assistant', content: '' };
  const calls: { id: string; kind: string; name: string; text: string }[] = [];
  let [finish, usage, done, id]: [unknown, unknown, boolean, unknown] = [null, undefined, false, undefined];
  for (const [position, { event, data }] of allBlocks.entries()) {
    assertRule(event === undefined, 'chat has no event names');
    assertRule(!done, 'nothing behind [DONE]');
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    const chunk = parse(data);
    if (chunk.error) {
      assertRule(position === allBlocks.length - 1, 'nothing behind an error, and no [DONE]');
      return { error: chunk.error as Json };
    }
    id ??= chunk.id;
    assertRule(
      chunk.object === 'chat.completion.chunk' && chunk.id === id && typeof id === 'string',
      'one id',
    );
    const choices = chunk.choices as Json[];
    if (choices.length === 0) {
      assertRule(
        finish !== null && usage === undefined && chunk.usage,
        'usage comes once, behind the finish',
      );
      usage = chunk.usage;
      continue;
    }
    assertRule(finish === null && (chunk.usage ?? null) === null, 'nothing behind the finish');
    const [{ delta, finish_reason: reason, index }] = choices as [Json];
    assertRule(index === 0 && choices.length === 1, 'one choice');
    readDelta(delta as Json, message, calls, position);
    finish = reason;
  }
  assertRule(done && finish !== null, 'a finish and [DONE]');
  if (calls.length > 0) message.tool_calls = calls.map(completeCall);
  return { answer: { message, finish_reason: finish, usage } };
}

function completeCall({
  id,
  kind,
  name,
  text,
}: {
  id: string;
  kind: string;
  name: string;
  text: string;
}): Json {
  if (kind === 'custom') return { id, type: kind, custom: { name, input: text } };
  assertRule(text !== '', 'arguments are never nothing');
  return { id, type: kind, function: { name, arguments: text } };
}

function readDelta(
  delta: Json,
  message: Json,
  calls: { id: string; kind: string; name: string; text: string }[],
  position: number,
): void {
  assertRule((delta.role === 'assistant') === (position === 0), 'the role in the first delta and only there');
  for (const field of ['content', 'reasoning_content', 'refusal']) {
    if (typeof delta[field] === 'string') message[field] = `${textOf(message[field])}${delta[field]}`;
  }
  for (const call of (delta.tool_calls ?? []) as Json[]) {
    const index = call.index as number;
    const kind = call.custom ? 'custom' : 'function';
    const callFields = call[kind] as Json;
    const piece = callFields[kind === 'custom' ? 'input' : 'arguments'];
    assertRule(typeof piece === 'string', 'arguments are text');
    if (index === calls.length) {
      assertRule(
        call.type === kind && typeof call.id === 'string' && callFields.name,
        'a call begins with its name',
      );
      calls.push({ id: call.id, kind, name: textOf(callFields.name), text: piece });
    } else {
      assertRule(index < calls.length, 'calls are counted from 0 without a gap');
      assertRule(call.id === undefined && callFields.name === undefined, 'a call is named once');
      calls[index]!.text += piece;
    }
  }
}

function receiveMessages(text: string): Received {
  const allBlocks = parseBlocks(text);
  const content: Json[] = [];
  let message: Json | undefined;
  let openBlock: { block: Json; json: string } | undefined;
  let [ended, stopped] = [false, false];
  for (const [position, { event, data }] of allBlocks.entries()) {
    assertRule(data !== '[DONE]', 'messages have no [DONE]');
    const value = parse(data);
    assertRule(event === value.type, 'the name of the event is its type');
    assertRule(!stopped, 'nothing behind message_stop');
    if (value.type === 'error') {
      assertRule(position === allBlocks.length - 1, 'nothing behind an error');
      return { error: value.error as Json };
    }
    assertRule((value.type === 'message_start') === (position === 0), 'message_start comes first and once');
    assertRule(!ended || value.type === 'message_stop', 'only message_stop behind message_delta');
    switch (value.type) {
      case 'message_start': {
        message = value.message as Json;
        const { input_tokens: input } = message.usage as Json;
        assertRule(Number.isInteger(input) && Number(input) > 0, 'input tokens are shown from the start');
        break;
      }
      case 'content_block_start':
        assertRule(!openBlock && value.index === content.length, 'blocks in a row, one at a time');
        openBlock = { block: { ...(value.content_block as Json) }, json: '' };
        break;
      case 'content_block_delta':
        assertRule(openBlock && value.index === content.length, 'pieces belong to the open block');
        receivePiece(openBlock, value.delta as Json);
        break;
      case 'content_block_stop':
        assertRule(openBlock && value.index === content.length, 'the open block stops');
        if (openBlock.block.type === 'tool_use' && openBlock.json !== '')
          openBlock.block.input = parseOrKeep(openBlock.json);
        content.push(openBlock.block);
        openBlock = undefined;
        break;
      case 'message_delta':
        assertRule(!openBlock, 'every block is closed');
        Object.assign(message!, value.delta, {
          usage: { ...(message!.usage as Json), ...(value.usage as Json) },
        });
        ended = true;
        break;
      default:
        assertRule(value.type === 'message_stop' && ended, 'a known event in its place');
        stopped = true;
    }
  }
  assertRule(stopped, 'message_stop');
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
  assertRule(expected[String(delta.type)] === block.type, 'a piece of its block');
  if (delta.type === 'text_delta') block.text = `${String(block.text)}${String(delta.text)}`;
  if (delta.type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(delta.thinking)}`;
  if (delta.type === 'signature_delta') block.signature = delta.signature;
  if (delta.type === 'input_json_delta') open.json += String(delta.partial_json);
}

/** A truncated response can leave arguments that are not an object. */
function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { arguments: text };
  }
}

function receiveResponses(text: string): Received {
  const allBlocks = parseBlocks(text);
  const items = new Map<number, { item: Json; text: string; done?: Json }>();
  for (const [position, { event, data }] of allBlocks.entries()) {
    const value = parse(data);
    const type = String(value.type);
    assertRule(event === type, 'the name of the event is its type');
    assertRule(value.sequence_number === position, 'events are counted from 0');
    assertRule((type === 'response.created') === (position === 0), 'response.created comes first and once');
    const response = value.response as Json;
    if (type === 'response.failed') {
      assertRule(position === allBlocks.length - 1, 'nothing behind a failure');
      return { error: response.error as Json };
    }
    if (type === 'response.completed' || type === 'response.incomplete') {
      assertRule(position === allBlocks.length - 1, 'nothing behind the end');
      assertRule(`response.${String(response.status)}` === type, 'the status is the event');
      const doneItems = [...items.values()].map((item) => item.done);
      assertRule(
        JSON.stringify(doneItems) === JSON.stringify(response.output),
        'the end repeats every finished item',
      );
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
  const knownItem = items.get(index);
  if (type === 'response.output_item.added') {
    assertRule(index === items.size, 'items are counted from 0 without a gap');
    items.set(index, { item: value.item as Json, text: '' });
    return;
  }
  assertRule(knownItem && !knownItem.done, 'an item begins before its pieces and ends once');
  if (type === 'response.output_item.done') {
    const doneItem = value.item as Json;
    assertRule(
      doneItem.id === knownItem.item.id && doneItem.type === knownItem.item.type,
      'the item that began',
    );
    const content = ((doneItem.content ?? doneItem.summary ?? []) as Json[])[0];
    const finalText = doneItem.arguments ?? doneItem.input ?? content?.text ?? content?.refusal ?? '';
    assertRule(finalText === knownItem.text, 'the pieces add up to the item');
    knownItem.done = doneItem;
    return;
  }
  assertRule(value.item_id === knownItem.item.id, 'a piece names its item');
  if (type.endsWith('.delta')) knownItem.text += String(value.delta);
}

export const receive: Readonly<Record<DialectName, (text: string) => Received>> = {
  chat: receiveChat,
  messages: receiveMessages,
  responses: receiveResponses,
};
