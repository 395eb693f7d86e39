import { UserAccount } from '#product/identity';
import { ChatClient } from '../chat/chat-client';
import { signIn } from '../../support/users';
import { supplierReplies, type GateFixture, openGateFixture, waitForLogEntries } from './gate-fixture';

let fixture: GateFixture;

beforeAll(async () => {
  fixture = await openGateFixture();
  await fixture.catalogue.model('one', [{ provider: 'openai', upstreamModel: 'one' }]);
  await fixture.catalogue.model('spoken', [{ provider: 'messages', upstreamModel: 'spoken' }]);
  await fixture.catalogue.model('vectors', [{ provider: 'openai' }], undefined, 'embedding');
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.supplier.answer = { body: supplierReplies.chat };
  fixture.takeSupplierBodies();
});

const chat = (text: string, rest: object = {}) => ({
  model: 'one',
  messages: [{ role: 'user', content: text }],
  ...rest,
});

const verdictsOf = async (answer: Response): Promise<unknown> => {
  const record = await fixture.recordOf(answer);
  return (record?.gates as { name: string; verdict: string }[] | null)?.map(
    ({ name, verdict }) => `${name} ${verdict}`,
  );
};

test('abstaining gates pass the bytes of the caller unchanged and are recorded', async () => {
  const body = '{ "model":"one", "messages" : [ {"role":"user","content":"caf\\u00e9"} ], "seed": 1.50 }';
  const answer = await fixture.post('/v1/chat/completions', body);
  expect(answer.status).toBe(200);
  expect(fixture.takeSupplierBodies()).toEqual([body]);
  const record = await fixture.recordOf(answer);
  expect(record?.gates).toEqual(
    ['open', 'closed', 'second']
      .map((name) => ({
        name: `tried/${name}`,
        stage: 'request',
        verdict: 'abstain',
        ms: expect.any(Number) as number,
      }))
      .concat([
        { name: 'tried/lanes', stage: 'candidates', verdict: 'abstain', ms: expect.any(Number) as number },
      ]),
  );
});

describe('A rejection by a gate', () => {
  test.each([
    ['chat', '/v1/chat/completions', chat('[[closed:reject]]')],
    ['chat, streamed', '/v1/chat/completions', chat('[[closed:reject]]', { stream: true })],
    ['responses', '/v1/responses', { model: 'one', input: '[[closed:reject]]' }],
    ['completions', '/v1/completions', { model: 'one', prompt: ['[[closed:reject]]'] }],
    ['embeddings', '/v1/embeddings', { model: 'vectors', input: ['a', '[[closed:reject]]'] }],
  ])('of %s reaches the caller in its API format and is recorded', async (_name, path, body) => {
    const answer = await fixture.post(path, body);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'request_rejected',
        human_message: 'No such words here.',
        details: { gate: 'tried/closed' },
      },
    });
    expect(fixture.takeSupplierBodies()).toEqual([]);
    expect(await fixture.recordOf(answer)).toMatchObject({
      code: 'request_rejected',
      status: 403,
      cost_nano: '0',
    });
    expect(await verdictsOf(answer)).toEqual(['tried/open abstain', 'tried/closed reject']);
  });

  test('of a Messages request is accepted from a promise', async () => {
    const answer = await fixture.post('/v1/messages', chat('[[open:reject-later]]', { max_tokens: 5 }));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', code: 'invalid_request' },
    });
    expect(await verdictsOf(answer)).toEqual(['tried/open reject']);
  });

  test('precedes the model lookup and also applies to token counts', async () => {
    const unknownModelAnswer = await fixture.post(
      '/v1/chat/completions',
      chat('[[closed:reject]]', { model: 'nobody' }),
    );
    expect(unknownModelAnswer.status).toBe(403);
    const countAnswer = await fixture.post('/v1/messages/count_tokens', chat('[[closed:reject]]'));
    expect(countAnswer.status).toBe(403);
  });
});

const gateFaults = ['throw', 'throw-odd', 'reject-promise', 'hang', 'fail-after-deadline'];
const lateFaults = new Set(['hang', 'fail-after-deadline']);

