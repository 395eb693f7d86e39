import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import {
  app,
  ask,
  closeHouse,
  decisionOf,
  makeKey,
  openHouse,
  organisationId,
  set,
  simulator,
  tidyHouse,
  user,
} from './auto-house';

const RELAY = 'relay of chat';

/** Two of one vendor, one of another whose words they share, and one of the first vendor behind another dialect. */
const extra = [
  { name: 'claude-one', ownedBy: 'reseller', provider: 'sandbox' },
  { name: 'claude-two', ownedBy: 'elsewhere', provider: 'sandbox' },
  { name: 'gpt-one', ownedBy: 'openai', provider: 'sandbox' },
  { name: 'kin-reason', ownedBy: 'kin', provider: 'sandbox' },
  { name: 'claude-relayed', ownedBy: 'reseller', provider: RELAY },
] as const;

async function addModels(): Promise<void> {
  const editor = new CatalogueEditor();
  const one = parseUsdPerMillion('1');
  await app.database.transaction(async (tx) => {
    const { id: providerId } = await editor.upsertProvider(tx, {
      name: RELAY,
      style: 'openai-style',
      baseUrl: simulator.url,
    });
    const credentials = app.application.get(CredentialEditor, { strict: false });
    await credentials.put(tx, { providerId, label: 'test', kind: 'bearer', secret: 'sim-test' });
    for (const { name, ownedBy, provider } of extra) {
      const capabilities = ['tools', 'reasoning'];
      await editor.upsertModel(tx, { name, kind: 'chat', ownedBy, capabilities, maxOutputTokens: 8_000 });
      await editor.setLanes(tx, name, [{ provider, upstreamModel: 'sim-reason', region: 'local' }]);
      const rates = priceRates({ input: one, output: one });
      await new PriceService().addPrice(tx, { model: name, source: 'test', rates });
    }
  });
  await app.application.get(CatalogueService).reload();
}

beforeAll(async () => {
  await openHouse();
  await addModels();
});
afterEach(async () => {
  await tidyHouse();
  await app.database.query('DELETE FROM autorouter_session');
});
afterAll(closeHouse);

const thinking = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 };
/** The reference model answers, whichever it is; everything else is as usual. */
const prefer = (model: string, more: object = {}) =>
  set('organisation', organisationId, {
    mode: 'on',
    algorithm: 'static',
    reference_model: model,
    stickiness: false,
    ...more,
  });
interface Answer {
  readonly id: string;
  readonly content: readonly { readonly type: string; readonly signature?: string }[];
  readonly output: readonly { readonly type: string; readonly encrypted_content?: string }[];
}
/** A turn with signed thinking by that model, for a key that no session knows. */
async function thoughtBy(model: string): Promise<Answer['content']> {
  const { json } = await ask((await makeKey()).text, { model, ...thinking });
  const { content } = json as unknown as Answer;
  expect(content.find(({ type }) => type === 'thinking')?.signature).toEqual(expect.any(String));
  return content;
}
const next = (content: unknown) => ({
  ...thinking,
  messages: [user('Sort this list'), { role: 'assistant', content }, user('And again')],
});

test('signed thinking goes to the family that its dialect is at home with, of any reseller, and asked in its own words', async () => {
  await prefer('sim-large');
  const content = await thoughtBy('claude-one');
  const { json, requestId } = await ask((await makeKey()).text, next(content));
  expect(json.model).toMatch(/^claude-(one|two)$/);
  const decision = await decisionOf(requestId);
  // Four of the sandbox, two other families, and the relay that would leave the signature out.
  expect(decision?.excluded['history']).toBe(7);
  expect(decision?.fallback_order).toHaveLength(1);
});

test('hidden thinking counts as well; a thought without a signature binds nobody', async () => {
  await prefer('sim-large');
  const { text } = await makeKey();
  const hidden = [
    { type: 'redacted_thinking', data: 'c2VhbGVk' },
    { type: 'text', text: 'Done.' },
  ];
  expect((await decisionOf((await ask(text, next(hidden))).requestId))?.chosen).toMatch(/^claude/);
  const open = [{ type: 'text', text: 'Done.' }];
  const { json, requestId } = await ask(text, { messages: next(open).messages });
  expect(json.model).toBe('sim-large');
  expect((await decisionOf(requestId))?.excluded['history']).toBeUndefined();
});

test('who wrote last in the conversation wrote the seal, though stickiness is off and another is preferred', async () => {
  await prefer('kin-reason');
  const { text } = await makeKey();
  const first = await ask(text, thinking, '/v1/messages', { 'x-session-id': 'one' });
  expect(first.json.model).toBe('kin-reason');
  await prefer('claude-one');
  const { content } = first.json as unknown as Answer;
  const second = await ask(text, next(content), '/v1/messages', { 'x-session-id': 'one' });
  expect(second.json.model).toBe('kin-reason');
  expect(await decisionOf(second.requestId)).toMatchObject({
    reason: 'only_candidate',
    excluded: { history: 8 },
  });
});

