import { Chance } from '../../test/system/chance';
import { Findings, numberGiven, runProof } from '../../test/system/findings';
import { type Caller, callers } from './callers';
import { formOf } from './form';
import { eventsOf, meaningOf, answerTextIn, saysFailed, saysWhole } from './reading';
import { allRecordings, type Recording } from './recordings';
import { framedEvents, plain, spelled, type Spelling, spellings, writtenEvents } from './spellings';
import { models, PATIENT_MS, QUICK_MS, type Received, type Script, SPEECH, Testbed } from './testbed';

interface Outcome {
  readonly kind: string;
  readonly held: boolean;
}

/** Rewrites every recording in every legal way and compares what the caller gets with what the plain one gives. */
class Proof {
  private readonly outcomes: Outcome[] = [];
  private readonly free: string[] = [];
  /** Requests whose usage is to have come from where it came for the plain one. */
  private readonly alike: { readonly plain: string; readonly found: string; readonly what: What }[] = [];
  private shown = 0;
  /** The good answer that was asked for last. */
  private latest = '';

  constructor(
    private readonly testbed: Testbed,
    private readonly chance: Chance,
    private readonly mixtures: number,
    private readonly borders: number,
  ) {}

  async run(recordings: readonly Recording[]): Promise<void> {
    for (const recording of recordings)
      for (const caller of callers)
        if (caller.wires.includes(recording.wire)) await this.compare(recording, caller);
    await this.speak();
    const sources = await this.testbed.sources(this.alike.flatMap(({ plain: one, found }) => [one, found]));
    for (const { plain: one, found, what } of this.alike) {
      const [wanted, source] = [sources.get(one), sources.get(found)];
      const isSame = wanted !== undefined && wanted === source;
      this.note('where the usage came from', isSame, () => `${describe(what)}: ${source}, not ${wanted}`);
    }
    // Records are written in order: with this one there, those before it are.
    await this.testbed.sources([this.latest]);
    const charged = await this.testbed.charged(this.free);
    for (const id of this.free) this.note('no answer is charged', !charged.includes(id), () => id);
  }

  end(seed: number): void {
    const findings = new Findings('prove:suppliers');
    for (const [kind, all] of Map.groupBy(this.outcomes, (outcome) => outcome.kind))
      findings.many(kind, all.length, all.filter(({ held }) => !held).length);
    process.stdout.write(`seed ${seed}\n`);
    findings.end();
  }

  private async compare(recording: Recording, caller: Caller): Promise<void> {
    if (recording.events === null && caller.streams === true) return;
    if (recording.events === null) await this.compareWhole(recording, caller);
    else await this.compareStream(recording, caller);
  }

  private async compareWhole(recording: Recording, caller: Caller): Promise<void> {
    const ask = (spelling: Spelling, before = '', after = ''): Promise<Received> =>
      this.ask(recording, caller, false, {
        type: 'application/json',
        pieces: [Buffer.from(before + spelled(recording.body, spelling) + after)],
      });
    const first = await ask(plain);
    const expected = { meaning: meaningOf(first, false), requestId: first.requestId };
    this.note(
      'plain whole answers are answers',
      first.status === 200,
      () => `${recording.name}: ${first.body}`,
    );
    for (const spelling of spellings(this.chance, this.mixtures)) {
      const heard = await ask(spelling);
      this.same('whole answers spelled otherwise', heard, expected, {
        recording,
        caller,
        spelling,
        stream: false,
      });
    }
    const spaced = await ask(plain, ' \r\n', '\n\n');
    this.same('whole answers spelled otherwise', spaced, expected, {
      recording,
      caller,
      spelling: plain,
      stream: false,
    });
    await this.noAnswers(recording, caller);
  }

  /** Sound is no text: every byte arrives as it was, however it was cut. */
  private async speak(): Promise<void> {
    const sound = Buffer.from(Array.from({ length: 4_096 }, () => this.chance.whole(0, 255)));
    const ask = (pieces: readonly Buffer[]): Promise<Received> =>
      this.testbed.ask(
        '/v1/audio/speech',
        { model: SPEECH, input: 'Hello', voice: 'alloy' },
        { type: 'audio/mpeg', pieces },
      );
    for (let at = 1; at < sound.length; at += Math.ceil(sound.length / this.borders)) {
      const heard = await ask([sound.subarray(0, at), sound.subarray(at)]);
      const isSame = heard.status === 200 && heard.bytes.equals(sound);
      this.note('sound', isSame, () => `cut at ${at}: ${heard.status}, ${heard.bytes.length} bytes`);
    }
    const nothing = await ask([]);
    this.note('whole answers that are none', nothing.status >= 500, () => `no sound gave ${nothing.status}`);
    this.free.push(nothing.requestId);
  }

