import {
  CatalogueEditor,
  CatalogueService,
  CredentialEditor,
  PriceService,
  type ProviderInput,
} from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { type FaultRule, type Simulator, startSimulator } from '../../support/simulator';

type FailoverDialect = 'chat' | 'messages' | 'responses';

interface FailoverRecord {
  readonly status: number;
  readonly code: string | null;
  readonly supplier: string;
  readonly failover: boolean;
  readonly cost_nano: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly attempts: readonly { readonly supplier: string; readonly outcome: string }[] | null;
}

/** Parts of an event that the tests read, in any dialect. */
interface FailoverStreamEvent {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string;
      readonly tool_calls?: readonly { readonly function?: { readonly arguments?: string } }[];
    };
  }[];
  readonly delta?: string | { readonly text?: string };
}

const usd = parseUsdPerMillion;

/** Every model has two suppliers. The second costs twice as much, so that the cost shows which one was paid. */
describe('Failover', () => {
  let app: TestApp;
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({
      lanes: [
        { name: 'first', region: 'eu' },
        { name: 'second', region: 'eu' },
      ],
    });
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  });
  afterEach(async () => {
    await simulator.clearFaults();
    await simulator.clearRequests();
  });
  afterAll(async () => {
    await app.close();
    await simulator.stop();
  });

  const pairs = {
    'both-chat': ['openai-style', 'openai-style'],
    'both-messages': ['messages-style', 'messages-style'],
    mixed: ['openai-style', 'messages-style'],
  } as const;
  let modelCount = 0;

  /** Creates a model per test, so that lane health is not shared. */
  async function createModel(
    pair: keyof typeof pairs,
    upstreamModel = 'sim-large',
    timeouts: ProviderInput['timeouts'] = {},
  ): Promise<string> {
    const name = `${pair}-${(modelCount += 1)}`;
    const editor = new CatalogueEditor();
    const credentials = app.application.get(CredentialEditor, { strict: false });
    await app.database.transaction(async (tx) => {
      await editor.upsertModel(tx, { name, kind: 'chat', ownedBy: 'test', maxOutputTokens: 8_000 });
      const lanes = [];
      for (const [priority, style] of pairs[pair].entries()) {
        const lane = priority === 0 ? 'first' : 'second';
        const { url: baseUrl } = simulator.lanes.find(({ name: each }) => each === lane)!;
        const provider = `${name}-${lane}`;
        const { id: providerId } = await editor.upsertProvider(tx, {
          name: provider,
          style,
          baseUrl,
          // The lane that has to answer gets no timeouts.
          timeouts: priority === 0 ? timeouts : {},
        });
        const kind = style === 'messages-style' ? 'header' : 'bearer';
        await credentials.put(tx, { providerId, label: 'test', kind, secret: 'sim-test' });
        lanes.push({ provider, upstreamModel, region: 'eu', priority });
      }
      await editor.setLanes(tx, name, lanes);
      const rows = await tx.query<{ id: number }[]>(
        'SELECT l.id FROM lane l JOIN model m ON m.id = l.model_id WHERE m.name = $1 ORDER BY priority',
        [name],
      );
      for (const [index, { id: laneId }] of rows.entries()) {
        const price = usd(String(index + 1));
        const rates = priceRates({ input: price, output: price });
        await new PriceService().addPrice(tx, { model: name, laneId, source: 'test', rates });
      }
    });
    await app.application.get(CatalogueService).reload();
    return name;
  }

  const addFault = (fault: FaultRule['fault'], lane = 'first', times?: number): Promise<number> =>
    simulator.addFault({ match: { lane }, fault, ...(times === undefined ? {} : { times }) });

  const sendRequest = (
    dialect: FailoverDialect,
    model: string,
    text: string,
    extra: object = {},
  ): Promise<Response> => {
    const messages = [{ role: 'user', content: text }];
    const [path, body] =
      dialect === 'responses'
        ? ['/v1/responses', { input: messages }]
        : dialect === 'messages'
          ? ['/v1/messages', { messages, max_tokens: 500 }]
          : ['/v1/chat/completions', { messages }];
    return fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body, ...extra }),
    });
  };

  const recordOf = async (answer: Response): Promise<FailoverRecord | undefined> =>
    (
      await app.database.query<FailoverRecord>('SELECT * FROM request_record WHERE request_id = $1', [
        answer.headers.get('x-request-id'),
      ])
    )[0];
  const servedLanes = async (): Promise<string[]> => (await simulator.requests()).map(({ lane }) => lane);

  const terminators: Record<FailoverDialect, RegExp> = {
    chat: /data: \[DONE\]/g,
    messages: /event: message_stop/g,
    responses: /event: response\.completed/g,
  };
  const errorEvents: Record<FailoverDialect, RegExp> = {
    chat: /data: \{"error":/,
    messages: /event: error/,
    responses: /event: response\.failed/,
  };
  const textOfDelta = (delta: FailoverStreamEvent['delta']): string =>
    typeof delta === 'string' ? delta : (delta?.text ?? '');
  /** All text of a stream that the caller can read, from either supplier. */
  const textOf = (stream: string): string =>
    stream
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)) as FailoverStreamEvent)
      .map((event) => event.choices?.[0]?.delta?.content ?? textOfDelta(event.delta))
      .join('');

  const cases = (['chat', 'messages', 'responses'] as const).flatMap((dialect) =>
    (['both-chat', 'both-messages', 'mixed'] as const).map((pair) => [dialect, pair] as const),
  );

  test.each(cases)(
    '%s stream on %s fails over when the supplier sends an error right after the headers',
    async (dialect, pair) => {
      const model = await createModel(pair);
      await addFault({ kind: 'error-event', after: 0 });
      const answer = await sendRequest(dialect, model, 'hello [[tokens=20]]', { stream: true });
      const text = await answer.text();
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-svc-failover')).toBe('true');
      expect(text.match(terminators[dialect])).toHaveLength(1);
      expect(text).not.toMatch(errorEvents[dialect]);
      expect(await recordOf(answer)).toMatchObject({
        supplier: `${model}-second`,
        failover: true,
        attempts: [{ outcome: expect.stringMatching(/./) as string }, { outcome: 'answered' }],
      });
    },
  );

  test.each(cases)('%s stream on %s fails over when the first token times out', async (dialect, pair) => {
    const model = await createModel(pair, 'sim-large', { firstToken: 300 });
    await addFault({ kind: 'slow-first-token', ms: 20_000 });
    const answer = await sendRequest(dialect, model, 'hello [[tokens=20]]', { stream: true });
    expect((await answer.text()).match(terminators[dialect])).toHaveLength(1);
    expect(await recordOf(answer)).toMatchObject({
      supplier: `${model}-second`,
      attempts: [{ outcome: 'upstream_timeout' }, { outcome: 'answered' }],
    });
  });

  test.each(cases)(
    '%s stream on %s continues on the next lane after a cut, and is charged once',
    async (dialect, pair) => {
      const model = await createModel(pair);
      const expectedText = textOf(
        await (await sendRequest(dialect, model, 'splice [[tokens=60]]', { stream: true })).text(),
      );
      await simulator.clearRequests();
      await addFault({ kind: 'cut', after: 40 });
      const answer = await sendRequest(dialect, model, 'splice [[tokens=60]]', { stream: true });
      const stream = await answer.text();
      expect(stream.match(terminators[dialect])).toHaveLength(1);
      expect(stream).not.toMatch(errorEvents[dialect]);
      expect(textOf(stream)).toBe(expectedText);
      expect(await servedLanes()).toEqual(['first', 'second']);
      const record = await recordOf(answer);
      expect(record).toMatchObject({ supplier: `${model}-second`, code: null, failover: true });
      // Charged once, at the price of the lane that finished.
      expect(Number(record?.cost_nano)).toBe((record!.input_tokens + record!.output_tokens) * 2_000);
    },
  );

  test('stream cut inside tool arguments continues on the next lane', async () => {
    const model = await createModel('both-chat');
    const tools = [
      { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
    ];
    const text = 'x [[tool=look({"a":"some longer argument text for many pieces"})]]';
    const argumentsOf = (stream: string): string =>
      stream
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)) as FailoverStreamEvent)
        .map((event) => event.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? '')
        .join('');
    const expectedArguments = argumentsOf(
      await (await sendRequest('chat', model, text, { stream: true, tools })).text(),
    );
    await addFault({ kind: 'cut', after: 4 });
    const answer = await sendRequest('chat', model, text, { stream: true, tools });
    const stream = await answer.text();
    expect(argumentsOf(stream)).toBe(expectedArguments);
    expect(stream.match(/"name":"look"/g)).toHaveLength(1);
    expect(stream.match(terminators.chat)).toHaveLength(1);
  });

  test.each(['chat', 'messages', 'responses'] as const)(
    '%s stream ends with an error when no lane can continue it',
    async (dialect) => {
      const model = await createModel('both-chat');
      await addFault({ kind: 'cut', after: 30 });
      await addFault({ kind: 'cut', after: 10 }, 'second');
      const brokenResponse = await sendRequest(dialect, model, 'part [[tokens=60]]', { stream: true });
      const text = await brokenResponse.text();
      expect(text).toMatch(errorEvents[dialect]);
      expect(text).not.toMatch(terminators[dialect]);
      expect(await recordOf(brokenResponse)).toMatchObject({
        supplier: `${model}-first`,
        code: 'stream_interrupted',
        attempts: [{ outcome: 'stream_interrupted' }, { outcome: expect.any(String) as string }],
      });
    },
  );

  test.each(cases)('%s stream on %s without a terminator is completed, not failed', async (dialect, pair) => {
    const model = await createModel(pair);
    await addFault({ kind: 'no-terminator' });
    const answer = await sendRequest(dialect, model, 'end [[tokens=20]]', { stream: true });
    const text = await answer.text();
    expect(text.match(terminators[dialect])).toHaveLength(1);
    expect(text).not.toMatch(errorEvents[dialect]);
  });

  test.each(cases)('%s stream on %s never passes on a malformed event', async (dialect, pair) => {
    const model = await createModel(pair);
    await addFault({ kind: 'malformed-event', after: 10 });
    const answer = await sendRequest(dialect, model, 'odd [[tokens=30]]', { stream: true });
    const text = await answer.text();
    for (const line of text.split('\n').filter((each) => each.startsWith('data: {')))
      expect(() => JSON.parse(line.slice(6)) as unknown).not.toThrow();
    expect(text.match(terminators[dialect])).toHaveLength(1);
  });

  test.each([
    { kind: 'non-json' },
    { kind: 'empty-body' },
    { kind: 'cut' },
    { kind: 'gzip-bomb', bytes: 1_000_000 },
  ] as const)('invalid non-streaming response fails over to the next lane: %o', async (fault) => {
    const model = await createModel('both-chat');
    await addFault(fault);
    const answer = await sendRequest('chat', model, 'whole');
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({ supplier: `${model}-second`, failover: true });
  });

  test('response with unreadable usage is served and charged by estimate', async () => {
    const model = await createModel('both-chat');
    await addFault({ kind: 'wrong-usage', variant: 'nan' });
    const answer = await sendRequest('chat', model, 'whole');
    expect(answer.status).toBe(200);
    const expectedRecord = { supplier: `${model}-first`, failover: false, usage_source: 'estimated' };
    expect(await recordOf(answer)).toMatchObject(expectedRecord);
  });

  test("conversation too long for its model goes to the overflow model at that model's price", async () => {
    const small = await createModel('both-chat', 'sim-tiny-8k');
    const large = await createModel('both-chat');
    await app.database.transaction((tx) => new CatalogueEditor().setOverflow(tx, small, large));
    await app.application.get(CatalogueService).reload();
    const answer = await sendRequest('chat', small, 'long '.repeat(10_000));
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({
      supplier: `${large}-first`,
      failover: true,
      attempts: [{ outcome: 'context_length_exceeded' }, { outcome: 'answered' }],
    });
  });

  test('request that fails on every lane is recorded with each attempt and without a charge', async () => {
    const model = await createModel('both-chat');
    await addFault({ kind: 'status', status: 503 });
    await addFault({ kind: 'status', status: 500 }, 'second');
    const answer = await sendRequest('chat', model, 'nobody');
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await recordOf(answer)).toMatchObject({
      status: answer.status,
      cost_nano: '0',
      usage_source: 'none',
      attempts: [{ supplier: `${model}-first` }, { supplier: `${model}-second` }],
    });
  });

  test.each(['chat', 'messages', 'responses'] as const)(
    '%s stream reports cost and supplier with its final usage',
    async (dialect) => {
      for (const pair of ['both-chat', 'both-messages'] as const) {
        const model = await createModel(pair);
        const answer = await sendRequest(dialect, model, 'cost [[tokens=20]]', {
          stream: true,
          ...(dialect === 'chat' ? { stream_options: { include_usage: true } } : {}),
        });
        const text = await answer.text();
        const svc = /"svc":(\{[^}]*\})/.exec(text)?.[1] ?? '{}';
        const record = await recordOf(answer);
        expect(JSON.parse(svc)).toMatchObject({
          supplier: `${model}-first`,
          region: 'eu',
          failover: false,
          output_tokens: 20,
          cost_usd: expect.stringMatching(/^0\.0000/) as string,
        });
        const { cost_usd } = JSON.parse(svc) as { cost_usd: string };
        expect(Math.round(Number(cost_usd) * 1e9)).toBe(Number(record?.cost_nano));
      }
    },
  );

  test('session stays with the lane that served it, and the record names the session', async () => {
    const model = await createModel('both-chat');
    await addFault({ kind: 'status', status: 500 }, 'first', 1);
    const session = { metadata: { session_id: 'conversation-1' } };
    const first = await sendRequest('chat', model, 'one', session);
    const second = await sendRequest('chat', model, 'two', session);
    const otherSession = await sendRequest('chat', model, 'two', {
      metadata: { session_id: 'conversation-2' },
    });
    for (const answer of [first, second])
      expect(answer.headers.get('x-svc-supplier')).toBe(`${model}-second`);
    expect(otherSession.headers.get('x-svc-supplier')).toBe(`${model}-first`);
    expect(await recordOf(first)).toMatchObject({ session_key: 'conversation-1' });
  });
});
