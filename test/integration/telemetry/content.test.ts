import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import type { ReceivedSpan } from '../../support/otlp-receiver';
import { addKey, addUser, signIn } from '../../support/people';
import type { ScriptedAnswer } from '../../support/scripted-supplier';
import { Visitor } from '../admin/admin-house';
import {
  ANSWER,
  chatAnswer,
  failingOver,
  named,
  openTelemetryHouse,
  type TelemetryHouse,
} from './telemetry-house';

const SWITCH = '/dashboard/settings/telemetry';
const MOST = 1_024;
const contents = {
  system: 'gen_ai.system_instructions',
  tools: 'gen_ai.tool.definitions',
  input: 'gen_ai.input.messages',
  output: 'gen_ai.output.messages',
} as const;
const TRUNCATED = 'switchboard.content.truncated';

interface Member {
  readonly browser: Visitor;
  readonly headers: { readonly authorization: string };
}

let organisations = 0;

const anOrganisation = async ({ app }: TelemetryHouse): Promise<number> => {
  organisations += 1;
  const [row] = await app.database.query<{ id: number }>(
    'INSERT INTO organisation (name, slug) VALUES ($1, $1) RETURNING id',
    [`house-${organisations}`],
  );
  return row!.id;
};

const member = async (
  { app }: TelemetryHouse,
  organisationId: number | null,
  role: UserRole = 'org_owner',
): Promise<Member> => {
  const id = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(id, { organisationId });
  const { text } = await addKey(app, id);
  return {
    browser: new Visitor(app.url, await signIn(app, id), id),
    headers: { authorization: `Bearer ${text}` },
  };
};

const switched = async ({ browser }: Member, enabled: boolean, path = `${SWITCH}/organisation`) => {
  const { status, json } = await browser.post(path, { enabled });
  return [status, json['code'] ?? json['enabled']];
};

const chat = (rest: object = {}): object => ({
  model: 'pair',
  messages: [{ role: 'user', content: 'a question' }],
  ...rest,
});

const said = (span: ReceivedSpan) =>
  Object.fromEntries(
    Object.entries(contents).flatMap(([name, attribute]) => {
      const value = span.attributes[attribute];
      return value === undefined ? [] : [[name, JSON.parse(String(value)) as unknown]];
    }),
  );

const message = (role: string, ...parts: object[]) => ({ role, parts });
const text = (content: string) => ({ type: 'text', content });

const chunks = (...deltas: readonly object[]): ScriptedAnswer => ({
  headers: { 'content-type': 'text/event-stream' },
  body: [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: chatAnswer.usage },
  ]
    .map((rest) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'first-model', ...rest }))
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .concat('data: [DONE]\n\n')
    .join(''),
});

