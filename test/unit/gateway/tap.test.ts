import { applyEdits, memberCut } from '../../../src/gateway/relay/stream-edits';
import fc from 'fast-check';
import { StreamEditor, type StreamEditorOptions } from '../../../src/gateway/relay/stream-editor';
import { dialects } from '../../../src/protocol';

const chat = [
  'data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n',
  ': keep-alive\n\n',
  'data: {"id":"c","choices":[{"index":0,"delta":{"content":"grüß"},"finish_reason":null}]}\r\n\r\n',
  'data: {"id":"c","choices":[{"index":0,"delta":{"content":" dich"},"finish_reason":null}]}\n\n',
  'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
];
const usage = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n';
const doneEvent = 'data: [DONE]\n\n';

const tapOf = (options: Partial<StreamEditorOptions> = {}): StreamEditor =>
  new StreamEditor({
    dialect: dialects.chat,
    hidesUsage: false,
    manyAnswers: false,
    keepsFailure: () => false,
    model: null,
    facts: null,
    ...options,
  });

/** Feeds the text in pieces that end at the given positions; returns the output and the held-back end. */
function feed(
  tap: StreamEditor,
  text: string,
  cuts: readonly number[] = [],
): { passed: string; last: string } {
  const bytes = Buffer.from(text);
  const outputs: Buffer[] = [];
  let from = 0;
  for (const cut of [...new Set(cuts.map((place) => place % bytes.length)), bytes.length].sort(
    (a, b) => a - b,
  )) {
    if (cut > from) outputs.push(tap.take(bytes.subarray(from, cut)));
    from = Math.max(from, cut);
  }
  tap.end();
  return { passed: Buffer.concat(outputs).toString(), last: tap.takeLast().toString() };
}

const cutPositions = fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 });

test('every byte passes however a stream is cut, and the end only at the end', () => {
  const completeStream = [...chat, usage, doneEvent].join('');
  fc.assert(
    fc.property(cutPositions, (cuts) => {
      const tap = tapOf();
      const { passed, last } = feed(tap, completeStream, cuts);
      expect(passed + last).toBe(completeStream);
      expect(last).toBe(usage + doneEvent);
      expect(tap).toMatchObject({ ended: true, failure: null, watcher: { finishReason: 'stop' } });
      expect(tap.watcher.usage).toMatchObject({ kind: 'ok', usage: { inputTokens: 3, outputTokens: 2 } });
    }),
  );
});

test('incomplete trailing event is never passed on', () => {
  const completeStream = [...chat, usage, doneEvent].join('');
  const ends = new Set([0, ...[...completeStream.matchAll(/\r?\n\r?\n/g)].map(({ index }) => index)]);
  const bytes = Buffer.from(completeStream);
  for (let size = 0; size < bytes.length; size += 1) {
    const output = tapOf().take(bytes.subarray(0, size)).toString();
    expect(completeStream.startsWith(output)).toBe(true);
    expect(ends).toContain(output.trimEnd().length);
  }
});

test.each([
  ['{"id":"x","usage":null,"choices":[]}', '{"id":"x","choices":[]}'],
  ['{"usage" : null , "id":"x"}', '{ "id":"x"}'],
  ['{"id":"x", "usage": null}', '{"id":"x"}'],
  ['{"usage":null}', '{}'],
])('unrequested usage is removed from %s', (json, without) => {
  const cutRange = memberCut(Buffer.from(json), 'usage')!;
  expect(applyEdits(Buffer.from(json), 0, [cutRange]).toString()).toBe(without);
});

test('unrequested usage is removed from a stream', () => {
  expect(feed(tapOf({ hidesUsage: true }), [...chat, usage, doneEvent].join('')).last).toBe(doneEvent);
});

test('gateway facts are added next to the final usage only', () => {
  const facts = () => ({ cost_usd: '0.1' });
  const { passed, last } = feed(tapOf({ facts }), [...chat, usage, doneEvent].join(''));
  expect(passed).toBe(chat.join(''));
  expect(last).toBe(`${usage.trimEnd().slice(0, -1)},"svc":{"cost_usd":"0.1"}}\n\n${doneEvent}`);
});

test.each([
  ['', `${usage}data: [DONE]`],
  ['after the usage', usage],
])('incomplete or missing terminator %s is completed', (_where, ending) => {
  const tap = tapOf();
  const { last } = feed(tap, chat.join('') + ending);
  expect(tap.ended).toBe(true);
  expect(last).toBe(usage + doneEvent);
});

test('stream of several choices does not end before the supplier ends it', () => {
  const tap = tapOf({ manyAnswers: true });
  feed(tap, chat.join(''));
  expect(tap.ended).toBe(false);
});

test.each([
  ['not JSON', 'data: {"id":"c","choi\n\n', 'non_json_provider_response'],
  ['HTML', 'data: <html>\n\n', 'non_json_provider_response'],
  ['an error', 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n', 'upstream_unavailable'],
])('%s ends the output including everything after it', (_name, bad, code) => {
  fc.assert(
    fc.property(cutPositions, (cuts) => {
      const tap = tapOf();
      const { passed } = feed(tap, [...chat.slice(0, 3), bad, ...chat.slice(3)].join(''), cuts);
      // A line feed separated from its carriage return might stay behind with what follows.
      expect(passed.trimEnd()).toBe(chat.slice(0, 3).join('').trimEnd());
      expect(tap.failure).toMatchObject({ code });
    }),
  );
});

test("supplier's failure event passes in a dialect that keeps it", () => {
  const failureEvent =
    'event: response.failed\ndata: {"type":"response.failed","response":{"error":{"code":"x","message":"no"}}}\n\n';
  const tap = tapOf({ dialect: dialects.responses, keepsFailure: () => true });
  expect(feed(tap, failureEvent).passed).toBe(failureEvent);
  expect(tap).toMatchObject({ failurePassed: true, failure: { code: 'upstream_error' } });
});

test('unreported text is counted by its decoded length, not by its spelling', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      const tap = tapOf();
      const delta = JSON.stringify({ choices: [{ delta: { content: text } }] });
      feed(tap, `data: ${delta}\n\n`);
      expect(tap.watcher.outputBytes).toBe(Buffer.byteLength(text));
    }),
  );
});

const pieces = fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { minLength: 1, maxLength: 20 });
const streams: Record<string, (text: string) => string> = {
  chat: (text) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`,
  messages: (text) =>
    `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`,
  responses: (text) =>
    `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', delta: text })}\n\n`,
};

test.each(['chat', 'messages', 'responses'] as const)(
  '%s: many events in one read are parsed as in many reads',
  (name) => {
    fc.assert(
      fc.property(pieces, cutPositions, fc.boolean(), (texts, cuts, isCommented) => {
        const stream = texts.map(streams[name]!).join(isCommented ? ': comment\n\n' : '');
        const tap = tapOf({ dialect: dialects[name] });
        const { passed, last } = feed(tap, stream, cuts);
        expect(passed + last).toBe(stream);
        expect(tap.watcher.outputBytes).toBe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
        expect(tap.failure).toBeNull();
      }),
    );
  },
);
