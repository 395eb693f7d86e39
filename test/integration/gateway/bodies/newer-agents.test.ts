import { parseUsd, parseUsdPerMillion as usd } from '#product/kernel';
import codex from '../../../fixtures/agents/codex.json';
import codexUnknownModel from '../../../fixtures/agents/codex-unknown-model.json';
import opencode from '../../../fixtures/agents/opencode.json';
import { startTestApp, type TestApp } from '../../../support/app';
import { BedrockFront } from '../../../support/bedrock-front';
import { addCustomer } from '../../../support/customer';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { TestCatalogue, type CatalogueProviderInput } from '../test-catalogue';

const OVERLOADED = 'overloaded';
const MAX_NAMES_IN_HEADER = 20;
const WALLET = parseUsd('20');

type Json = Record<string, unknown>;

interface Recording {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

const named = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}_${index}`);
const withFields = (object: unknown, names: readonly string[]): Json => ({
  ...(object as Json),
  ...Object.fromEntries(names.map((name) => [name, { mode: 'new' }])),
});
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

const fields = named('field', 6);
const turnFields = named('turn', 4);
const partFields = named('part', 4);
const toolFields = named('tool', 4);
const innerFields = named('inner', 2);
const invented = [...fields, ...turnFields, ...partFields, ...toolFields, ...innerFields];

/** Invented fields at the top, and in `reasoning`, items, parts of messages and tools. */
function newerCodex({ body }: Recording): Json {
  const newerTools = (tools: unknown): Json[] =>
    listOf(tools).map((tool) =>
      tool.type === 'namespace' ? { ...tool, tools: newerTools(tool.tools) } : withFields(tool, toolFields),
    );
  const input = listOf(body.input).map((item) => ({
    ...withFields(item, turnFields),
    ...('content' in item && { content: listOf(item.content).map((part) => withFields(part, partFields)) }),
    ...('tools' in item && { tools: newerTools(item.tools) }),
  }));
  return {
    ...withFields(body, fields),
    input,
    ...('tools' in body && { tools: newerTools(body.tools) }),
    reasoning: withFields(body.reasoning, innerFields),
  };
}

/** Invented fields at the top, and in `stream_options`, messages, calls and tools. */
function newerOpencode({ body }: Recording): Json {
  const messages = listOf(body.messages).map((message) => ({
    ...withFields(message, turnFields),
    ...('tool_calls' in message && {
      tool_calls: listOf(message.tool_calls).map((call) => withFields(call, partFields)),
    }),
  }));
  return {
    ...withFields(body, fields),
    messages,
    tools: listOf(body.tools).map((tool) => withFields(tool, toolFields)),
    stream_options: withFields(body.stream_options, innerFields),
  };
}

/** Codex 0.171.0, for a model that it knows and for another one, and a second round of opencode 1.18.33. */
const agents = {
  Codex: { path: '/v1/responses', headers: codex.headers, newer: newerCodex(codex), tool: 'exec' },
  'Codex with a model of another name': {
    path: '/v1/responses',
    headers: codexUnknownModel.headers,
    newer: newerCodex(codexUnknownModel),
    tool: 'exec_command',
  },
  opencode: {
    path: '/v1/chat/completions',
    headers: opencode.headers,
    newer: newerOpencode(opencode),
    tool: 'bash',
  },
} as const;
type AgentName = keyof typeof agents;
const secondLanes = {
  chat: 'sim-large',
  responses: 'gpt-6.1-sol',
  messages: 'sim-large',
  gemini: 'gemini-3.8-flash',
  bedrock: 'us.anthropic.claude-opus-5-5',
} as const;
type LaneName = keyof typeof secondLanes;
const cases = (Object.keys(agents) as AgentName[]).flatMap((agent) =>
  (Object.keys(secondLanes) as LaneName[]).map((lane) => [agent, lane] as const),
);
const modelOf = (agent: AgentName, lane: LaneName): string => `${agent} on ${lane}`.replaceAll(' ', '-');

describe('a later release of an agent on a prepaid key, whose first lane is overloaded', () => {
  let app: TestApp;
  let supplier: Simulator;
  let bedrock: BedrockFront;

  beforeAll(async () => {
    supplier = await startSimulator({ lanes: [{ name: OVERLOADED, region: 'eu' }] });
    await supplier.addFault({ match: { lane: OVERLOADED }, fault: { kind: 'status', status: 529 } });
    bedrock = await BedrockFront.start(supplier.url);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
    const shelf = new TestCatalogue(app);
    const bearer = { label: 'one', kind: 'bearer', secret: 'sim-test' } as const;
    const header = { label: 'one', kind: 'header', secret: 'sim-test' } as const;
    const secret = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'test' };
    const signing = { label: 'one', kind: 'sigv4', secret } as const;
    const overloadedUrl = supplier.lanes.find(({ name }) => name === OVERLOADED)!.url;
    const openai = { style: 'openai-style', settings: { profile: 'openai' }, credentials: [bearer] } as const;
    const providers: Readonly<Record<string, Omit<CatalogueProviderInput, 'name'>>> = {
      [OVERLOADED]: { ...openai, baseUrl: `${overloadedUrl}/v1` },
      chat: { style: 'openai-style', baseUrl: `${supplier.url}/v1`, credentials: [bearer] },
      responses: { ...openai, baseUrl: `${supplier.url}/v1` },
      messages: { style: 'messages-style', baseUrl: supplier.url, credentials: [header] },
      gemini: { style: 'gemini', baseUrl: supplier.url, credentials: [header] },
      bedrock: { style: 'bedrock', baseUrl: bedrock.url, credentials: [signing] },
    };
    for (const [name, provider] of Object.entries(providers)) await shelf.provider({ name, ...provider });
    for (const [index, [agent, lane]] of cases.entries())
      await shelf.model(
        modelOf(agent, lane),
        [
          { provider: OVERLOADED, upstreamModel: `sim-overloaded-${index}`, priority: 0 },
          { provider: lane, upstreamModel: secondLanes[lane], priority: 1 },
        ],
        { input: usd('1'), output: usd('2'), uses: { web_search: parseUsd('0.01') } },
      );
  });
  afterAll(async () => {
    await app.close();
    await bedrock.stop();
    await supplier.stop();
  });

  test.each(cases)('%s is answered by a lane of %s, which gets no invented field', async (agent, lane) => {
    const { path, headers, newer, tool } = agents[agent];
    const model = modelOf(agent, lane);
    const customer = await addCustomer(app, model, WALLET);
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${customer.key}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ ...newer, model }),
    });
    const text = await response.text();
    const isChat = path.endsWith('completions');
    expect([response.status, text]).toEqual([
      200,
      expect.stringContaining(isChat ? 'data: [DONE]' : 'event: response.completed'),
    ]);
    expect([response.headers.get('x-svc-supplier'), response.headers.get('x-svc-failover')]).toEqual([
      lane,
      'true',
    ]);
    const sent = (await supplier.requests()).at(-1);
    expect(sent).toMatchObject({ status: 200, rule: null });
    expect(JSON.stringify(sent?.body)).toMatch(new RegExp(`"name":"(?:functions__)?${tool}"`));
    expect(JSON.stringify(sent?.body)).not.toMatch(/(?:field|turn|part|tool|inner)_\d/);

    const [record] = await app.database.query<{ dropped: Record<string, number>; cost: string }>(
      'SELECT dropped, cost_nano::text AS cost FROM request_record WHERE key_id = $1',
      [customer.keyId],
    );
    // A conversion names the path of a field: `messages.*.tool_calls.*.part_0`.
    const dropped = Object.keys(record?.dropped ?? {}).map((path) => path.split('.').at(-1) ?? '');
    expect(dropped).toEqual(expect.arrayContaining(invented));
    const told = (response.headers.get('x-svc-dropped') ?? '').split(', ');
    expect(told).toHaveLength(MAX_NAMES_IN_HEADER);
    expect(dropped).toEqual(expect.arrayContaining(told.map((field) => field.split('.').at(-1))));
    const cost = BigInt(record?.cost ?? '0');
    expect(cost > 0n && cost <= WALLET).toBe(true);
  });
});
