import fc from 'fast-check';
import { StreamEditor, type StreamEditorOptions } from '../../../src/gateway/relay/stream-editor';
import { dialects } from '../../../src/protocol';
import { parseEvents, type Spelling, spell, spellings } from '../../support/sse-spellings';
import { type Json, type Transcript, transcripts } from '../protocol/transcripts';

/**
 * A tap must read a stream the same in any JSON and event spelling and for any cut. Every recorded stream is written in
 * every legal spelling and read back.
 */

const plainSpelling: Spelling = {
  indent: 0,
  space: false,
  reversed: false,
  escaped: false,
  lineEnd: '\n',
  gap: ' ',
  trailing: '',
  commented: false,
  fields: false,
  mark: false,
};

const optionsOf = ({ dialect }: Transcript): StreamEditorOptions => ({
  dialect: dialects[dialect],
  hidesUsage: false,
  manyAnswers: false,
  keepsFailure: () => false,
  model: 'our-model',
  facts: () => ({ cost_usd: '0.1' }),
});

interface StreamReading {
  readonly outputBytes: number;
  readonly usage: unknown;
  readonly finishReason: string | null;
  readonly ended: boolean;
  readonly failure: string | null;
  /** Values of the events that the client received; the last `kept` of them came at the end. */
  readonly events: readonly unknown[];
  readonly kept: number;
  /** Index of the supplier event after which the stream was useful. */
  readonly useful: number;
}

const valuesOf = (text: string): unknown[] =>
  parseEvents(
    text
      .replaceAll('\r\n', '\n')
      .replaceAll('\r', '\n')
      .replace(/^\ufeff/, ''),
  ).map(({ data }) => (data.trim() === '[DONE]' ? '[DONE]' : (JSON.parse(data) as Json)));

/** Caches the last result, because most cuts give the same text as the previous one. */
function cachedValuesOf(): (text: string) => unknown[] {
  const lastResult = { text: '', values: [] as unknown[] };
  return (text) => {
    if (lastResult.text !== text) Object.assign(lastResult, { text, values: valuesOf(text) });
    return lastResult.values;
  };
}
const valuesPassed = cachedValuesOf();
const valuesKept = cachedValuesOf();

/** Reads one piece per event, so that the moment of each release is known. */
function readByEvent(transcript: Transcript, how: Spelling): StreamReading {
  const tap = new StreamEditor(optionsOf(transcript));
  const outputs: Buffer[] = [];
  let usefulAt = -1;
  spell(parseEvents(transcript.bytes.toString()), how).forEach((event, index) => {
    outputs.push(tap.take(event));
    if (usefulAt === -1 && tap.useful) usefulAt = index;
  });
  return { ...resultOf(tap, Buffer.concat(outputs)), useful: usefulAt };
}

function readCut(
  transcript: Transcript,
  bytes: Buffer,
  cuts: readonly number[],
): Omit<StreamReading, 'useful'> {
  const tap = new StreamEditor(optionsOf(transcript));
  const outputs: Buffer[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    if (cut > from) outputs.push(tap.take(bytes.subarray(from, cut)));
    from = Math.max(from, cut);
  }
  return resultOf(tap, Buffer.concat(outputs));
}

function resultOf(tap: StreamEditor, passed: Buffer): Omit<StreamReading, 'useful'> {
  tap.end();
  const lastEvents = tap.ended ? valuesKept(tap.takeLast().toString()) : [];
  const { outputBytes, usage, finishReason } = tap.watcher;
  return {
    outputBytes,
    usage,
    finishReason,
    ended: tap.ended,
    failure: tap.failure?.code ?? null,
    events: [...valuesPassed(passed.toString()), ...lastEvents],
    kept: lastEvents.length,
  };
}

/** Most recorded events are shorter, so they are cut at most once. */
const CUT_DISTANCE = 257;

/** Over all first cuts, a stream is cut at every byte. */
const cutsFrom = (first: number, length: number): number[] =>
  Array.from(
    { length: Math.ceil((length - first) / CUT_DISTANCE) },
    (_cut, place) => first + place * CUT_DISTANCE,
  );

const cases = transcripts.map(
  (transcript) => [`${transcript.dialect}/${transcript.name}`, transcript] as const,
);

describe.each(cases)('Recorded stream %s', (_name, transcript) => {
  const expected = readByEvent(transcript, plainSpelling);

  test('reads the same in every spelling and is released at the same moment', () => {
    fc.assert(
      fc.property(spellings, (how) => {
        expect(readByEvent(transcript, how)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('reads the same wherever it is cut', () => {
    const { useful: _useful, ...rest } = expected;
    fc.assert(
      fc.property(spellings, (how) => {
        const bytes = Buffer.concat(spell(parseEvents(transcript.bytes.toString()), how));
        const single = Array.from(bytes, (_byte, at) => at);
        expect(readCut(transcript, bytes, single)).toEqual(rest);
      }),
      { numRuns: 5 },
    );
    const bytes = Buffer.concat(
      spell(parseEvents(transcript.bytes.toString()), { ...plainSpelling, lineEnd: '\r\n', indent: 2 }),
    );
    const text = JSON.stringify(rest);
    for (let first = 0; first < CUT_DISTANCE; first += 1) {
      const reading = readCut(transcript, bytes, cutsFrom(first, bytes.length));
      // Compared as text first: a deep comparison for every cut would take minutes.
      if (JSON.stringify(reading) !== text) expect([first, reading]).toEqual([first, rest]);
    }
  });

  test("carries the gateway's name of the model in every event that names one", () => {
    const eventsWithModel = expected.events.filter((event) => JSON.stringify(event).includes('"model"'));
    for (const event of eventsWithModel) expect(JSON.stringify(event)).toContain('"model":"our-model"');
  });
});
