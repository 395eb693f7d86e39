import { SeededRandom } from '../../test/system/seeded-random';
import { Findings, numberOption, runProof } from '../../test/system/findings';
import { type SupplierCaller, callers } from './callers';
import { formOf } from './recording-form';
import { eventsOf, meaningOf, answerTextIn, reportsFailure, reportsCompletion } from './response-meaning';
import { allRecordings, type SupplierRecording } from './recordings';
import { framedEvents, plain, serialise, type JsonSpelling, spellings, writtenEvents } from './spellings';
import {
  models,
  PATIENT_MS,
  QUICK_MS,
  type ReceivedResponse,
  type SupplierScript,
  SPEECH,
  SupplierTestbed,
} from './testbed';

interface CheckOutcome {
  readonly kind: string;
  readonly passed: boolean;
}

/** Rewrites every recording in every legal way and compares the client's response with that to the plain one. */
class SupplierProof {
  private readonly outcomes: CheckOutcome[] = [];
  private readonly freeRequestIds: string[] = [];
  /** Requests whose usage source must match that of the plain recording. */
  private readonly usagePairs: {
    readonly plain: string;
    readonly found: string;
    readonly what: RecordingCheckContext;
  }[] = [];
  private shownCount = 0;
  /** Id of the latest successful request. */
  private latest = '';

  constructor(
    private readonly testbed: SupplierTestbed,
    private readonly chance: SeededRandom,
    private readonly mixtures: number,
    private readonly borders: number,
  ) {}

  async run(recordings: readonly SupplierRecording[]): Promise<void> {
    for (const recording of recordings)
      for (const caller of callers)
        if (caller.wires.includes(recording.wire)) await this.compare(recording, caller);
    await this.compareSpeech();
    const sources = await this.testbed.usageSources(
      this.usagePairs.flatMap(({ plain: one, found }) => [one, found]),
    );
    for (const { plain: one, found, what } of this.usagePairs) {
      const [wanted, source] = [sources.get(one), sources.get(found)];
      const isSame = wanted !== undefined && wanted === source;
      this.record('where the usage came from', isSame, () => `${describe(what)}: ${source}, not ${wanted}`);
    }
    // Records are written in order: once this one is there, all earlier ones are.
    await this.testbed.usageSources([this.latest]);
    const chargedIds = await this.testbed.chargedAmong(this.freeRequestIds);
    for (const id of this.freeRequestIds)
      this.record('no answer is charged', !chargedIds.includes(id), () => id);
  }

  end(seed: number): void {
    const findings = new Findings('prove:suppliers');
    for (const [kind, all] of Map.groupBy(this.outcomes, (outcome) => outcome.kind))
      findings.addCases(kind, all.length, all.filter(({ passed: held }) => !held).length);
    process.stdout.write(`seed ${seed}\n`);
    findings.end();
  }

  private async compare(recording: SupplierRecording, caller: SupplierCaller): Promise<void> {
    if (recording.events === null && caller.streams === true) return;
    if (recording.events === null) await this.compareWhole(recording, caller);
    else await this.compareStream(recording, caller);
  }

  private async compareWhole(recording: SupplierRecording, caller: SupplierCaller): Promise<void> {
    const send = (spelling: JsonSpelling, before = '', after = ''): Promise<ReceivedResponse> =>
      this.request(recording, caller, false, {
        type: 'application/json',
        pieces: [Buffer.from(before + serialise(recording.body, spelling) + after)],
      });
    const first = await send(plain);
    const expected = { meaning: meaningOf(first, false), requestId: first.requestId };
    this.record(
      'plain whole answers are answers',
      first.status === 200,
      () => `${recording.name}: ${first.body}`,
    );
    const compareResponse = (response: ReceivedResponse, spelling: JsonSpelling): void => {
      const what = { recording, caller, spelling, stream: false };
      this.compareMeaning('whole answers spelled otherwise', response, expected, what);
    };
    for (const spelling of spellings(this.chance, this.mixtures))
      compareResponse(await send(spelling), spelling);
    compareResponse(await send(plain, ' \r\n', '\n\n'), plain);
    await this.rejectInvalidBodies(recording, caller);
  }

  /** Audio is binary: every byte arrives unchanged, however the stream was split. */
  private async compareSpeech(): Promise<void> {
    const audio = Buffer.from(Array.from({ length: 4_096 }, () => this.chance.integer(0, 255)));
    const send = (pieces: readonly Buffer[]): Promise<ReceivedResponse> =>
      this.testbed.send(
        '/v1/audio/speech',
        { model: SPEECH, input: 'Hello', voice: 'alloy' },
        { type: 'audio/mpeg', pieces },
      );
    for (let at = 1; at < audio.length; at += Math.ceil(audio.length / this.borders)) {
      const response = await send([audio.subarray(0, at), audio.subarray(at)]);
      const isSame = response.status === 200 && response.bytes.equals(audio);
      this.record('sound', isSame, () => `cut at ${at}: ${response.status}, ${response.bytes.length} bytes`);
    }
    const emptyResponse = await send([]);
    this.record(
      'whole answers that are none',
      emptyResponse.status >= 500,
      () => `no sound gave ${emptyResponse.status}`,
    );
    this.freeRequestIds.push(emptyResponse.requestId);
  }

