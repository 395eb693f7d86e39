import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { parseUsdPerMillion, priceRates } from '#product/kernel';
import {
  app,
  sendAuto,
  closeAutoFixture,
  decisionOf,
  makeKey,
  openAutoFixture,
  organisationId,
  setAuto,
  simulator,
  resetAutoFixture,
  user,
} from './auto-fixture';

const RELAY = 'relay of chat';

/** Two models of one vendor, one of a related vendor, and one of the first vendor behind another API format. */
const extraModels = [
  { name: 'claude-one', ownedBy: 'reseller', provider: 'sandbox' },
  { name: 'claude-two', ownedBy: 'elsewhere', provider: 'sandbox' },
  { name: 'gpt-one', ownedBy: 'openai', provider: 'sandbox' },
  { name: 'kin-reason', ownedBy: 'kin', provider: 'sandbox' },
  { name: 'claude-relayed', ownedBy: 'reseller', provider: RELAY },
] as const;

async function addModels(): Promise<void> {
  const editor = new CatalogueEditor();
  const onePerMillion = parseUsdPerMillion('1');
  await app.database.transaction(async (tx) => {
    const { id: providerId } = await editor.upsertProvider(tx, {
      name: RELAY,
      style: 'openai-style',
      baseUrl: simulator.url,
    });
    const credentials = app.application.get(CredentialEditor, { strict: false });
    await credentials.put(tx, { providerId, label: 'test', kind: 'bearer', secret: 'sim-test' });
    for (const { name, ownedBy, provider } of extraModels) {
      const capabilities = ['tools', 'reasoning'];
      await editor.upsertModel(tx, { name, kind: 'chat', ownedBy, capabilities, maxOutputTokens: 8_000 });
      await editor.setLanes(tx, name, [{ provider, upstreamModel: 'sim-reason', region: 'local' }]);
      const rates = priceRates({ input: onePerMillion, output: onePerMillion });
      await new PriceService().addPrice(tx, { model: name, source: 'test', rates });
    }
  });
  await app.application.get(CatalogueService).reload();
}

beforeAll(async () => {
  await openAutoFixture();
  await addModels();
});
afterEach(async () => {
  await resetAutoFixture();
  await app.database.query('DELETE FROM autorouter_session');
});
afterAll(closeAutoFixture);

const thinking = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 };
/** Makes this the model that answers by default, without session affinity. */
const preferModel = (model: string, more: object = {}) =>
  setAuto('organisation', organisationId, {
    mode: 'on',
    algorithm: 'static',
    reference_model: model,
    stickiness: false,
    ...more,
  });
interface SealedAnswer {
  readonly id: string;
  readonly content: readonly { readonly type: string; readonly signature?: string }[];
  readonly output: readonly { readonly type: string; readonly encrypted_content?: string }[];
}
/** Returns a turn with signed thinking by this model, from a key without a session. */
async function createThinking(model: string): Promise<SealedAnswer['content']> {
  const { json } = await sendAuto((await makeKey()).text, { model, ...thinking });
  const { content } = json as unknown as SealedAnswer;
  expect(content.find(({ type }) => type === 'thinking')?.signature).toEqual(expect.any(String));
  return content;
}
const nextTurn = (content: unknown) => ({
  ...thinking,
  messages: [user('Sort this list'), { role: 'assistant', content }, user('And again')],
});

test('signed thinking goes only to models of its vendor that are called in their own API format', async () => {
  await preferModel('sim-large');
  const content = await createThinking('claude-one');
  const { json, requestId } = await sendAuto((await makeKey()).text, nextTurn(content));
  expect(json.model).toMatch(/^claude-(one|two)$/);
  const decision = await decisionOf(requestId);
  // Four sandbox models, two other vendors, and the relay that would drop the signature.
  expect(decision?.excluded['history']).toBe(7);
  expect(decision?.fallback_order).toHaveLength(1);
});

test('redacted thinking limits the candidates, thinking without a signature does not', async () => {
  await preferModel('sim-large');
  const { text } = await makeKey();
  const redactedContent = [
    { type: 'redacted_thinking', data: 'c2VhbGVk' },
    { type: 'text', text: 'Done.' },
  ];
  expect((await decisionOf((await sendAuto(text, nextTurn(redactedContent))).requestId))?.chosen).toMatch(
    /^claude/,
  );
  const plainContent = [{ type: 'text', text: 'Done.' }];
  const { json, requestId } = await sendAuto(text, { messages: nextTurn(plainContent).messages });
  expect(json.model).toBe('sim-large');
  expect((await decisionOf(requestId))?.excluded['history']).toBeUndefined();
});

test('the last model of the conversation reads its own thinking, whatever the settings prefer', async () => {
  await preferModel('kin-reason');
  const { text } = await makeKey();
  const first = await sendAuto(text, thinking, '/v1/messages', { 'x-session-id': 'one' });
  expect(first.json.model).toBe('kin-reason');
  await preferModel('claude-one');
  const { content } = first.json as unknown as SealedAnswer;
  const second = await sendAuto(text, nextTurn(content), '/v1/messages', { 'x-session-id': 'one' });
  expect(second.json.model).toBe('kin-reason');
  expect(await decisionOf(second.requestId)).toMatchObject({
    reason: 'only_candidate',
    excluded: { history: 8 },
  });
});