describe.each(['http/protobuf', 'http/json'])('as a receiver of %s gets it', (protocol) => {
  let house: TelemetryHouse;
  let owner: Member;
  let neighbour: Member;
  beforeAll(async () => {
    house = await openTelemetryHouse({
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      TELEMETRY_CONTENT: 'organisations',
      TELEMETRY_CONTENT_BYTES: String(MOST),
      EXTENSIONS: './test/fixtures/extensions/gates.cjs, ./test/fixtures/extensions/masking.cjs',
    });
    owner = await member(house, await anOrganisation(house));
    neighbour = await member(house, await anOrganisation(house));
  });
  afterAll(() => house.close());
  afterEach(() => expect(house.receiver.faults).toEqual([]));

  const asked = async (who: Member, body: object, path = '/v1/chat/completions') => {
    const { answer, text: got, spans } = await house.traced(path, body, who.headers);
    expect([answer.status, got]).toEqual([200, got]);
    return { got, spans };
  };

  test('nothing is told until the owner of the organisation wants it, and never of a neighbour', async () => {
    house.supplier.answer = { body: chatAnswer };
    const before = await asked(owner, chat());
    expect(said(named(before.spans, 'chat first-model'))).toEqual({});
    expect(await switched(owner, true)).toEqual([200, true]);
    const { spans } = await asked(owner, chat());
    expect(said(named(spans, 'chat first-model'))).toEqual({
      input: [message('user', text('a question'))],
      output: [message('assistant', text(ANSWER))],
    });
    expect(named(spans, 'chat first-model').attributes).not.toHaveProperty([TRUNCATED]);
    expect(said(named(spans, 'POST /v1/chat/completions'))).toEqual({});
    const others = await asked(neighbour, chat());
    expect(said(named(others.spans, 'chat first-model'))).toEqual({});
  });

  test('every try says what was asked, and the last one what the caller got', async () => {
    house.supplier.answer = failingOver;
    const { spans } = await asked(owner, chat({ stream: true }));
    const input = [message('user', text('a question'))];
    expect(said(named(spans, 'chat first-model'))).toEqual({ input });
    expect(said(named(spans, 'chat second-model'))).toEqual({
      input,
      output: [message('assistant', text(ANSWER))],
    });
    const [first, second] = [named(spans, 'chat first-model'), named(spans, 'chat second-model')];
    expect(first.endNano <= second.startNano + 1_000_000n).toBe(true);
  });

  test('gates have masked what is told', async () => {
    house.supplier.answer = chunks({ content: 'write to ann@exam' }, { content: 'ple.com today' });
    const { got, spans } = await asked(
      owner,
      chat({
        stream: true,
        metadata: { tags: ['mail'] },
        messages: [{ role: 'user', content: '[[open:rewrite]] of sekret-42' }],
      }),
    );
    expect(house.heard().at(-1)).not.toContain('sekret-42');
    expect(got).not.toContain('ann@example.com');
    expect(said(named(spans, 'chat first-model'))).toEqual({
      input: [message('user', text('[[open:rewrite]] of “hidden” \\ 🙂'))],
      output: [message('assistant', text('write to [e-mail] today'))],
    });
    expect(house.receiver.text).not.toContain('sekret-42');
    expect(house.receiver.text).not.toContain('ann@example.com');
  });

  test('instructions, tools, their calls and results have places of their own; media are named, not held', async () => {
    const picture = Buffer.alloc(300, 'P').toString('base64');
    house.supplier.answer = chunks(
      { reasoning_content: 'let me think' },
      {
        tool_calls: [{ index: 0, id: 'call_2', type: 'function', function: { name: 'add', arguments: '' } }],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":3,' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"b":4}' } }] },
    );
    const parameters = { type: 'object', properties: { a: { type: 'number' } } };
    const { spans } = await asked(
      owner,
      chat({
        stream: true,
        tools: [{ type: 'function', function: { name: 'add', description: 'adds', parameters } }],
        messages: [
          { role: 'system', content: 'be brief' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
              { type: 'image_url', image_url: { url: 'https://example.com/p.png?signature=abc' } },
            ],
          },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '3' },
        ],
      }),
    );
    const attributes = named(spans, 'chat first-model').attributes;
    expect(said(named(spans, 'chat first-model'))).toEqual({
      tools: [{ type: 'function', name: 'add', description: 'adds', parameters }],
      input: [
        message('system', text('be brief')),
        message(
          'user',
          text('see'),
          { type: 'blob', modality: 'image', mime_type: 'image/png', content: '', size: 300 },
          { type: 'uri', modality: 'image', uri: '' },
        ),
        message('assistant', { type: 'tool_call', id: 'call_1', name: 'add', arguments: { a: 1 } }),
        message('tool', { type: 'tool_call_response', id: 'call_1', response: '3' }),
      ],
      output: [
        message(
          'assistant',
          { type: 'reasoning', content: 'let me think' },
          { type: 'tool_call', id: 'call_2', name: 'add', arguments: { a: 3, b: 4 } },
        ),
      ],
    });
    expect(attributes).not.toHaveProperty([TRUNCATED]);
    expect(house.receiver.text).not.toContain(picture);
    expect(house.receiver.text).not.toContain('signature=abc');
  });

  test('instructions beside the conversation stand beside it', async () => {
    house.supplier.answer = failingOver;
    const { spans } = await asked(
      owner,
      { ...chat(), system: 'be brief', max_tokens: 64, stream: true },
      '/v1/messages',
    );
    expect(said(named(spans, 'chat second-model'))).toEqual({
      system: [text('be brief')],
      input: [message('user', text('a question'))],
      output: [message('assistant', text(ANSWER))],
    });
  });

  test('what is long is cut, its newest part is kept, and the span says so', async () => {
    const long = 'ä'.repeat(MOST);
    house.supplier.answer = { body: { ...chatAnswer, choices: [choice(`first ${long}`)] } };
    const { spans } = await asked(
      owner,
      chat({
        messages: [
          { role: 'user', content: 'the oldest' },
          { role: 'assistant', content: long },
          { role: 'user', content: 'the newest' },
        ],
      }),
    );
    const span = named(spans, 'chat first-model');
    for (const attribute of [contents.input, contents.output]) {
      const bytes = Buffer.byteLength(String(span.attributes[attribute]));
      expect([bytes <= MOST, bytes > MOST / 2]).toEqual([true, true]);
    }
    expect(span.attributes[TRUNCATED]).toEqual([contents.input, contents.output]);
    const { input, output } = said(span) as Record<'input' | 'output', ReturnType<typeof message>[]>;
    expect(input?.map(({ role }) => role)).toEqual(['assistant', 'user']);
    expect(input?.at(-1)).toEqual(message('user', text('the newest')));
    expect(JSON.stringify(output)).toMatch(/first ä+…/);
  });

  test('a stream is cut as well', async () => {
    house.supplier.answer = chunks(...Array.from({ length: 50 }, () => ({ content: 'x'.repeat(100) })));
    const { got, spans } = await asked(owner, chat({ stream: true }));
    expect(got).toContain('[DONE]');
    const span = named(spans, 'chat first-model');
    expect(span.attributes[TRUNCATED]).toEqual([contents.output]);
    expect(String(span.attributes[contents.output]).length).toBeLessThanOrEqual(MOST);
  });

  test('several answers are several messages; the older completions have no turns', async () => {
    house.supplier.answer = { body: { ...chatAnswer, choices: [choice('one'), choice('two', 1)] } };
    const several = await asked(owner, chat({ n: 2 }));
    expect(said(named(several.spans, 'chat first-model'))['output']).toEqual([
      message('assistant', text('one')),
      message('assistant', text('two')),
    ]);
    const { choices: _choices, ...rest } = chatAnswer;
    const answer = { index: 0, text: 'completed', finish_reason: 'stop', logprobs: null };
    house.supplier.answer = { body: { ...rest, object: 'text_completion', choices: [answer] } };
    const { spans } = await asked(owner, { model: 'pair', prompt: 'begin' }, '/v1/completions');
    expect(said(named(spans, 'text_completion first-model'))).toEqual({
      input: [message('user', text('begin'))],
      output: [message('assistant', text('completed'))],
    });
  });

  test('switched off, the next call says nothing', async () => {
    house.supplier.answer = { body: chatAnswer };
    expect(await switched(owner, false)).toEqual([200, false]);
    const { spans } = await asked(owner, chat());
    expect(said(named(spans, 'chat first-model'))).toEqual({});
  });
});