  /** A status 200 without a valid response is neither forwarded nor charged. */
  private async rejectInvalidBodies(recording: SupplierRecording, caller: SupplierCaller): Promise<void> {
    const completeBody = serialise(recording.body, plain);
    const bodies: readonly [string, RegExp][] = [
      [
        serialise({ error: { message: 'down', type: 'server_error', status: 'INTERNAL' } }, plain),
        /upstream_unavailable|upstream_error/,
      ],
      [
        serialise({ error: { message: 'down' } }, { ...plain, colon: ' : ', escapes: 'names' }),
        /upstream_error/,
      ],
      ['{}', /upstream_invalid_response/],
      ['[]', /upstream_invalid_response/],
      ['', /empty_response/],
      [completeBody.slice(0, Math.floor(completeBody.length / 2)), /non_json_provider_response/],
    ];
    for (const [body, code] of bodies) {
      const response = await this.request(recording, caller, false, {
        type: 'application/json',
        pieces: body === '' ? [] : [Buffer.from(body)],
      });
      const passed = response.status >= 500 && code.test(response.body);
      this.record(
        'whole answers that are none',
        passed,
        () => `${recording.name} for ${caller.name}: ${body} gave ${response.status} ${response.body}`,
      );
      this.freeRequestIds.push(response.requestId);
      await this.recover(recording, caller, false);
    }
  }

  private async compareStream(recording: SupplierRecording, caller: SupplierCaller): Promise<void> {
    const first = await this.request(recording, caller, true, this.scriptOf(recording, plain), PATIENT_MS);
    const expected = { meaning: meaningOf(first, true), requestId: first.requestId };
    const passed = first.status === 200 && reportsCompletion(first.body) && !reportsFailure(first.body);
    this.record(
      'plain streams are answers',
      passed,
      () => `${recording.name} for ${caller.name}: ${first.status} ${first.body}`,
    );
    const [said, told] = [
      answerTextIn((recording.events ?? []).map(({ data }) => data)),
      answerTextIn(eventsOf(first.body)),
    ];
    this.record(
      'the words of plain streams',
      said === told,
      () => `${recording.name} for ${caller.name}: ${JSON.stringify({ said, told })}`,
    );
    for (const spelling of spellings(this.chance, this.mixtures)) {
      const script = this.scriptOf(recording, spelling);
      const due = (after: number): boolean => after === first.firstAfter;
      const response = await this.requestInTime(recording, caller, script, due);
      const what = { recording, caller, spelling, stream: true };
      this.compareMeaning('streams spelled otherwise', response, expected, what);
      this.record(
        'the first token in its time',
        due(response.firstAfter),
        () => `${describe(what)}: after ${response.firstAfter} pieces, not ${first.firstAfter}`,
      );
    }
    await this.compareBorders(recording, caller, first, expected);
    await this.proveBrokenStreams(recording, caller, first);
  }

  private async compareBorders(
    recording: SupplierRecording,
    caller: SupplierCaller,
    first: ReceivedResponse,
    expected: ExpectedMeaning,
  ): Promise<void> {
    const { type, pieces } = this.scriptOf(recording, plain);
    const bytes = Buffer.concat(pieces);
    const due = pieces.slice(0, first.firstAfter).reduce((sum, { length }) => sum + length, 0);
    const step = Math.max(1, Math.ceil(bytes.length / this.borders));
    const what = { recording, caller, spelling: plain, stream: true };
    for (let at = 1 + this.chance.integer(0, step - 1); at < bytes.length; at += step) {
      const splitPieces = [bytes.subarray(0, at), bytes.subarray(at)];
      const isInTime = (after: number): boolean => at === due - 1 || after === (at >= due ? 1 : 2);
      const response = await this.requestInTime(recording, caller, { type, pieces: splitPieces }, isInTime);
      this.compareMeaning('streams cut at a byte', response, expected, what);
      this.record(
        'the first token in its time',
        isInTime(response.firstAfter),
        () => `${describe(what)}: cut at ${at} of ${due}`,
      );
    }
    const singleBytes = Array.from(bytes, (byte) => Buffer.from([byte]));
    const bytewiseResponse = await this.request(recording, caller, true, { type, pieces: singleBytes });
    this.compareMeaning('streams cut at a byte', bytewiseResponse, expected, what);
  }