test('thinking of an unknown author is refused, unless a single vendor remains', async () => {
  await preferModel('sim-large', { exclude: ['claude*'] });
  const content = await createThinking('kin-reason');
  const refusal = await sendAuto((await makeKey()).text, nextTurn(content));
  expect([refusal.status, refusal.json.error?.code]).toEqual([400, 'invalid_request']);
  expect(refusal.json.error?.details?.excluded).toEqual({ not_included: 3, history: 6 });
  await preferModel('sim-large', { exclude: ['sim*', 'claude*', 'gpt*'] });
  expect((await sendAuto((await makeKey()).text, nextTurn(content))).json.model).toBe('kin-reason');
});

test('failover of signed thinking stays within the models of its vendor', async () => {
  await preferModel('claude-one');
  const content = await createThinking('claude-one');
  await simulator.addFault({ times: 3, fault: { kind: 'status', status: 500 } });
  const failedAnswer = await sendAuto((await makeKey()).text, nextTurn(content));
  expect(failedAnswer.status).toBeGreaterThanOrEqual(500);
  const [row] = await app.database.query<{ attempts: { lane: string; supplier: string }[] }>(
    'SELECT attempts FROM request_record WHERE request_id = $1',
    [failedAnswer.requestId],
  );
  expect(JSON.stringify(row ?? {})).not.toContain(RELAY);
});

describe('Encrypted reasoning on /v1/responses', () => {
  const path = '/v1/responses';
  const encrypted = { include: ['reasoning.encrypted_content'] };
  const outputOf = (json: object): SealedAnswer['output'] => (json as unknown as SealedAnswer).output;

  test('goes to the model that wrote it', async () => {
    await preferModel('sim-large');
    const firstAnswer = await sendAuto((await makeKey()).text, { model: 'gpt-one', ...encrypted }, path);
    const output = outputOf(firstAnswer.json);
    expect(output.some((item) => typeof item.encrypted_content === 'string')).toBe(true);
    const input = [user('Sort this list'), ...output, user('And again')];
    const { json } = await sendAuto((await makeKey()).text, { input, ...encrypted }, path);
    expect(json.model).toBe('gpt-one');
  });

  test('binds a stored response to its author, whatever sessions and settings say', async () => {
    await preferModel('gpt-one');
    const { text } = await makeKey();
    const firstAnswer = await sendAuto(text, { model: 'kin-reason', ...encrypted }, path);
    const { id } = firstAnswer.json as unknown as SealedAnswer;
    const nextRequest = { input: 'And again', previous_response_id: id };
    const { json, requestId } = await sendAuto(text, nextRequest, path);
    expect(json.model).toBe('kin-reason');
    expect(await decisionOf(requestId)).toMatchObject({ reason: 'only_candidate' });
    await preferModel('gpt-one', { exclude: ['kin-reason'] });
    const refusal = await sendAuto(text, nextRequest, path);
    expect([refusal.status, refusal.json.error?.code]).toEqual([400, 'invalid_request']);
  });

  test("binds a stored response when responses carry the supplier's model name", async () => {
    await preferModel('gpt-one');
    const { text, id: keyId } = await makeKey();
    await app.database.query(`UPDATE api_key SET answer_model = 'supplier' WHERE id = $1`, [keyId]);
    const firstAnswer = await sendAuto(text, { model: 'kin-reason', ...encrypted }, path);
    expect(firstAnswer.json.model).toBe('sim-reason');
    const { id } = firstAnswer.json as unknown as SealedAnswer;
    const { requestId } = await sendAuto(text, { input: 'And again', previous_response_id: id }, path);
    expect(await decisionOf(requestId)).toMatchObject({ chosen: 'kin-reason' });
  });

  test('binds a request that references items of the response', async () => {
    await preferModel('gpt-one');
    const { text } = await makeKey();
    const firstAnswer = await sendAuto(text, { model: 'kin-reason', ...encrypted }, path);
    const references = (firstAnswer.json as unknown as { output: { id: string }[] }).output.map(({ id }) => ({
      type: 'item_reference',
      id,
    }));
    const { json } = await sendAuto(text, { input: [user('Sort'), ...references, user('Again')] }, path);
    expect(json.model).toBe('kin-reason');
  });
});

test('an overlong request does not overflow to a larger model that is excluded from auto', async () => {
  await app.database.query(
    `UPDATE model SET overflow_to = (SELECT id FROM model WHERE name = 'sim-large') WHERE name = 'kin-reason'`,
  );
  await app.application.get(CatalogueService).reload();
  await preferModel('kin-reason', { exclude: ['sim-large'] });
  const { text } = await makeKey();
  const tooLong = { kind: 'status', status: 400, body: tooLongBody } as const;
  await simulator.addFault({ times: 1, match: { model: 'sim-reason' }, fault: tooLong });
  expect((await sendAuto(text)).json.error?.code).toBe('context_length_exceeded');
  await preferModel('kin-reason', { exclude: [] });
  await simulator.addFault({ times: 1, match: { model: 'sim-reason' }, fault: tooLong });
  const overflowAnswer = await sendAuto(text);
  expect([overflowAnswer.status, overflowAnswer.json]).toMatchObject([200, { model: 'sim-large' }]);
});
const tooLongBody = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
};
