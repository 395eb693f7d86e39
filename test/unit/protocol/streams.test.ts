import fc from 'fast-check';
import { fault, totalTokens } from '../../../src/kernel';
import { type CanonicalEvent, collect, dialects } from '../../../src/protocol';
import { chatAsReceived, comparable } from './compare';
import { receive } from './conformance';
import { sent } from './convert';
import { answers, failures } from './expected-answers';
import { decode, encode, names, options, split, type Transcript, transcripts } from './transcripts';

const cases = transcripts.map(
  (transcript) => [`${transcript.dialect}/${transcript.name}`, transcript] as const,
);

const strip = (events: readonly CanonicalEvent[]): unknown[] =>
  events.map((event) => (event.type === 'fault' ? { ...event, fault: event.fault.code } : event));

describe.each(cases)('%s', (name, { dialect, bytes }: Transcript) => {
  const events = decode(dialect, [bytes]);
  const whole = collect(events);

  test('reads as it was meant', () => {
    if (name in failures) {
      expect(whole).toMatchObject({ ok: false, error: { code: failures[name] } });
      return;
    }
    expect(whole).toEqual({ ok: true, value: expect.objectContaining(answers[name]!) });
  });

  test('reads the same however the bytes arrive', () => {
    const expected = strip(events);
    const single = [...bytes].map((byte) => Buffer.from([byte]));
    expect(strip(decode(dialect, single))).toEqual(expected);
    for (let cut = 1; cut < bytes.length; cut++) {
      const read = decode(dialect, [bytes.subarray(0, cut), bytes.subarray(cut)]);
      // Compared as text: a full comparison at every byte of every transcript would take minutes.
      if (JSON.stringify(strip(read)) !== JSON.stringify(expected))
        expect([cut, strip(read)]).toEqual([cut, expected]);
    }
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        expect(JSON.stringify(strip(decode(dialect, split(bytes, cuts))))).toBe(JSON.stringify(expected));
      }),
      { numRuns: 30 },
    );
  });

  test.each(names)('is written as %s by its rules, and the stream and the whole agree', (target) => {
    const { streamEncoder, encodeAnswer } = dialects[target];
    const received = receive[target](encode(streamEncoder(options), events));
    if (!whole.ok) {
      expect(received.answer).toBeUndefined();
      expect(received.error).toMatchObject({ code: whole.error.code });
      return;
    }
    const answer = sent(encodeAnswer(whole.value, options).body);
    expect(received.answer).toEqual(target === 'chat' ? chatAsReceived(answer) : answer);
  });

  test.each(names)('a failure takes the place of its end, as %s', (target) => {
    const end = events.findIndex(({ type }) => type === 'message-end');
    if (end === -1) return expect(name in failures).toBe(true);
    const encoder = dialects[target].streamEncoder(options);
    const sent = encode(encoder, events.slice(0, end));
    encode(encoder, events.slice(end));
    const text = `${sent}${encoder.failInstead(fault('stream_error'))}`;
    expect(receive[target](text).error).toMatchObject({ code: 'stream_error' });
  });

  test.each(names)('survives the way through %s', (target) => {
    if (!whole.ok) return expect(name in failures).toBe(true);
    const { streamEncoder, encodeAnswer, decodeAnswer } = dialects[target];
    const streamed = collect(decode(target, [Buffer.from(encode(streamEncoder(options), events))]));
    const read = collect(decodeAnswer(sent(encodeAnswer(whole.value, options).body)).events);
    if (!streamed.ok || !read.ok) throw new Error('an answer became a failure');
    expect(comparable(streamed.value)).toEqual(comparable(read.value));
    expect(totalTokens(read.value.usage!)).toBe(totalTokens(whole.value.usage!));
  });
});
