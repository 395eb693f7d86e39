import type { UserRole } from '../../../../src/kernel';
import {
  type ReadResponse,
  Client,
  expect,
  expectStatus,
  jsonOf,
  type ClientRequestOptions,
  eventually,
} from '../../../operations/http';
import type { PortalUser, World } from '../../../operations/world';

export type Json = Record<string, unknown>;

export const ADMIN = '/dashboard/admin';
export const inHtml = { headers: { accept: 'text/html' } };
export const crossSite = { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' };
export const absent = 999_999_999;

/** Contains a digit, so that the breaking proxy recognises a name in a path. */
export const uniqueName = (stem: string): string => `${stem}-0${Math.random().toString(36).slice(2, 10)}`;
export const clientOf = async (world: World, role: UserRole): Promise<Client> =>
  (await world.person(role)).client;
export const platform = (world: World): Promise<Client> => clientOf(world, 'platform_admin');

/** Bypasses the breaking proxy for preparation that a row does not test. */
const bypassing = (world: World, { headers }: Client): Client =>
  new Client(world.gateway.node.url).with(headers);

const directPlatform = async (world: World): Promise<Client> => bypassing(world, await platform(world));

/** Expects 200 with a JSON object. */
export function okJson(answer: ReadResponse): Json {
  expectStatus(answer, 200);
  const type = answer.headers.get('content-type') ?? '';
  expect(type.startsWith('application/json'), `the type is ${type}`);
  const body: unknown = jsonOf(answer);
  expect(typeof body === 'object' && body !== null && !Array.isArray(body), `an object: ${answer.text}`);
  return body as Json;
}

/** Expects this status and code, in the error format of the portal or the gateway. */
export function expectRejected(answer: ReadResponse, status: number, code: string): void {
  expectStatus(answer, status);
  const { error, code: own } = jsonOf(answer);
  const inner = typeof error === 'object' && error !== null ? (error as Json)['code'] : own;
  equal(inner, code, 'the code');
}

/** Expects 200 with a page that contains these texts. */
export function okHtml(answer: ReadResponse, ...texts: string[]): string {
  expectStatus(answer, 200);
  const type = answer.headers.get('content-type') ?? '';
  expect(type.startsWith('text/html'), `the type is ${type}`);
  expect(/<!doctype html>/i.test(answer.text), 'it is a page');
  const page = answer.text.replaceAll('&#x3D;', '=');
  for (const text of texts) expect(page.includes(text), `the page does not hold "${text}"`);
  return page;
}

/** Expects 200 with a CSV file; returns its lines without the header. */
export function okCsv(answer: ReadResponse): {
  readonly columns: readonly string[];
  readonly lines: readonly string[];
} {
  expectStatus(answer, 200);
  const type = answer.headers.get('content-type') ?? '';
  expect(type.startsWith('text/csv'), `the type is ${type}`);
  const [head = '', ...lines] = answer.text.trimEnd().split('\r\n');
  return { columns: head.split(','), lines };
}

export function equal(actual: unknown, expected: unknown, what: string): void {
  const [seen, asked] = [JSON.stringify(actual), JSON.stringify(expected)];
  expect(seen === asked, `${what}: ${seen}, wanted ${asked}`);
}

export function expectRedirect(answer: ReadResponse, location: string): void {
  expect([301, 302, 303, 307, 308].includes(answer.status), `it redirects: ${answer.status}`);
  equal(answer.headers.get('location'), location, 'where it redirects');
}

/** Expects 422 with a validation error for this parameter. */
export function expectInvalid(answer: ReadResponse, place: 'path' | 'query' | 'body', name: string): void {
  expectStatus(answer, 422);
  const { detail, code, message, human_message: human } = jsonOf(answer);
  equal(code, 'validation_error', 'the code');
  expect(typeof human === 'string' && human.length > 0, `there is a text for people: ${answer.text}`);
  equal(message, `validation_error - ${human}`, 'the message');
  expect(Array.isArray(detail) && detail.length > 0, `detail is a list: ${answer.text}`);
  const issues = detail as { loc?: unknown; msg?: unknown; type?: unknown }[];
  for (const { loc, msg, type } of issues) {
    const isComplete =
      Array.isArray(loc) && typeof msg === 'string' && msg !== '' && typeof type === 'string' && type !== '';
    expect(isComplete, `every issue has loc, msg and type: ${answer.text}`);
  }
  const isNamed = issues.some(({ loc }) => JSON.stringify(loc) === JSON.stringify([place, name]));
  expect(isNamed, `no issue is at ${place} ${name}: ${answer.text.slice(0, 300)}`);
}

export type ClientCall = (client: Client) => Promise<ReadResponse>;

export const callTo =
  (method: string, path: string, options: ClientRequestOptions = {}): ClientCall =>
  (client) =>
    client.send(method, path, options);

/** Expects no data without a session. */
export const refusesAnonymous = async (world: World, ask: ClientCall): Promise<void> =>
  expectRejected(await ask(world.anonymous), 401, 'authentication_required');

export const roles: readonly UserRole[] = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
  'platform_admin',
  'platform_owner',
];