  /** A 200 that is no answer: never passed on, never charged. */
  private async noAnswers(recording: Recording, caller: Caller): Promise<void> {
    const whole = spelled(recording.body, plain);
    const bodies: readonly [string, RegExp][] = [
      [
        spelled({ error: { message: 'down', type: 'server_error', status: 'INTERNAL' } }, plain),
        /upstream_unavailable|upstream_error/,
      ],
      [
        spelled({ error: { message: 'down' } }, { ...plain, colon: ' : ', escapes: 'names' }),
        /upstream_error/,
      ],
      ['{}', /upstream_invalid_response/],
      ['[]', /upstream_invalid_response/],
      ['', /empty_response/],
      [whole.slice(0, Math.floor(whole.length / 2)), /non_json_provider_response/],
    ];
    for (const [body, code] of bodies) {
      const heard = await this.ask(recording, caller, false, {
        type: 'application/json',
        pieces: body === '' ? [] : [Buffer.from(body)],
      });
      const held = heard.status >= 500 && code.test(heard.body);
      this.note(
        'whole answers that are none',
        held,
        () => `${recording.name} for ${caller.name}: ${body} gave ${heard.status} ${heard.body}`,
      );
      this.free.push(heard.requestId);
      await this.recover(recording, caller, false);
    }
  }

  private async compareStream(recording: Recording, caller: Caller): Promise<void> {
    const first = await this.ask(recording, caller, true, this.scriptOf(recording, plain), PATIENT_MS);
    const expected = { meaning: meaningOf(first, true), requestId: first.requestId };
    const held = first.status === 200 && saysWhole(first.body) && !saysFailed(first.body);
    this.note(
      'plain streams are answers',
      held,
      () => `${recording.name} for ${caller.name}: ${first.status} ${first.body}`,
    );
    const [said, told] = [
      answerTextIn((recording.events ?? []).map(({ data }) => data)),
      answerTextIn(eventsOf(first.body)),
    ];
    this.note(
      'the words of plain streams',
      said === told,
      () => `${recording.name} for ${caller.name}: ${JSON.stringify({ said, told })}`,
    );
    for (const spelling of spellings(this.chance, this.mixtures)) {
      const script = this.scriptOf(recording, spelling);
      const due = (after: number): boolean => after === first.firstAfter;
      const heard = await this.askInTime(recording, caller, script, due);
      const what = { recording, caller, spelling, stream: true };
      this.same('streams spelled otherwise', heard, expected, what);
      this.note(
        'the first token in its time',
        due(heard.firstAfter),
        () => `${describe(what)}: after ${heard.firstAfter} pieces, not ${first.firstAfter}`,
      );
    }
    await this.compareBorders(recording, caller, first, expected);
    await this.broken(recording, caller, first);
  }

  private async compareBorders(
    recording: Recording,
    caller: Caller,
    first: Received,
    expected: Expected,
  ): Promise<void> {
    const { type, pieces } = this.scriptOf(recording, plain);
    const bytes = Buffer.concat(pieces);
    const due = pieces.slice(0, first.firstAfter).reduce((sum, { length }) => sum + length, 0);
    const step = Math.max(1, Math.ceil(bytes.length / this.borders));
    for (let at = 1 + this.chance.whole(0, step - 1); at < bytes.length; at += step) {
      const cut = [bytes.subarray(0, at), bytes.subarray(at)];
      const isInTime = (after: number): boolean => at === due - 1 || after === (at >= due ? 1 : 2);
      const heard = await this.askInTime(recording, caller, { type, pieces: cut }, isInTime);
      const what = { recording, caller, spelling: plain, stream: true };
      this.same('streams cut at a byte', heard, expected, what);
      this.note(
        'the first token in its time',
        isInTime(heard.firstAfter),
        () => `${describe(what)}: cut at ${at} of ${due}`,
      );
    }
    const single = Array.from(bytes, (byte) => Buffer.from([byte]));
    const slowly = await this.ask(recording, caller, true, { type, pieces: single });
    this.same('streams cut at a byte', slowly, expected, {
      recording,
      caller,
      spelling: plain,
      stream: true,
    });
  }