test('where it cannot be told who wrote it, nobody is guessed; the only family there is needs no guess', async () => {
  await prefer('sim-large', { exclude: ['claude*'] });
  const content = await thoughtBy('kin-reason');
  const refused = await ask((await makeKey()).text, next(content));
  expect([refused.status, refused.json.error?.code]).toEqual([400, 'invalid_request']);
  expect(refused.json.error?.details?.excluded).toEqual({ not_included: 3, history: 6 });
  await prefer('sim-large', { exclude: ['sim*', 'claude*', 'gpt*'] });
  expect((await ask((await makeKey()).text, next(content))).json.model).toBe('kin-reason');
});

test('a failure stays in the family: the next one reads it, and no stranger', async () => {
  await prefer('claude-one');
  const content = await thoughtBy('claude-one');
  await simulator.addFault({ times: 3, fault: { kind: 'status', status: 500 } });
  const failed = await ask((await makeKey()).text, next(content));
  expect(failed.status).toBeGreaterThanOrEqual(500);
  const [row] = await app.database.query<{ attempts: { lane: string; supplier: string }[] }>(
    'SELECT attempts FROM request_record WHERE request_id = $1',
    [failed.requestId],
  );
  expect(JSON.stringify(row ?? {})).not.toContain(RELAY);
});

describe('on /v1/responses', () => {
  const path = '/v1/responses';
  const encrypted = { include: ['reasoning.encrypted_content'] };
  const outputOf = (json: object): Answer['output'] => (json as unknown as Answer).output;

  test('encrypted reasoning goes home', async () => {
    await prefer('sim-large');
    const wrote = await ask((await makeKey()).text, { model: 'gpt-one', ...encrypted }, path);
    const output = outputOf(wrote.json);
    expect(output.some((item) => typeof item.encrypted_content === 'string')).toBe(true);
    const input = [user('Sort this list'), ...output, user('And again')];
    const { json } = await ask((await makeKey()).text, { input, ...encrypted }, path);
    expect(json.model).toBe('gpt-one');
  });

  test('a kept response binds by who wrote it, whatever sessions and settings say', async () => {
    await prefer('gpt-one');
    const { text } = await makeKey();
    const wrote = await ask(text, { model: 'kin-reason', ...encrypted }, path);
    const { id } = wrote.json as unknown as Answer;
    const further = { input: 'And again', previous_response_id: id };
    const { json, requestId } = await ask(text, further, path);
    expect(json.model).toBe('kin-reason');
    expect(await decisionOf(requestId)).toMatchObject({ reason: 'only_candidate' });
    await prefer('gpt-one', { exclude: ['kin-reason'] });
    const refused = await ask(text, further, path);
    expect([refused.status, refused.json.error?.code]).toEqual([400, 'invalid_request']);
  });

  test('also where answers carry the name that the supplier gives the model', async () => {
    await prefer('gpt-one');
    const { text, id: keyId } = await makeKey();
    await app.database.query(`UPDATE api_key SET answer_model = 'supplier' WHERE id = $1`, [keyId]);
    const wrote = await ask(text, { model: 'kin-reason', ...encrypted }, path);
    expect(wrote.json.model).toBe('sim-reason');
    const { id } = wrote.json as unknown as Answer;
    const { requestId } = await ask(text, { input: 'And again', previous_response_id: id }, path);
    expect(await decisionOf(requestId)).toMatchObject({ chosen: 'kin-reason' });
  });

  test('and by its items, where a request names those', async () => {
    await prefer('gpt-one');
    const { text } = await makeKey();
    const wrote = await ask(text, { model: 'kin-reason', ...encrypted }, path);
    const references = (wrote.json as unknown as { output: { id: string }[] }).output.map(({ id }) => ({
      type: 'item_reference',
      id,
    }));
    const { json } = await ask(text, { input: [user('Sort'), ...references, user('Again')] }, path);
    expect(json.model).toBe('kin-reason');
  });
});

test('what is too long for its model goes to no larger one that settings keep from auto', async () => {
  await app.database.query(
    `UPDATE model SET overflow_to = (SELECT id FROM model WHERE name = 'sim-large') WHERE name = 'kin-reason'`,
  );
  await app.application.get(CatalogueService).reload();
  await prefer('kin-reason', { exclude: ['sim-large'] });
  const { text } = await makeKey();
  const tooLong = { kind: 'status', status: 400, body: tooLongBody } as const;
  await simulator.addFault({ times: 1, match: { model: 'sim-reason' }, fault: tooLong });
  expect((await ask(text)).json.error?.code).toBe('context_length_exceeded');
  await prefer('kin-reason', { exclude: [] });
  await simulator.addFault({ times: 1, match: { model: 'sim-reason' }, fault: tooLong });
  const answered = await ask(text);
  expect([answered.status, answered.json]).toMatchObject([200, { model: 'sim-large' }]);
});
const tooLongBody = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
};