describe.each([...gateFaults, ...Array.from({ length: 14 }, (_, place) => String(place))])(
  'A gate with the fault %s',
  (fault) => {
    const outcome = lateFaults.has(fault) ? 'late' : 'failed';

    test('is skipped when it is open', async () => {
      const body = chat(`[[open:${fault}]]`);
      const answer = await fixture.post('/v1/chat/completions', body);
      expect(answer.status).toBe(200);
      expect(fixture.takeSupplierBodies()).toEqual([JSON.stringify(body)]);
      expect(await verdictsOf(answer)).toEqual([
        `tried/open ${outcome}`,
        'tried/closed abstain',
        'tried/second abstain',
        'tried/lanes abstain',
      ]);
    });

    test('ends the request when it is closed', async () => {
      const answer = await fixture.post('/v1/chat/completions', chat(`[[closed:${fault}]]`));
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        error: {
          code: 'service_unavailable',
          details: { gate: 'tried/closed', stage: 'request', reason: outcome },
        },
      });
      expect(fixture.takeSupplierBodies()).toEqual([]);
      expect(await verdictsOf(answer)).toEqual(['tried/open abstain', `tried/closed ${outcome}`]);
    });
  },
);

test('a gate that hangs is aborted through its signal', async () => {
  await fixture.post('/v1/chat/completions', chat('[[open:hang]]'));
  await waitForLogEntries(fixture, 'the signal came');
});

test('a gate cannot change the request it receives', async () => {
  const body = chat('[[open:spoil]]');
  const answer = await fixture.post('/v1/chat/completions', { ...body, metadata: { tags: ['a'] } });
  expect(answer.status).toBe(200);
  expect(fixture.takeSupplierBodies()).toEqual([JSON.stringify(body)]);
  expect(await fixture.recordOf(answer)).toMatchObject({ tags: ['a'], model: 'one' });
});