  /** Bytes after the end are dropped; half a stream never looks whole; an error or nothing is free. */
  private async broken(recording: Recording, caller: Caller, first: Received): Promise<void> {
    const { type, pieces } = this.scriptOf(recording, plain);
    const say = (kind: string, heard: Received, held: boolean): void =>
      this.note(kind, held, () => `${recording.name} for ${caller.name}: ${heard.status} ${heard.body}`);
    if (recording.wire !== 'gemini') {
      const more =
        recording.wire === 'bedrock'
          ? pieces.slice(1, 2)
          : [
              Buffer.from(
                'data: {"choices":[{"index":0,"delta":{"content":"LEAK"}}],"type":"x","delta":"LEAK"}\n\n',
              ),
            ];
      const heard = await this.ask(recording, caller, true, { type, pieces: [...pieces, ...more] });
      say('streams with more after the end', heard, meaningOf(heard, true) === meaningOf(first, true));
    }
    for (const count of [1, Math.ceil(pieces.length / 2), pieces.length - 2]) {
      const half = pieces.slice(0, Math.max(1, count));
      const heard = await this.ask(recording, caller, true, { type, pieces: half });
      const isWhole = heard.status === 200 && saysWhole(heard.body);
      // A supplier may leave out its last event when it has said why it stopped.
      const mayBeWhole = count === pieces.length - 2 || recording.wire === 'gemini';
      say('half a stream', heard, isWhole ? mayBeWhole : saysFailed(heard.body));
      if (heard.status >= 500) this.free.push(heard.requestId);
      await this.recover(recording, caller, true);
    }
    const error = Buffer.from(
      'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "down"}}\n\n',
    );
    for (const nothing of recording.wire === 'bedrock'
      ? [[]]
      : [[], [error], [Buffer.from('data: [DONE]\n\n')]]) {
      const heard = await this.ask(recording, caller, true, { type, pieces: nothing });
      say('streams without an answer', heard, heard.status >= 500);
      this.free.push(heard.requestId);
      await this.recover(recording, caller, true);
    }
  }

  private scriptOf({ wire, events }: Recording, spelling: Spelling): Script {
    if (wire === 'bedrock')
      return { type: 'application/vnd.amazon.eventstream', pieces: framedEvents(events ?? [], spelling) };
    return { type: 'text/event-stream', pieces: writtenEvents(events ?? [], spelling) };
  }

  /** A busy machine delays the caller; a stream whose first token comes late is asked for again with more patience. */
  private async askInTime(
    recording: Recording,
    caller: Caller,
    script: Script,
    isInTime: (after: number) => boolean,
  ): Promise<Received> {
    const heard = await this.ask(recording, caller, true, script, QUICK_MS);
    return isInTime(heard.firstAfter) ? heard : this.ask(recording, caller, true, script, PATIENT_MS);
  }

  private ask(
    recording: Recording,
    caller: Caller,
    stream: boolean,
    script: Script,
    patienceMs = 0,
  ): Promise<Received> {
    const { stream_options: options, ...body } = caller.body as Record<string, unknown>;
    const asked = {
      model: caller.model ?? models[recording.wire],
      ...(stream ? { stream } : {}),
      ...(stream && options ? { stream_options: options } : {}),
      ...body,
    };
    return this.testbed.ask(caller.path, caller.sound === true ? formOf(asked) : asked, script, patienceMs);
  }

  /** So that no lane rests: two good answers for every bad one. */
  private async recover(recording: Recording, caller: Caller, stream: boolean): Promise<void> {
    const script = stream
      ? this.scriptOf(recording, plain)
      : { type: 'application/json', pieces: [Buffer.from(spelled(recording.body, plain))] };
    for (let time = 0; time < 2; time += 1)
      this.latest = (await this.ask(recording, caller, stream, script)).requestId;
  }

  private same(kind: string, heard: Received, expected: Expected, what: What): void {
    let found: string;
    try {
      found = meaningOf(heard, what.stream);
    } catch (error) {
      found = String(error);
    }
    const { meaning, requestId } = expected;
    this.alike.push({ plain: requestId, found: heard.requestId, what });
    this.note(kind, found === meaning, () => `${describe(what)}\n  plain ${meaning}\n  found ${found}`);
  }

  private note(kind: string, held: boolean, why: () => string): void {
    this.outcomes.push({ kind, held });
    if (held || (this.shown += 1) > 20) return;
    process.stdout.write(`FAILED  ${kind}: ${why().slice(0, 3_000)}\n`);
  }
}

interface Expected {
  readonly meaning: string;
  readonly requestId: string;
}

interface What {
  readonly recording: Recording;
  readonly caller: Caller;
  readonly spelling: Spelling;
  readonly stream: boolean;
}

/** Enough to write the same again. */
const describe = ({ recording, caller, spelling }: What): string =>
  `${recording.name} from ${recording.wire} for ${caller.name}, as ${JSON.stringify(spelling)}`;

async function main(): Promise<void> {
  const seed = numberGiven('seed', 19);
  const testbed = await Testbed.open();
  try {
    const proof = new Proof(
      testbed,
      new Chance(seed),
      numberGiven('mixtures', 50),
      numberGiven('borders', 60),
    );
    const recordings = allRecordings();
    process.stdout.write(`${recordings.length} recordings, ${callers.length} kinds of callers\n`);
    await proof.run(recordings);
    proof.end(seed);
  } finally {
    await testbed.close();
  }
}

runProof(main);
