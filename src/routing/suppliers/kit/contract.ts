import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import type { Credential, LaneView, ProviderView } from '../../../catalogue';
import { Fault, parseJsonText, printedJsonObject } from '../../../kernel';
import { type ErrorMeaning, UNKNOWN_FACTS } from '../../../vendors';
import { judgeErrorResponse } from './judge';
import type { OperationName } from './operations';
import { steeringFields } from './steering';
import type { StyleCall, PreparedStyleCall, CoreStyle } from './style';

export interface ContractRunner {
  readonly describe: (name: string, work: () => void) => unknown;
  readonly test: (name: string, work: () => Promise<void>) => unknown;
}

export interface ContractFixtures {
  readonly baseUrl: string;
  readonly settings?: ProviderView['settings'];
  readonly credential: Credential | null;
  /** How the credential appears in the request headers. */
  readonly authorisation: Readonly<Record<string, string | RegExp>>;
  readonly calls: readonly {
    readonly operation: OperationName;
    readonly body: Readonly<Record<string, unknown>>;
    readonly stream?: boolean;
    readonly path: string;
    readonly modelIn: 'body' | 'path';
  }[];
  readonly errors: readonly {
    readonly status: number;
    readonly body: string | object;
    readonly headers?: Readonly<Record<string, string>>;
    readonly kind: ErrorMeaning;
  }[];
  /** A recorded stream in the supplier's framing, and the events it contains. */
  readonly framed?: { readonly bytes: Buffer; readonly events: string };
  readonly exchange?: (call: StyleCall, prepared: PreparedStyleCall) => Promise<void>;
}

const UPSTREAM = 'model-upstream';
const GATEWAY_KEY = 'svc_canary-of-the-gateway-key';

export function describeSupplierContract(
  style: CoreStyle,
  fixtures: ContractFixtures,
  runner: ContractRunner,
): void {
  const test = (name: string, work: () => void | Promise<void>): void =>
    void runner.test(name, async () => {
      await work();
    });
  const lane = laneOf(style, fixtures);
  const callOf = (fixture: ContractFixtures['calls'][number]): StyleCall =>
    outgoing(style, lane, fixtures, fixture);

  runner.describe(`the style ${style.name}`, () => {
    test('says which operations it serves, and every one of them has a fixture', () => {
      const served = Object.keys(style.operations(lane.provider)).sort();
      deepStrictEqual([...new Set(fixtures.calls.map(({ operation }) => operation))].sort(), served);
    });

    for (const fixture of fixtures.calls) {
      const title = `${fixture.operation}${fixture.stream ? ', streamed' : ''}`;
      test(`${title}: address, secret and model`, () => {
        const before = JSON.stringify(fixture.body);
        const prepared = style.prepare(callOf(fixture));
        strictEqual(prepared.url.href, new URL(fixture.path, fixtures.baseUrl).href);
        checkHeaders(prepared, fixtures);
        const body = parseJsonText(prepared.body.toString()) as Record<string, unknown>;
        if (fixture.modelIn === 'body') strictEqual(body.model, UPSTREAM);
        else ok(prepared.url.pathname.includes(encodeURIComponent(UPSTREAM)));
        strictEqual(JSON.stringify(fixture.body), before, "the caller's body is not written to");
      });

      test(`${title}: says the same for the same`, () => {
        const [one, two] = [style.prepare(callOf(fixture)), style.prepare(callOf(fixture))];
        deepStrictEqual(one, two);
      });

      test(`${title}: nothing steers it, nothing of the gateway leaks`, () =>
        checkSteering(style, callOf(fixture)));

      const { exchange } = fixtures;
      if (exchange)
        test(`${title}: a supplier answers`, () => exchange(callOf(fixture), style.prepare(callOf(fixture))));
    }

    for (const { status, body, headers = {}, kind } of fixtures.errors) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      test(`an error of ${status} ${text.slice(0, 90)} is ${kind}`, () => {
        strictEqual(judgeErrorResponse(style, { status, headers, body: Buffer.from(text) }).kind, kind);
      });
    }

    const { framed } = fixtures;
    if (framed)
      test('a wrapped stream, split at every byte, unwraps the same', () => checkFrames(style, framed));
  });
}

function laneOf(style: CoreStyle, { baseUrl, settings = {} }: ContractFixtures): LaneView {
  const provider = { id: 1, name: 'contract', style: style.name, baseUrl, settings };
  return {
    id: 1,
    provider: { ...provider, regions: [], visible: true, timeouts: {}, breaker: {} },
    upstreamModel: UPSTREAM,
    region: 'eu',
    priority: 0,
    weight: 1,
    retries: 0,
    facts: UNKNOWN_FACTS,
    wire: null,
  };
}

function outgoing(
  style: CoreStyle,
  lane: LaneView,
  { credential }: ContractFixtures,
  { operation, body, stream = false }: ContractFixtures['calls'][number],
): StyleCall {
  return {
    operation,
    wire: style.operations(lane.provider)[operation] ?? 'chat',
    lane,
    credential,
    body: { kind: 'json', text: printedJsonObject(body) },
    stream,
    headers: {
      authorization: `Bearer ${GATEWAY_KEY}`,
      'x-api-key': GATEWAY_KEY,
      cookie: `session=${GATEWAY_KEY}`,
      host: 'gateway.example',
      'x-svc-region': 'eu',
      'x-forwarded-for': '203.0.113.9',
      'x-custom': 'of-the-caller',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    sessionKey: 'session-of-the-caller',
    now: () => new Date('2026-01-02T03:04:05Z'),
  };
}

function checkHeaders({ headers, body }: PreparedStyleCall, { authorisation }: ContractFixtures): void {
  for (const [name, expected] of Object.entries(authorisation)) {
    const value = headers[name] ?? '';
    if (typeof expected === 'string') strictEqual(value, expected);
    else ok(expected.test(value), `${name}: ${value}`);
  }
  if (!('authorization' in authorisation)) strictEqual(headers.authorization, undefined);
  strictEqual(headers['content-length'], String(body.length));
  ok(headers.traceparent, 'tracing goes on');
  for (const name of Object.keys(headers)) strictEqual(name, name.toLowerCase());
}

function checkSteering(style: CoreStyle, call: StyleCall): void {
  if (call.body.kind !== 'json') return;
  const steeringMembers = Object.fromEntries(
    [...steeringFields, 'x-svc-region'].map((name) => [name, `${name}-canary`]),
  );
  const text = printedJsonObject({ ...steeringMembers, ...call.body.text.body });
  const prepared = style.prepare({ ...call, body: { kind: 'json', text } });
  const sent = [prepared.url.href, ...Object.entries(prepared.headers).flat(), prepared.body.toString()].join(
    '\n',
  );
  for (const canary of ['-canary', GATEWAY_KEY, 'of-the-caller', '203.0.113.9', 'gateway.example']) {
    ok(!sent.includes(canary), `${canary} was sent`);
  }
  const counted = new Set(prepared.dropped.map(({ path }) => path));
  for (const name of Object.keys(steeringMembers))
    ok(counted.has(name), `${name} was taken out and not counted`);
}

function checkFrames(style: CoreStyle, { bytes, events }: NonNullable<ContractFixtures['framed']>): void {
  for (let at = 1; at <= bytes.length; at += 1) {
    const unframer = style.unframer?.();
    ok(unframer, 'the style unwraps streams');
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)].map((piece) => unframer.push(piece));
    const text = pieces.map((piece) => (piece instanceof Fault ? piece.message : piece.toString())).join('');
    strictEqual(text, events);
    strictEqual(unframer.end(), undefined);
  }
}