describe('A rewrite by a gate', () => {
  const replacement = '“hidden” \\\\ 🙂';

  test.each(['rewrite', 'rewrite-later'])(
    'by %s changes only the text, and the next gate receives the new text',
    async (verb) => {
      const bodyWith = (text: string): string =>
        `\n{ "m\\u006fdel":"one","seed":12345678901234567890, "messages":[ {"role" : "user", "content":[{"type":"text","te\\u0078t": ${text} }]} , {"content":"[[open:${verb}]] [[second:show]]","role":"user"}]}\r\n`;
      const answer = await fixture.post(
        '/v1/chat/completions',
        bodyWith('"a \\"s\\u0065kret-\\u00c9t\\u00e9\\" b"'),
      );
      expect(answer.status).toBe(200);
      expect(fixture.takeSupplierBodies()).toEqual([bodyWith(`"a \\"${replacement}\\" b"`)]);
      expect(await verdictsOf(answer)).toEqual([
        'tried/open rewrite',
        'tried/closed abstain',
        'tried/second abstain',
        'tried/lanes abstain',
      ]);
      const seenRequest = JSON.parse(String(fixture.logEntries('a request').at(-1)?.request)) as {
        texts: { text: string }[];
      };
      expect(seenRequest.texts[0]?.text).toBe('a "“hidden” \\ 🙂" b');
    },
  );

  test('fails when the route would not accept the result', async () => {
    const body = { model: 'one', prompt: '[[closed:empty]]' };
    const answer = await fixture.post('/v1/completions', body);
    expect(answer.status).toBe(503);
    expect(await verdictsOf(answer)).toEqual(['tried/open abstain', 'tried/closed failed']);
  });

  test('is held and charged by the text that was sent', async () => {
    fixture.supplier.answer = ({ body }) => {
      const [message] = (JSON.parse(body) as { messages: { content: string }[] }).messages;
      const tokens = message!.content.length;
      return {
        body: {
          ...supplierReplies.chat,
          usage: { prompt_tokens: tokens, completion_tokens: 2, total_tokens: tokens + 2 },
        },
      };
    };
    const answer = await fixture.post(
      '/v1/chat/completions',
      chat(`[[open:rewrite]] sekret-${'x'.repeat(4_000)}`),
    );
    const [body] = fixture.takeSupplierBodies();
    const [message] = (JSON.parse(body!) as { messages: { content: string }[] }).messages;
    expect(message?.content).toBe('[[open:rewrite]] “hidden” \\ 🙂');
    // Prices of $1 per 1M input tokens and $2 per 1M output tokens.
    const cost = message!.content.length * 1_000 + 2 * 2_000;
    expect(await fixture.recordOf(answer)).toMatchObject({ cost_nano: String(cost) });
  });

  test('is estimated by the text that was sent when the supplier reports no usage', async () => {
    const { usage: _usage, ...unreported } = supplierReplies.chat;
    fixture.supplier.answer = { body: unreported };
    const long = await fixture.post(
      '/v1/chat/completions',
      chat(`[[open:rewrite]] sekret-${'x'.repeat(40_000)}`),
    );
    const short = await fixture.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-x'));
    const [one, other] = [await fixture.recordOf(long), await fixture.recordOf(short)];
    expect(one?.usage_source).toBe('estimated');
    expect(one?.input_tokens).toBe(other?.input_tokens);
  });

  test('keeps the original text for idempotent retries', async () => {
    const headers = { 'idempotency-key': 'a-rewritten-one' };
    const first = await fixture.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-a'), headers);
    const repeated = await fixture.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-a'), headers);
    expect(await repeated.text()).toBe(await first.text());
    expect(fixture.takeSupplierBodies()).toHaveLength(1);
    const other = await fixture.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-b'), headers);
    expect(other.status).toBe(409);
  });

  test('changes every text of the Messages format except signed thinking, and keeps arguments an object', async () => {
    fixture.supplier.answer = { body: supplierReplies.messages };
    const secret = 'sekret-1';
    const body = (word: string, isRewritten: boolean) => ({
      model: 'spoken',
      max_tokens: 10,
      system: [{ type: 'text', text: word, cache_control: { type: 'ephemeral' } }],
      tools: [
        {
          name: 'look',
          description: word,
          input_schema: {
            type: 'object',
            properties: { title: { type: 'string', description: word, enum: [word] } },
          },
        },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', title: word, source: { type: 'text', media_type: 'text/plain', data: word } },
          ],
        },
        {
          role: 'assistant',
          content: [
            ...(isRewritten ? [] : [{ type: 'thinking', thinking: word, signature: 'c2ln' }]),
            { type: 'text', text: word },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { title: word, deep: [{ n: 1 }] } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: word }] },
            { type: 'text', text: '[[open:rewrite]]' },
          ],
        },
      ],
    });
    const answer = await fixture.post('/v1/messages', body(secret, false));
    expect(answer.status).toBe(200);
    const [sent] = fixture.takeSupplierBodies();
    expect(sent).not.toContain(secret);
    expect(JSON.parse(sent!)).toEqual(body('“hidden” \\ 🙂', true));
  });

  test('fails when tool arguments would no longer be an object', async () => {
    const answer = await fixture.post('/v1/messages', {
      model: 'spoken',
      max_tokens: 10,
      messages: [
        { role: 'user', content: '[[closed:arguments]]' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'b' }] },
      ],
    });
    expect(answer.status).toBe(503);
  });
});

test('a streamed request is rewritten and rejected like a non-streaming one', async () => {
  const [first, last] = [
    {
      ...supplierReplies.chat,
      object: 'chat.completion.chunk',
      usage: undefined,
      choices: [{ index: 0, delta: { content: 'Good.' } }],
    },
    {
      ...supplierReplies.chat,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    },
  ];
  fixture.supplier.answer = {
    headers: { 'content-type': 'text/event-stream' },
    body: `data: ${JSON.stringify(first)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`,
  };
  const answer = await fixture.post(
    '/v1/chat/completions',
    chat('sekret-1 [[open:rewrite]]', { stream: true }),
  );
  expect(await answer.text()).toContain('Good.');
  const [sent] = fixture.takeSupplierBodies();
  expect((JSON.parse(sent!) as { messages: object[] }).messages).toEqual([
    { role: 'user', content: '“hidden” \\ 🙂 [[open:rewrite]]' },
  ]);
  expect((await verdictsOf(answer)) as string[]).toContain('tried/open rewrite');
});

