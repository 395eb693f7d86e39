import type { UserRole } from '../../../../src/kernel';
import { type Answer, Client, expect, expectStatus, jsonOf, type Sent, soon } from '../../../operations/http';
import type { Person, World } from '../../../operations/world';

export type Json = Record<string, unknown>;

export const ADMIN = '/dashboard/admin';
export const inHtml = { headers: { accept: 'text/html' } };
export const crossSite = { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' };
export const absent = 999_999_999;

/** With a digit, by which the meddler tells a name from a word of an address. */
export const fresh = (stem: string): string => `${stem}-0${Math.random().toString(36).slice(2, 10)}`;
export const clientOf = async (world: World, role: UserRole): Promise<Client> =>
  (await world.person(role)).client;
export const platform = (world: World): Promise<Client> => clientOf(world, 'platform_admin');

/** The same caller at the service itself: what a row only needs beforehand is not meddled with. */
const past = (world: World, { headers }: Client): Client => new Client(world.gateway.node.url).with(headers);

const platformBefore = async (world: World): Promise<Client> => past(world, await platform(world));

/** 200 with an object. */
export function okJson(answer: Answer): Json {
  expectStatus(answer, 200);
  const type = answer.headers.get('content-type') ?? '';
  expect(type.startsWith('application/json'), `the type is ${type}`);
  const body: unknown = jsonOf(answer);
  expect(typeof body === 'object' && body !== null && !Array.isArray(body), `an object: ${answer.text}`);
  return body as Json;
}

/** Refused with this status and this code, in the shape of the portal or of the gateway. */
export function refuses(answer: Answer, status: number, code: string): void {
  expectStatus(answer, status);
  const { error, code: own } = jsonOf(answer);
  const inner = typeof error === 'object' && error !== null ? (error as Json)['code'] : own;
  equal(inner, code, 'the code');
}

/** 200 with a page that holds these texts. */
export function okHtml(answer: Answer, ...texts: string[]): string {
  expectStatus(answer, 200);
  const type = answer.headers.get('content-type') ?? '';
  expect(type.startsWith('text/html'), `the type is ${type}`);
  expect(/<!doctype html>/i.test(answer.text), 'it is a page');
  const page = answer.text.replaceAll('&#x3D;', '=');
  for (const text of texts) expect(page.includes(text), `the page does not hold "${text}"`);
  return page;
}

/** 200 with a file of comma-separated values; its lines without the head. */
export function okCsv(answer: Answer): {
  readonly columns: readonly string[];
  readonly lines: readonly string[];
} {
  expectStatus(answer, 200);
  const type = answer.headers.get('content-type') ?? '';
  expect(type.startsWith('text/csv'), `the type is ${type}`);
  const [head = '', ...lines] = answer.text.trimEnd().split('\r\n');
  return { columns: head.split(','), lines };
}

export function equal(found: unknown, wanted: unknown, what: string): void {
  const [seen, asked] = [JSON.stringify(found), JSON.stringify(wanted)];
  expect(seen === asked, `${what}: ${seen}, wanted ${asked}`);
}

export function leadsTo(answer: Answer, location: string): void {
  expect([301, 302, 303, 307, 308].includes(answer.status), `it redirects: ${answer.status}`);
  equal(answer.headers.get('location'), location, 'where it redirects');
}

/** 422 with the validation body, which names the parameter. */
export function expectInvalid(answer: Answer, place: 'path' | 'query' | 'body', name: string): void {
  expectStatus(answer, 422);
  const { detail, code, message, human_message: human } = jsonOf(answer);
  equal(code, 'validation_error', 'the code');
  expect(typeof human === 'string' && human.length > 0, `there is a text for people: ${answer.text}`);
  equal(message, `validation_error - ${human}`, 'the message');
  expect(Array.isArray(detail) && detail.length > 0, `detail is a list: ${answer.text}`);
  const issues = detail as { loc?: unknown; msg?: unknown; type?: unknown }[];
  for (const { loc, msg, type } of issues) {
    const isWhole =
      Array.isArray(loc) && typeof msg === 'string' && msg !== '' && typeof type === 'string' && type !== '';
    expect(isWhole, `every issue has loc, msg and type: ${answer.text}`);
  }
  const isNamed = issues.some(({ loc }) => JSON.stringify(loc) === JSON.stringify([place, name]));
  expect(isNamed, `no issue is at ${place} ${name}: ${answer.text.slice(0, 300)}`);
}

export type Ask = (client: Client) => Promise<Answer>;

export const asking =
  (method: string, path: string, sent: Sent = {}): Ask =>
  (client) =>
    client.send(method, path, sent);

/** Without a session nothing is told. */
export const refusesAnonymous = async (world: World, ask: Ask): Promise<void> =>
  refuses(await ask(world.anonymous), 401, 'authentication_required');

export const roles: readonly UserRole[] = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
  'platform_admin',
  'platform_owner',
];

