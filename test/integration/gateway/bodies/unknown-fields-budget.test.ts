import { parseUsd, parseUsdPerMillion as usd } from '#product/kernel';
import { requestFields } from '#product/vendors';
import { startTestApp, type TestApp } from '../../../support/app';
import { type ReceivedRequest, ScriptedSupplier } from '../../../support/scripted-supplier';
import { TestCatalogue } from '../test-catalogue';

const CALLERS = 60;
const INVENTED_NAMES = 200;
/** Context window of the models and their maximum output, in tokens. */
const WINDOW = { read: 200_000, written: 8_000 };
const plainFields: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'stream',
  'max_completion_tokens',
]);

/** Reports a complete window as usage for every request with a field that is not plain. */
function respondTo({ path, body }: ReceivedRequest): { readonly body: object } {
  const isPlain = Object.keys(JSON.parse(body) as object).every((name) => plainFields.has(name));
  const { read, written } = isPlain ? { read: 10, written: 5 } : WINDOW;
  const message = { role: 'assistant', content: 'Hello.' };
  if (path.endsWith('/messages'))
    return {
      body: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'sim-large',
        content: [{ type: 'text', text: 'Hello.' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: read, output_tokens: written },
      },
    };
  return {
    body: {
      id: 'chatcmpl_1',
      object: 'chat.completion',
      created: 1,
      model: 'sim-large',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: read, completion_tokens: written, total_tokens: read + written },
    },
  };
}

/** Names in the SDK types that are new at the top level of the dialect, plus invented ones. */
function newNames(dialect: 'chat' | 'messages'): string[] {
  const knownNames = requestFields[dialect].names.get('');
  const typedNames = Object.values(requestFields).flatMap(({ names }) =>
    [...names.values()].flatMap((members) => [...members]),
  );
  const inventedNames = Array.from({ length: INVENTED_NAMES }, (_, index) => `invented_${index}`);
  return [...new Set([...typedNames, ...inventedNames])].filter(
    (name) => knownNames?.has(name) !== true && !plainFields.has(name),
  );
}

// Issue: "Every unknown or newly published field of both vendors […] on a key of $1 under 60 concurrent callers against
// a supplier that charges a complete window for each: never above $1.00."
describe('Key with a budget of one dollar', () => {
  let app: TestApp;
  let supplier: ScriptedSupplier;

  beforeAll(async () => {
    supplier = await ScriptedSupplier.start();
    supplier.answer = respondTo;
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const catalogue = new TestCatalogue(app);
    for (const [name, style, profile] of [
      ['chat', 'openai-style', 'openai'],
      ['messages', 'messages-style', 'anthropic'],
    ] as const) {
      const credentials = [{ label: 'one', kind: 'bearer' as const, secret: 'sim-canary-of-ours' }];
      const provider = { name, style, settings: { profile }, baseUrl: supplier.url, regions: ['eu'] };
      await catalogue.provider({ ...provider, credentials });
      await catalogue.model(`by-${name}`, [{ provider: name }], { input: usd('1'), output: usd('2') });
    }
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  test.each([
    ['chat', 'drop'],
    ['chat', 'forward'],
    ['messages', 'drop'],
    ['messages', 'forward'],
  ] as const)('unknown fields never overspend the key: %s, %s', async (dialect, mode) => {
    const createResponse = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: `${dialect} ${mode}`,
        budget_limit: 1,
        unknown_fields: mode,
        rate_limit_rpm: 100_000,
      }),
    });
    const { id, key } = (await createResponse.json()) as { id: string; key: string };
    const remainingNames = newNames(dialect);
    const total = remainingNames.length;
    expect(total).toBeGreaterThan(INVENTED_NAMES + 100);
    const unexpectedResponses: string[] = [];
    let servedCount = 0;
    const droppedNames = new Set<string>();
    const callUntilDone = async (): Promise<void> => {
      for (let name = remainingNames.pop(); name !== undefined; name = remainingNames.pop()) {
        const response = await fetch(
          `${app.url}/v1/${dialect === 'chat' ? 'chat/completions' : 'messages'}`,
          {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify({
              model: `by-${dialect}`,
              max_tokens: 5,
              messages: [{ role: 'user', content: 'Hello' }],
              [name]: 'new',
            }),
          },
        );
        const text = await response.text();
        const droppedFields = (response.headers.get('x-svc-dropped') ?? '').split(', ');
        if (response.status === 200) servedCount += 1;
        if (droppedFields.includes(name)) droppedNames.add(name);
        // Fields that change the meaning of the response, or its price, are rejected by name.
        const isNamed = [400, 503].includes(response.status) && text.includes(name);
        if (![200, 402, 429].includes(response.status) && !isNamed)
          unexpectedResponses.push(`${name}: ${response.status} ${text.slice(0, 200)}`);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, callUntilDone));
    expect(unexpectedResponses).toEqual([]);
    const [row] = await app.database.query<{ spent: string }>(
      `SELECT coalesce(sum(r.cost_nano), 0)::text AS spent FROM request_record r JOIN api_key k ON k.id = r.key_id
        WHERE k.public_id = $1`,
      [id],
    );
    const spentNano = BigInt(row?.spent ?? '0');
    expect(spentNano).toBeLessThanOrEqual(parseUsd('1'));
    expect(servedCount).toBeGreaterThan(0);
    if (mode === 'forward') return;
    // Every invented name is reported, and no complete window was charged.
    expect([...droppedNames].filter((name) => name.startsWith('invented_'))).toHaveLength(INVENTED_NAMES);
    expect(spentNano).toBeLessThan(parseUsd('0.2'));
  });
});
