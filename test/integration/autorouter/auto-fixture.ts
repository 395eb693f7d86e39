import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '#product/catalogue';
import { Organisation, UserAccount } from '#product/identity';
import { parseUsdPerMillion, platformScope, priceRates } from '#product/kernel';
import { KeysService, type NewKey } from '#product/keys';
import { type AutoSettingsChange, AutoSettingsStore } from '#product/autorouter';
import { startTestApp, type TestApp } from '../../support/app';
import { learnExample, createOutcome } from '../../support/learning-examples';
import { addUser } from '../../support/users';
import { type Simulator, startSimulator } from '../../support/simulator';

/** Shared by the decision tests and set by the opening function below. */
export let app: TestApp;
export let simulator: Simulator;
export let organisationId: number;
export let userId: number;

interface RecordedDecision {
  readonly mode: string;
  readonly reason: string;
  readonly drift?: string;
  readonly ref: string;
  readonly chosen: string;
  readonly would_have: string | null;
  readonly policy?: { readonly kappa: number };
  readonly pacing?: { readonly budget: string; readonly projected: number; readonly raise: number } | null;
  readonly ref_cost?: number;
  readonly ref_tokens_out?: number;
  readonly cost_ratio?: number;
  readonly candidates?: readonly { readonly model: string; readonly cost_est: number }[];
  readonly answered_by?: string;
  readonly fallback?: string;
  readonly session: { readonly sticky: string; readonly source: string } | null;
  readonly excluded: Readonly<Record<string, number>>;
  readonly fallback_order: readonly string[];
}

export const makeKey = async (fields: Partial<NewKey> = {}): Promise<{ id: number; text: string }> =>
  app.database.transaction((tx) =>
    app.application.get(KeysService).issue(platformScope, tx, {
      kind: 'client',
      name: 'test',
      createdBy: 'test',
      userId,
      organisationId: null,
      departmentId: null,
      projectId: null,
      ...fields,
    }),
  );
export const setAuto = (level: 'organisation' | 'key', id: number, change: AutoSettingsChange) =>
  app.application
    .get(AutoSettingsStore)
    .set({ level, id }, change, { label: 'test', concerns: {}, actor: { kind: 'system', label: 'test' } });
export const user = (text: string) => ({ role: 'user', content: text });
export const sendAuto = async (
  key: string,
  body: object = {},
  path = '/v1/messages',
  headers: object = {},
) => {
  const answer = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'auto',
      ...(path === '/v1/responses'
        ? { input: 'Sort this list' }
        : { max_tokens: 50, messages: [user('Sort this list')] }),
      ...body,
    }),
  });
  const json = (await answer.json()) as {
    model?: string;
    error?: { code: string; details?: { excluded?: Record<string, number>; reason?: string } };
  };
  return {
    status: answer.status,
    json,
    requestId: answer.headers.get('x-request-id'),
    headers: answer.headers,
  };
};
export const decisionOf = async (requestId: string | null): Promise<RecordedDecision | null> => {
  const [row] = await app.database.query<{ auto_decision: RecordedDecision | null }>(
    'SELECT auto_decision FROM request_record WHERE request_id = $1',
    [requestId],
  );
  return row?.auto_decision ?? null;
};
/** Teaches the router that the small model is as good as the large one. */
const teachRouter = async (): Promise<void> => {
  for (let at = 0; at < 260; at += 1) {
    const outcomes = [createOutcome('sim-small', 0.9), createOutcome('sim-large', 0.9)];
    await learnExample(
      app,
      organisationId,
      { id: `e${at}`, text: `Sort this list of ${at % 9} words`, outcomes },
      userId,
    );
  }
};

/** Models that support a single API format, so that requests in other formats have to be converted. */
export const relayModels = [
  { name: 'relay-chat', style: 'openai-style' },
  { name: 'relay-messages', style: 'messages-style' },
] as const;

export async function addRelayModels(): Promise<void> {
  const editor = new CatalogueEditor();
  const onePerMillion = parseUsdPerMillion('1');
  await app.database.transaction(async (tx) => {
    for (const { name, style } of relayModels) {
      const { id: providerId } = await editor.upsertProvider(tx, { name, style, baseUrl: simulator.url });
      const credentials = app.application.get(CredentialEditor, { strict: false });
      const kind = style === 'openai-style' ? 'bearer' : 'header';
      await credentials.put(tx, { providerId, label: 'test', kind, secret: 'sim-test' });
      await editor.upsertModel(tx, {
        name,
        kind: 'chat',
        ownedBy: 'test',
        capabilities: ['tools'],
        inputModalities: ['text', 'document'],
        maxOutputTokens: 8_000,
      });
      await editor.setLanes(tx, name, [{ provider: name, upstreamModel: `sim-${name}`, region: 'local' }]);
      await new PriceService().addPrice(tx, {
        model: name,
        source: 'test',
        rates: priceRates({ input: onePerMillion, output: onePerMillion }),
      });
    }
  });
  await app.application.get(CatalogueService).reload();
}

export async function openAutoFixture(): Promise<void> {
  simulator = await startSimulator();
  app = await startTestApp({
    sandboxUrl: simulator.url,
    environment: { AUTO_MODEL: 'sim-large', SUPPLIER_ALLOW: '127.0.0.1' },
  });
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'auto', slug: 'auto' });
  await organisations.insert(row);
  organisationId = row.id;
  userId = await addUser(app);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  await teachRouter();
}

/** Removes settings and faults, so that no test affects the next. */
export async function resetAutoFixture(): Promise<void> {
  await simulator.clearFaults();
  await app.database.query(`DELETE FROM engine_setting`);
  await app.database.query(`SELECT pg_notify('auto_settings', 'test')`);
}

export async function closeAutoFixture(): Promise<void> {
  await app.close();
  await simulator.stop();
}
