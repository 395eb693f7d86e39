import fc from 'fast-check';
import { StreamEditor, type StreamEditorOptions } from '../../../src/gateway/relay/stream-editor';
import { dialects } from '../../../src/protocol';
import { eventsIn, type Spelling, spell, spellings } from '../../support/sse-spellings';
import { type Json, type Transcript, transcripts } from '../protocol/transcripts';

/**
 * A tap reads a stream the same however its supplier writes JSON and events, and wherever the bytes are cut.
 * Every recorded stream is written in every legal way and read.
 */

const plain: Spelling = {
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

interface Read {
  readonly outputBytes: number;
  readonly usage: unknown;
  readonly finishReason: string | null;
  readonly ended: boolean;
  readonly failure: string | null;
  /** The caller got these events as values; `kept` of them with the end. */
  readonly events: readonly unknown[];
  readonly kept: number;
  /** After which of the supplier's events something useful was there. */
  readonly useful: number;
}

const valuesOf = (text: string): unknown[] =>
  eventsIn(
    text
      .replaceAll('\r\n', '\n')
      .replaceAll('\r', '\n')
      .replace(/^\ufeff/, ''),
  ).map(({ data }) => (data.trim() === '[DONE]' ? '[DONE]' : (JSON.parse(data) as Json)));

/** Most cuts give the same text as the cut before them. */
function rememberingValues(): (text: string) => unknown[] {
  const last = { text: '', values: [] as unknown[] };
  return (text) => {
    if (last.text !== text) Object.assign(last, { text, values: valuesOf(text) });
    return last.values;
  };
}
const valuesPassed = rememberingValues();
const valuesKept = rememberingValues();

/** One piece an event, so that the moment something is released can be told. */
function readWhole(transcript: Transcript, how: Spelling): Read {
  const tap = new StreamEditor(optionsOf(transcript));
  const passed: Buffer[] = [];
  let useful = -1;
  spell(eventsIn(transcript.bytes.toString()), how).forEach((event, index) => {
    passed.push(tap.take(event));
    if (useful === -1 && tap.useful) useful = index;
  });
  return { ...resultOf(tap, Buffer.concat(passed)), useful };
}

function readCut(transcript: Transcript, bytes: Buffer, cuts: readonly number[]): Omit<Read, 'useful'> {
  const tap = new StreamEditor(optionsOf(transcript));
  const passed: Buffer[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    if (cut > from) passed.push(tap.take(bytes.subarray(from, cut)));
    from = Math.max(from, cut);
  }
  return resultOf(tap, Buffer.concat(passed));
}

function resultOf(tap: StreamEditor, passed: Buffer): Omit<Read, 'useful'> {
  tap.end();
  const kept = tap.ended ? valuesKept(tap.takeLast().toString()) : [];
  const { outputBytes, usage, finishReason } = tap.watcher;
  return {
    outputBytes,
    usage,
    finishReason,
    ended: tap.ended,
    failure: tap.failure?.code ?? null,
    events: [...valuesPassed(passed.toString()), ...kept],
    kept: kept.length,
  };
}

/** Most events of the recordings are shorter, so that they are cut once at most. */
const CUT_DISTANCE = 257;

/** With every first cut in turn, each byte of a stream is cut at once. */
const cutsFrom = (first: number, length: number): number[] =>
  Array.from(
    { length: Math.ceil((length - first) / CUT_DISTANCE) },
    (_cut, place) => first + place * CUT_DISTANCE,
  );

const cases = transcripts.map(
  (transcript) => [`${transcript.dialect}/${transcript.name}`, transcript] as const,
);

describe.each(cases)('%s', (_name, transcript) => {
  const expected = readWhole(transcript, plain);

  test('says the same in every spelling, at the same moment', () => {
    fc.assert(
      fc.property(spellings, (how) => {
        expect(readWhole(transcript, how)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('says the same wherever it is cut', () => {
    const { useful: _useful, ...rest } = expected;
    fc.assert(
      fc.property(spellings, (how) => {
        const bytes = Buffer.concat(spell(eventsIn(transcript.bytes.toString()), how));
        const single = Array.from(bytes, (_byte, at) => at);
        expect(readCut(transcript, bytes, single)).toEqual(rest);
      }),
      { numRuns: 5 },
    );
    const bytes = Buffer.concat(
      spell(eventsIn(transcript.bytes.toString()), { ...plain, lineEnd: '\r\n', indent: 2 }),
    );
    const text = JSON.stringify(rest);
    for (let first = 0; first < CUT_DISTANCE; first += 1) {
      const read = readCut(transcript, bytes, cutsFrom(first, bytes.length));
      // Compared as text: a full comparison of every stream for every cut would take minutes.
      if (JSON.stringify(read) !== text) expect([first, read]).toEqual([first, rest]);
    }
  });

  test('carries our name of the model, wherever there is one', () => {
    const named = expected.events.filter((event) => JSON.stringify(event).includes('"model"'));
    for (const event of named) expect(JSON.stringify(event)).toContain('"model":"our-model"');
  });
});