/** Expects 200 for this role and above, 403 below; each role is a new user of the own organisation. */
export async function expectFrom(
  world: World,
  minimumRole: UserRole,
  ask: (person: PortalUser) => Promise<ReadResponse>,
): Promise<void> {
  for (const role of roles.toReversed()) {
    const answer = await ask(await world.newPerson({ role, organisationId: world.organisationId }));
    if (roles.indexOf(role) < roles.indexOf(minimumRole)) expectRejected(answer, 403, 'permission_denied');
    else expect(answer.status === 200, `${role}: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
}

export async function newDepartment(world: World, organisationId: number): Promise<number> {
  const [made] = await world.rows<{ id: number }>(
    'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
    [organisationId, uniqueName('department')],
  );
  return made?.id ?? 0;
}

/** A user of the own organisation that no other row uses. */
export const newMember = (world: World): Promise<PortalUser> =>
  world.newPerson({ organisationId: world.organisationId });

/** Creates a model of the sandbox's supplier as an administrator would. */
export async function newModel(world: World, more: Json = {}): Promise<string> {
  const model = uniqueName('spec');
  const json = {
    model,
    kind: 'chat',
    owned_by: 'proof',
    input_price: '1',
    output_price: '2',
    lanes: [{ provider: 'sandbox', upstream_model: 'sim-small', region: 'local' }],
    ...more,
  };
  okJson(await (await directPlatform(world)).post(`${ADMIN}/models/create`, { json }));
  return model;
}

const chatRequest = (model: string) => ({
  json: { model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 },
});

const chat = '/v1/chat/completions';

export const call = (client: Client, model = 'sim-small'): Promise<ReadResponse> =>
  client.post(chat, chatRequest(model));

interface KeyClient {
  readonly client: Client;
}

/** Calls with an automatically chosen model. */
export const callAuto = ({ client }: KeyClient): Promise<ReadResponse> =>
  client.post('/v1/messages', chatRequest('auto'));

/** Waits until the settings of a key apply: its calls are chosen at this dial value. */
export async function waitForDial(key: KeyClient, dial: number): Promise<void> {
  const fetchDial = async (): Promise<string> => {
    const answer = await callAuto(key);
    expectStatus(answer, 200);
    return answer.headers.get('x-svc-auto')?.split('; ').at(-1) ?? '';
  };
  await eventually(async () => (await fetchDial()) === String(dial), `the dial is at ${dial}`);
}

/** Waits until the model answers; clients see a new model with a short delay. */
export async function waitUntilServed(client: Client, model = 'sim-small'): Promise<ReadResponse> {
  let answer = await call(client, model);
  await eventually(async () => {
    if (answer.status === 404) answer = await call(client, model);
    return answer.status !== 404;
  }, `callers know ${model}`);
  const [choice] = okJson(answer)['choices'] as { message?: { content?: unknown } }[];
  expect(typeof choice?.message?.content === 'string', `an answer: ${answer.text}`);
  return answer;
}

/** Clients see catalogue changes in order with a short delay: once the last one is visible, all are. */
export async function waitForCatalogue(world: World): Promise<void> {
  const model = await newModel(world);
  const client = bypassing(world, (await world.newKey(await world.person('user'))).client);
  await waitUntilServed(client, model);
  const json = { model, state: 'paused' };
  okJson(await (await directPlatform(world)).post(`${ADMIN}/model-prices/state`, { json }));
  await eventually(async () => (await call(client, model)).status !== 200, 'the change is in force');
}