/** From this role on the operation answers 200, below it 403. Each role is a new person of our organisation. */
export async function expectFrom(
  world: World,
  least: UserRole,
  ask: (person: Person) => Promise<Answer>,
): Promise<void> {
  for (const role of roles.toReversed()) {
    const answer = await ask(await world.newPerson({ role, organisationId: world.organisationId }));
    if (roles.indexOf(role) < roles.indexOf(least)) refuses(answer, 403, 'permission_denied');
    else expect(answer.status === 200, `${role}: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
}

export async function newDepartment(world: World, organisationId: number): Promise<number> {
  const [made] = await world.rows<{ id: number }>(
    'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
    [organisationId, fresh('department')],
  );
  return made?.id ?? 0;
}

/** A person of our organisation who is nobody else's subject. */
export const subject = (world: World): Promise<Person> =>
  world.newPerson({ organisationId: world.organisationId });

/** A model of the sandbox's supplier, as an administrator makes one. */
export async function newModel(world: World, more: Json = {}): Promise<string> {
  const model = fresh('spec');
  const json = {
    model,
    kind: 'chat',
    owned_by: 'proof',
    input_price: '1',
    output_price: '2',
    lanes: [{ provider: 'sandbox', upstream_model: 'sim-small', region: 'local' }],
    ...more,
  };
  okJson(await (await platformBefore(world)).post(`${ADMIN}/models/create`, { json }));
  return model;
}

const said = (model: string) => ({
  json: { model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 },
});

const chat = '/v1/chat/completions';

export const call = (client: Client, model = 'sim-small'): Promise<Answer> => client.post(chat, said(model));

interface Calling {
  readonly client: Client;
}

/** A call whose model is chosen automatically. */
export const callAuto = ({ client }: Calling): Promise<Answer> => client.post('/v1/messages', said('auto'));

/** The settings of a key are in force: its calls are chosen at this place of the dial. */
export async function chosenBy(key: Calling, dial: number): Promise<void> {
  const seen = async (): Promise<string> => {
    const answer = await callAuto(key);
    expectStatus(answer, 200);
    return answer.headers.get('x-svc-auto')?.split('; ').at(-1) ?? '';
  };
  await soon(async () => (await seen()) === String(dial), `the dial is at ${dial}`);
}

/** A call is answered by a model, which callers know a moment after it was made. */
export async function served(client: Client, model = 'sim-small'): Promise<Answer> {
  let answer = await call(client, model);
  await soon(async () => {
    if (answer.status === 404) answer = await call(client, model);
    return answer.status !== 404;
  }, `callers know ${model}`);
  const [choice] = okJson(answer)['choices'] as { message?: { content?: unknown } }[];
  expect(typeof choice?.message?.content === 'string', `an answer: ${answer.text}`);
  return answer;
}

/** Callers see changes of the catalogue a moment later, in their order: a last one tells that all before it are seen. */
export async function untilInForce(world: World): Promise<void> {
  const model = await newModel(world);
  const client = past(world, (await world.newKey(await world.person('user'))).client);
  await served(client, model);
  const json = { model, state: 'paused' };
  okJson(await (await platformBefore(world)).post(`${ADMIN}/model-prices/state`, { json }));
  await soon(async () => (await call(client, model)).status !== 200, 'the change is in force');
}
