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

type Dialect = 'chat' | 'messages' | 'responses';

interface Row {
  readonly status: number;
  readonly code: string | null;
  readonly supplier: string;
  readonly failover: boolean;
  readonly cost_nano: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly attempts: readonly { readonly supplier: string; readonly outcome: string }[] | null;
}

/** The tests look at these parts of an event, in any dialect. */
interface StreamEvent {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string;
      readonly tool_calls?: readonly { readonly function?: { readonly arguments?: string } }[];
    };
  }[];
  readonly delta?: string | { readonly text?: string };
}

const usd = parseUsdPerMillion;

/** Two suppliers behind every model; the second costs twice as much, so that a bill shows who was paid. */
describe('when a supplier fails', () => {
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
  let made = 0;

  /** A model of its own for every test: what one of them learns about a supplier does not concern the next. */
  async function fresh(
    pair: keyof typeof pairs,
    upstreamModel = 'sim-large',
    timeouts: ProviderInput['timeouts'] = {},
  ): Promise<string> {
    const name = `${pair}-${(made += 1)}`;
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
          // The lane that has to answer may take its time.
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
      for (const [place, { id: laneId }] of rows.entries()) {
        const price = usd(String(place + 1));
        const rates = priceRates({ input: price, output: price });
        await new PriceService().addPrice(tx, { model: name, laneId, source: 'test', rates });
      }
    });
    await app.application.get(CatalogueService).reload();
    return name;
  }

  const fail = (fault: FaultRule['fault'], lane = 'first', times?: number): Promise<number> =>
    simulator.addFault({ match: { lane }, fault, ...(times === undefined ? {} : { times }) });

  const ask = (dialect: Dialect, model: string, text: string, extra: object = {}): Promise<Response> => {
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

  const recordOf = async (answer: Response): Promise<Row | undefined> =>
    (
      await app.database.query<Row>('SELECT * FROM request_record WHERE request_id = $1', [
        answer.headers.get('x-request-id'),
      ])
    )[0];
  const served = async (): Promise<string[]> => (await simulator.requests()).map(({ lane }) => lane);

  const marks: Record<Dialect, RegExp> = {
    chat: /data: \[DONE\]/g,
    messages: /event: message_stop/g,
    responses: /event: response\.completed/g,
  };
  const failures: Record<Dialect, RegExp> = {
    chat: /data: \{"error":/,
    messages: /event: error/,
    responses: /event: response\.failed/,
  };
  const pieceOf = (delta: StreamEvent['delta']): string =>
    typeof delta === 'string' ? delta : (delta?.text ?? '');
  /** Everything the caller can read in a stream, whoever wrote it. */
  const textOf = (stream: string): string =>
    stream
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)) as StreamEvent)
      .map((event) => event.choices?.[0]?.delta?.content ?? pieceOf(event.delta))
      .join('');

  const cases = (['chat', 'messages', 'responses'] as const).flatMap((dialect) =>
    (['both-chat', 'both-messages', 'mixed'] as const).map((pair) => [dialect, pair] as const),
  );

  test.each(cases)('%s on %s: an error right after the head goes to the next lane', async (dialect, pair) => {
    const model = await fresh(pair);
    await fail({ kind: 'error-event', after: 0 });
    const answer = await ask(dialect, model, 'hello [[tokens=20]]', { stream: true });
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-svc-failover')).toBe('true');
    expect(text.match(marks[dialect])).toHaveLength(1);
    expect(text).not.toMatch(failures[dialect]);
    expect(await recordOf(answer)).toMatchObject({
      supplier: `${model}-second`,
      failover: true,
      attempts: [{ outcome: expect.stringMatching(/./) as string }, { outcome: 'answered' }],
    });
  });

  test.each(cases)('%s on %s: a stream that says nothing is left', async (dialect, pair) => {
    const model = await fresh(pair, 'sim-large', { firstToken: 300 });
    await fail({ kind: 'slow-first-token', ms: 20_000 });
    const answer = await ask(dialect, model, 'hello [[tokens=20]]', { stream: true });
    expect((await answer.text()).match(marks[dialect])).toHaveLength(1);
    expect(await recordOf(answer)).toMatchObject({
      supplier: `${model}-second`,
      attempts: [{ outcome: 'upstream_timeout' }, { outcome: 'answered' }],
    });
  });

  test.each(cases)('%s on %s: a cut is spliced, for one price', async (dialect, pair) => {
    const model = await fresh(pair);
    const whole = textOf(await (await ask(dialect, model, 'splice [[tokens=60]]', { stream: true })).text());
    await simulator.clearRequests();
    await fail({ kind: 'cut', after: 40 });
    const answer = await ask(dialect, model, 'splice [[tokens=60]]', { stream: true });
    const stream = await answer.text();
    expect(stream.match(marks[dialect])).toHaveLength(1);
    expect(stream).not.toMatch(failures[dialect]);
    expect(textOf(stream)).toBe(whole);
    expect(await served()).toEqual(['first', 'second']);
    const record = await recordOf(answer);
    expect(record).toMatchObject({ supplier: `${model}-second`, code: null, failover: true });
    // Once, at the price of the lane that finished it.
    expect(Number(record?.cost_nano)).toBe((record!.input_tokens + record!.output_tokens) * 2_000);
  });

  test('a cut in the arguments of a tool is spliced as well', async () => {
    const model = await fresh('both-chat');
    const tools = [
      { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
    ];
    const text = 'x [[tool=look({"a":"some longer argument text for many pieces"})]]';
    const collect = (stream: string): string =>
      stream
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)) as StreamEvent)
        .map((event) => event.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? '')
        .join('');
    const whole = collect(await (await ask('chat', model, text, { stream: true, tools })).text());
    await fail({ kind: 'cut', after: 4 });
    const answer = await ask('chat', model, text, { stream: true, tools });
    const stream = await answer.text();
    expect(collect(stream)).toBe(whole);
    expect(stream.match(/"name":"look"/g)).toHaveLength(1);
    expect(stream.match(marks.chat)).toHaveLength(1);
  });

  test.each(['chat', 'messages', 'responses'] as const)(
    '%s: what nobody can go on with ends in an error',
    async (dialect) => {
      const model = await fresh('both-chat');
      await fail({ kind: 'cut', after: 30 });
      await fail({ kind: 'cut', after: 10 }, 'second');
      const broken = await ask(dialect, model, 'part [[tokens=60]]', { stream: true });
      const text = await broken.text();
      expect(text).toMatch(failures[dialect]);
      expect(text).not.toMatch(marks[dialect]);
      expect(await recordOf(broken)).toMatchObject({
        supplier: `${model}-first`,
        code: 'stream_interrupted',
        attempts: [{ outcome: 'stream_interrupted' }, { outcome: expect.any(String) as string }],
      });
    },
  );

  test.each(cases)('%s on %s: a missing end is no missing answer', async (dialect, pair) => {
    const model = await fresh(pair);
    await fail({ kind: 'no-terminator' });
    const answer = await ask(dialect, model, 'end [[tokens=20]]', { stream: true });
    const text = await answer.text();
    expect(text.match(marks[dialect])).toHaveLength(1);
    expect(text).not.toMatch(failures[dialect]);
  });

  test.each(cases)('%s on %s: a broken event is never passed on', async (dialect, pair) => {
    const model = await fresh(pair);
    await fail({ kind: 'malformed-event', after: 10 });
    const answer = await ask(dialect, model, 'odd [[tokens=30]]', { stream: true });
    const text = await answer.text();
    for (const line of text.split('\n').filter((each) => each.startsWith('data: {')))
      expect(() => JSON.parse(line.slice(6)) as unknown).not.toThrow();
    expect(text.match(marks[dialect])).toHaveLength(1);
  });

  test.each([
    { kind: 'non-json' },
    { kind: 'empty-body' },
    { kind: 'cut' },
    { kind: 'gzip-bomb', bytes: 1_000_000 },
  ] as const)('a whole answer that is none goes to the next lane: %o', async (fault) => {
    const model = await fresh('both-chat');
    await fail(fault);
    const answer = await ask('chat', model, 'whole');
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({ supplier: `${model}-second`, failover: true });
  });

  test('a whole answer whose usage cannot be read is one, and charged by estimate', async () => {
    const model = await fresh('both-chat');
    await fail({ kind: 'wrong-usage', variant: 'nan' });
    const answer = await ask('chat', model, 'whole');
    expect(answer.status).toBe(200);
    const wanted = { supplier: `${model}-first`, failover: false, usage_source: 'estimated' };
    expect(await recordOf(answer)).toMatchObject(wanted);
  });

  test('a conversation too long for its model goes to the larger one, at the price of that', async () => {
    const small = await fresh('both-chat', 'sim-tiny-8k');
    const large = await fresh('both-chat');
    await app.database.transaction((tx) => new CatalogueEditor().setOverflow(tx, small, large));
    await app.application.get(CatalogueService).reload();
    const answer = await ask('chat', small, 'long '.repeat(10_000));
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({
      supplier: `${large}-first`,
      failover: true,
      attempts: [{ outcome: 'context_length_exceeded' }, { outcome: 'answered' }],
    });
  });

  test('all of it failing is on record, with every try and without a charge', async () => {
    const model = await fresh('both-chat');
    await fail({ kind: 'status', status: 503 });
    await fail({ kind: 'status', status: 500 }, 'second');
    const answer = await ask('chat', model, 'nobody');
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await recordOf(answer)).toMatchObject({
      status: answer.status,
      cost_nano: '0',
      usage_source: 'none',
      attempts: [{ supplier: `${model}-first` }, { supplier: `${model}-second` }],
    });
  });

  test.each(['chat', 'messages', 'responses'] as const)(
    '%s: the final usage says what the call cost and who served it',
    async (dialect) => {
      for (const pair of ['both-chat', 'both-messages'] as const) {
        const model = await fresh(pair);
        const answer = await ask(dialect, model, 'cost [[tokens=20]]', {
          stream: true,
          ...(dialect === 'chat' ? { stream_options: { include_usage: true } } : {}),
        });
        const text = await answer.text();
        const facts = /"svc":(\{[^}]*\})/.exec(text)?.[1] ?? '{}';
        const record = await recordOf(answer);
        expect(JSON.parse(facts)).toMatchObject({
          supplier: `${model}-first`,
          region: 'eu',
          failover: false,
          output_tokens: 20,
          cost_usd: expect.stringMatching(/^0\.0000/) as string,
        });
        const { cost_usd } = JSON.parse(facts) as { cost_usd: string };
        expect(Math.round(Number(cost_usd) * 1e9)).toBe(Number(record?.cost_nano));
      }
    },
  );

  test('a session stays with the lane that served it, and is on record', async () => {
    const model = await fresh('both-chat');
    await fail({ kind: 'status', status: 500 }, 'first', 1);
    const session = { metadata: { session_id: 'conversation-1' } };
    const first = await ask('chat', model, 'one', session);
    const second = await ask('chat', model, 'two', session);
    const other = await ask('chat', model, 'two', { metadata: { session_id: 'conversation-2' } });
    for (const answer of [first, second])
      expect(answer.headers.get('x-svc-supplier')).toBe(`${model}-second`);
    expect(other.headers.get('x-svc-supplier')).toBe(`${model}-first`);
    expect(await recordOf(first)).toMatchObject({ session_key: 'conversation-1' });
  });
});