test('embeddings and responses are rewritten, including the previous response that a request refers to', async () => {
  fixture.supplier.answer = {
    body: {
      ...supplierReplies.embeddings,
      data: [0, 1].map((index) => ({ ...supplierReplies.embeddings.data[0], index })),
    },
  };
  const embeddingAnswer = await fixture.post('/v1/embeddings', {
    model: 'vectors',
    input: ['sekret-1', '[[open:rewrite]]'],
  });
  expect(embeddingAnswer.status).toBe(200);
  expect(JSON.parse(fixture.takeSupplierBodies()[0]!)).toMatchObject({
    input: ['“hidden” \\ 🙂', '[[open:rewrite]]'],
  });
  fixture.supplier.answer = { body: supplierReplies.chat };
  const first = await fixture.post('/v1/responses', { model: 'one', input: 'sekret-1' });
  const { id } = (await first.json()) as { id: string };
  fixture.takeSupplierBodies();
  // The first turn was stored as sent, so the gate receives its text again with the second turn.
  await fixture.post('/v1/responses', { model: 'one', input: '[[open:rewrite]]', previous_response_id: id });
  expect(fixture.takeSupplierBodies()[0]).not.toContain('sekret');
});

test('web chat messages pass the gates', async () => {
  const client = new ChatClient(fixture.app);
  const record = await fixture.recordOf(await fixture.post('/v1/chat/completions', chat('Hello')));
  const userId = Number(record?.user_id);
  const chatUser = { userId, cookie: await signIn(fixture.app, userId) };
  const { id } = JSON.parse((await client.post('/api/conversations', chatUser, { model: 'one' })).body) as {
    id: string;
  };
  fixture.takeSupplierBodies();
  const refusal = await client.post(`/api/chat/${id}`, chatUser, { content: '[[closed:reject]]' });
  expect(refusal.body).toContain('request_rejected');
  expect(fixture.takeSupplierBodies()).toEqual([]);
});

test('metrics count verdicts by gate, stage and verdict', async () => {
  const { Metrics } = await import('#product/platform');
  const text = await fixture.app.application.get(Metrics, { strict: false }).registry.metrics();
  expect(text).toMatch(
    /gateway_gate_verdicts_total\{gate="tried\/closed",stage="request",verdict="reject"\} \d/,
  );
  expect(text).toMatch(/gateway_gate_duration_seconds_count\{gate="tried\/closed",stage="request"\} \d/);
});

test.each<['en' | 'de' | 'fr', RegExp]>([
  ['en', /Gates.*tried\/open: rewritten \([\d.]+.ms\).*tried\/closed: refused \([\d.]+.ms\)/s],
  ['de', /Gates.*tried\/open: umgeschrieben \([\d,]+.ms\).*tried\/closed: abgelehnt \([\d,]+.ms\)/s],
  ['fr', /Filtres.*tried\/open: réécrite \(.*tried\/closed: refusée \(/s],
])('the request page in %s names the gates, their verdicts and their durations', async (locale, expected) => {
  const answer = await fixture.post(
    '/v1/chat/completions',
    chat('sekret-1 [[open:rewrite]] [[closed:reject]]'),
  );
  const record = await fixture.recordOf(answer);
  const userId = Number(record?.user_id);
  await fixture.app.database.source.getRepository(UserAccount).update(userId, { preferredLanguage: locale });
  const page = await fetch(
    `${fixture.app.url}/dashboard/request-log?request_id=${String(record?.request_id)}`,
    { headers: { cookie: await signIn(fixture.app, userId), accept: 'text/html' } },
  );
  expect(await page.text()).toMatch(expected);
});
