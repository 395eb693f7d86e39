import fc from 'fast-check';
import { fault, totalTokens } from '../../../src/kernel';
import { type CanonicalEvent, collect, dialects } from '../../../src/protocol';
import { chatAsReceived, comparable } from './compare';
import { receive } from './conformance';
import { asReceived } from './convert';
import { answers, failures } from './expected-answers';
import { decode, encode, names, options, split, type Transcript, transcripts } from './transcripts';

const cases = transcripts.map(
  (transcript) => [`${transcript.dialect}/${transcript.name}`, transcript] as const,
);

const withoutIds = (events: readonly CanonicalEvent[]): unknown[] =>
  events.map((event) => (event.type === 'fault' ? { ...event, fault: event.fault.code } : event));

describe.each(cases)('Recorded stream %s', (name, { dialect, bytes }: Transcript) => {
  const events = decode(dialect, [bytes]);
  const complete = collect(events);

  test('decodes to the expected response', () => {
    if (name in failures) {
      expect(complete).toMatchObject({ ok: false, error: { code: failures[name] } });
      return;
    }
    expect(complete).toEqual({ ok: true, value: expect.objectContaining(answers[name]!) });
  });

  test('decodes the same for any split of its bytes', () => {
    const expected = withoutIds(events);
    const single = [...bytes].map((byte) => Buffer.from([byte]));
    expect(withoutIds(decode(dialect, single))).toEqual(expected);
    for (let cut = 1; cut < bytes.length; cut++) {
      const decoded = decode(dialect, [bytes.subarray(0, cut), bytes.subarray(cut)]);
      // Compared as text: a deep comparison at every byte of every transcript would take minutes.
      if (JSON.stringify(withoutIds(decoded)) !== JSON.stringify(expected))
        expect([cut, withoutIds(decoded)]).toEqual([cut, expected]);
    }
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        expect(JSON.stringify(withoutIds(decode(dialect, split(bytes, cuts))))).toBe(
          JSON.stringify(expected),
        );
      }),
      { numRuns: 30 },
    );
  });

  test.each(names)('is encoded as %s by its rules, and stream and complete response agree', (target) => {
    const { streamEncoder, encodeAnswer } = dialects[target];
    const received = receive[target](encode(streamEncoder(options), events));
    if (!complete.ok) {
      expect(received.answer).toBeUndefined();
      expect(received.error).toMatchObject({ code: complete.error.code });
      return;
    }
    const answer = asReceived(encodeAnswer(complete.value, options).body);
    expect(received.answer).toEqual(target === 'chat' ? chatAsReceived(answer) : answer);
  });

  test.each(names)('ends with a failure as %s if it fails', (target) => {
    const end = events.findIndex(({ type }) => type === 'message-end');
    if (end === -1) return expect(name in failures).toBe(true);
    const encoder = dialects[target].streamEncoder(options);
    const encoded = encode(encoder, events.slice(0, end));
    encode(encoder, events.slice(end));
    const text = `${encoded}${encoder.failInstead(fault('stream_error'))}`;
    expect(receive[target](text).error).toMatchObject({ code: 'stream_error' });
  });

  test.each(names)('survives a round trip through %s', (target) => {
    if (!complete.ok) return expect(name in failures).toBe(true);
    const { streamEncoder, encodeAnswer, decodeAnswer } = dialects[target];
    const streamed = collect(decode(target, [Buffer.from(encode(streamEncoder(options), events))]));
    const decoded = collect(decodeAnswer(asReceived(encodeAnswer(complete.value, options).body)).events);
    if (!streamed.ok || !decoded.ok) throw new Error('an answer became a failure');
    expect(comparable(streamed.value)).toEqual(comparable(decoded.value));
    expect(totalTokens(decoded.value.usage!)).toBe(totalTokens(complete.value.usage!));
  });
});