  /** Bytes after the end are dropped, half a stream never appears complete, and an error or an empty stream is free. */
  private async proveBrokenStreams(
    recording: SupplierRecording,
    caller: SupplierCaller,
    first: ReceivedResponse,
  ): Promise<void> {
    const { type, pieces } = this.scriptOf(recording, plain);
    const check = (kind: string, response: ReceivedResponse, passed: boolean): void =>
      this.record(
        kind,
        passed,
        () => `${recording.name} for ${caller.name}: ${response.status} ${response.body}`,
      );
    if (recording.wire !== 'gemini') {
      const more =
        recording.wire === 'bedrock'
          ? pieces.slice(1, 2)
          : [
              Buffer.from(
                'data: {"choices":[{"index":0,"delta":{"content":"LEAK"}}],"type":"x","delta":"LEAK"}\n\n',
              ),
            ];
      const response = await this.request(recording, caller, true, { type, pieces: [...pieces, ...more] });
      check(
        'streams with more after the end',
        response,
        meaningOf(response, true) === meaningOf(first, true),
      );
    }
    for (const count of [1, Math.ceil(pieces.length / 2), pieces.length - 2]) {
      const half = pieces.slice(0, Math.max(1, count));
      const response = await this.request(recording, caller, true, { type, pieces: half });
      const isComplete = response.status === 200 && reportsCompletion(response.body);
      // A supplier can omit its last event after reporting the stop reason.
      const canBeComplete = count === pieces.length - 2 || recording.wire === 'gemini';
      check('half a stream', response, isComplete ? canBeComplete : reportsFailure(response.body));
      if (response.status >= 500) this.freeRequestIds.push(response.requestId);
      await this.recover(recording, caller, true);
    }
    const error = Buffer.from(
      'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "down"}}\n\n',
    );
    for (const nothing of recording.wire === 'bedrock'
      ? [[]]
      : [[], [error], [Buffer.from('data: [DONE]\n\n')]]) {
      const response = await this.request(recording, caller, true, { type, pieces: nothing });
      check('streams without an answer', response, response.status >= 500);
      this.freeRequestIds.push(response.requestId);
      await this.recover(recording, caller, true);
    }
  }

  private scriptOf({ wire, events }: SupplierRecording, spelling: JsonSpelling): SupplierScript {
    if (wire === 'bedrock')
      return { type: 'application/vnd.amazon.eventstream', pieces: framedEvents(events ?? [], spelling) };
    return { type: 'text/event-stream', pieces: writtenEvents(events ?? [], spelling) };
  }

  /**
   * A busy machine delays the client; a stream whose first token arrives late is requested again with a longer timeout.
   */
  private async requestInTime(
    recording: SupplierRecording,
    caller: SupplierCaller,
    script: SupplierScript,
    isInTime: (after: number) => boolean,
  ): Promise<ReceivedResponse> {
    const response = await this.request(recording, caller, true, script, QUICK_MS);
    return isInTime(response.firstAfter)
      ? response
      : this.request(recording, caller, true, script, PATIENT_MS);
  }

  private request(
    recording: SupplierRecording,
    caller: SupplierCaller,
    stream: boolean,
    script: SupplierScript,
    patienceMs = 0,
  ): Promise<ReceivedResponse> {
    const { stream_options: options, ...body } = caller.body as Record<string, unknown>;
    const requestBody = {
      model: caller.model ?? models[recording.wire],
      ...(stream ? { stream } : {}),
      ...(stream && options ? { stream_options: options } : {}),
      ...body,
    };
    return this.testbed.send(
      caller.path,
      caller.sound === true ? formOf(requestBody) : requestBody,
      script,
      patienceMs,
    );
  }

  /** Sends two valid responses per invalid one, so that no circuit breaker opens. */
  private async recover(
    recording: SupplierRecording,
    caller: SupplierCaller,
    stream: boolean,
  ): Promise<void> {
    const script = stream
      ? this.scriptOf(recording, plain)
      : { type: 'application/json', pieces: [Buffer.from(serialise(recording.body, plain))] };
    for (let time = 0; time < 2; time += 1)
      this.latest = (await this.request(recording, caller, stream, script)).requestId;
  }

  private compareMeaning(
    kind: string,
    response: ReceivedResponse,
    expected: ExpectedMeaning,
    what: RecordingCheckContext,
  ): void {
    let difference: string;
    try {
      difference = meaningOf(response, what.stream);
    } catch (error) {
      difference = String(error);
    }
    const { meaning, requestId } = expected;
    this.usagePairs.push({ plain: requestId, found: response.requestId, what });
    this.record(
      kind,
      difference === meaning,
      () => `${describe(what)}\n  plain ${meaning}\n  found ${difference}`,
    );
  }

  private record(kind: string, passed: boolean, why: () => string): void {
    this.outcomes.push({ kind, passed });
    if (passed || (this.shownCount += 1) > 20) return;
    process.stdout.write(`FAILED  ${kind}: ${why().slice(0, 3_000)}\n`);
  }
}

interface ExpectedMeaning {
  readonly meaning: string;
  readonly requestId: string;
}

interface RecordingCheckContext {
  readonly recording: SupplierRecording;
  readonly caller: SupplierCaller;
  readonly spelling: JsonSpelling;
  readonly stream: boolean;
}

/** Enough information to reproduce the rewriting. */
const describe = ({ recording, caller, spelling }: RecordingCheckContext): string =>
  `${recording.name} from ${recording.wire} for ${caller.name}, as ${JSON.stringify(spelling)}`;

async function main(): Promise<void> {
  const seed = numberOption('seed', 19);
  const testbed = await SupplierTestbed.open();
  try {
    const proof = new SupplierProof(
      testbed,
      new SeededRandom(seed),
      numberOption('mixtures', 50),
      numberOption('borders', 60),
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