const choice = (content: string, index = 0) => ({
  index,
  message: { role: 'assistant', content },
  finish_reason: 'stop',
});

describe('who decides', () => {
  let house: TelemetryHouse;
  beforeAll(async () => {
    house = await openTelemetryHouse({
      TELEMETRY_CONTENT: 'organisations',
      TELEMETRY_CONVENTIONS: '1.41',
      OTEL_METRICS_EXPORTER: 'none',
    });
    house.supplier.answer = { body: chatAnswer };
  });
  afterAll(() => house.close());

  const told = async ({ headers }: Member) => {
    const { spans } = await house.traced('/v1/chat/completions', chat(), headers);
    return said(named(spans, 'chat first-model'));
  };

  test('an owner for everybody in the organisation, whose members are told', async () => {
    const organisation = await anOrganisation(house);
    const owner = await member(house, organisation);
    const [admin, plain] = [
      await member(house, organisation, 'org_admin'),
      await member(house, organisation, 'user'),
    ];
    for (const other of [admin, plain]) {
      expect(await switched(other, true)).toEqual([403, 'permission_denied']);
      expect(await switched(other, true, SWITCH)).toEqual([409, 'conflict']);
      expect((await other.browser.page('/dashboard/settings')).body).not.toContain('id="content"');
    }
    const page = await owner.browser.form(`${SWITCH}/organisation`, { enabled: 'true' });
    expect(page.status).toBe(303);
    // A message of 1.41 says why the answer ended.
    expect((await told(plain))['output']).toEqual([
      { role: 'assistant', parts: [text(ANSWER)], finish_reason: 'stop' },
    ]);
    const shown = (await plain.browser.page('/dashboard/settings')).body;
    expect(shown).toContain('Traces hold questions and answers.');
    expect(shown).not.toContain(`${SWITCH}/organisation`);
    const [entry] = await house.app.database.query(
      `SELECT changes, actor_user_id, organisation_id FROM activity
        WHERE action = 'organisation.changed' AND object_id = $1`,
      [String(organisation)],
    );
    expect(entry).toEqual({
      changes: { telemetry_content: [false, true] },
      actor_user_id: owner.browser.userId,
      organisation_id: organisation,
    });
  });

  test('a person without an organisation for their own keys', async () => {
    const [person, other] = [await member(house, null, 'user'), await member(house, null, 'user')];
    expect(await switched(person, true)).toEqual([403, 'permission_denied']);
    expect(await switched(person, true, SWITCH)).toEqual([200, true]);
    expect(await told(person)).toHaveProperty('output');
    expect(await told(other)).toEqual({});
    expect((await person.browser.page('/dashboard/settings')).body).toContain(`action="${SWITCH}"`);
  });

  test('a request that is not sampled leaves nothing, whoever asks', async () => {
    const person = await member(house, null, 'user');
    expect(await switched(person, true, SWITCH)).toEqual([200, true]);
    const quiet = await house.post(
      '/v1/chat/completions',
      chat({ messages: [{ role: 'user', content: 'an unsampled question' }] }),
      { ...person.headers, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` },
    );
    await quiet.text();
    await told(person);
    expect(house.receiver.text).not.toContain('an unsampled question');
  });
});

describe('without the operator’s leave', () => {
  let house: TelemetryHouse;
  beforeAll(async () => {
    house = await openTelemetryHouse();
  });
  afterAll(() => house.close());

  test('it cannot be switched on, counts nowhere, and can be switched off', async () => {
    house.supplier.answer = { body: chatAnswer };
    const organisation = await anOrganisation(house);
    const owner = await member(house, organisation);
    expect(await switched(owner, true)).toEqual([409, 'conflict']);
    expect((await owner.browser.page('/dashboard/settings')).body).not.toContain('id="content"');
    await house.app.database.query('UPDATE organisation SET telemetry_content = true WHERE id = $1', [
      organisation,
    ]);
    const { spans } = await house.traced('/v1/chat/completions', chat(), owner.headers);
    expect(said(named(spans, 'chat first-model'))).toEqual({});
    expect((await owner.browser.page('/dashboard/settings')).body).toContain(
      'the operator does not allow it',
    );
    expect(await switched(owner, false)).toEqual([200, false]);
  });
});
