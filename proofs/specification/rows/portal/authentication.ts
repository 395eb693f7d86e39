import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { registerConfirmedUser, password, cookiesOf } from '../../../operations/accounts';
import { type Client, expect, expectStatus, jsonOf } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { openPoint, row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  type Json,
  call,
  clientOf,
  crossSite,
  equal,
  expectInvalid,
  uniqueName,
  inHtml,
  newDepartment,
  okHtml,
  okJson,
  expectRejected,
  roles,
  waitUntilServed,
  newMember,
} from './row-helpers';

const bearer = (world: World, text: string): Client =>
  world.anonymous.with({ authorization: `Bearer ${text}` });

async function newKey(world: World, more: Json = {}): Promise<{ id: string; text: string; client: Client }> {
  const creation = okJson(
    await world.rootKey.post('/v1/manage/keys', { json: { name: uniqueName('key'), ...more } }),
  );
  const text = String(creation['key']);
  return { id: String(creation['id']), text, client: bearer(world, text) };
}

const message = { model: 'sim-small', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] };

interface PortalOperation {
  readonly method: string;
  readonly path: string;
  readonly area: string;
}

const operations = (): readonly PortalOperation[] => {
  const text = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  return (JSON.parse(text) as { operations: PortalOperation[] }).operations;
};

const send = (
  client: Client,
  { method, path }: PortalOperation,
  headers: Readonly<Record<string, string>> = {},
) =>
  client.send(method, path.replaceAll(/\{\w+\}/g, '1'), {
    headers,
    ...(method === 'POST' ? { json: {} } : {}),
  });

/** Expects each operation to return this status and code. */
async function expectAll(
  client: Client,
  operationList: readonly PortalOperation[],
  [status, code]: readonly [number, string],
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  expect(operationList.length > 0, 'there are operations');
  for (const operation of operationList) {
    const answer = await send(client, operation, headers);
    const { method, path } = operation;
    try {
      expectRejected(answer, status, code);
    } catch (error) {
      throw new Error(`${method} ${path}: ${String(error)}`, { cause: error });
    }
  }
}

const gateway: readonly SpecificationRow[] = [
  row('5.1.1', 'Every gateway request except `GET /health` carries a key', async (world) => {
    okJson(await world.anonymous.get('/health'));
    const others = operations().filter(({ area, path }) => area === 'gateway' && path !== '/health');
    await expectAll(world.anonymous, others, [401, 'missing_api_key']);
    await expectAll(bearer(world, `svc_${'x'.repeat(57)}`), others, [401, 'invalid_api_key']);
  }),
  row(
    '5.1.1',
    'The error catalogue and the description of the gateway are read without a key',
    async (world) => {
      for (const path of ['/v1/errors', '/v1/errors/budget_exceeded', '/v1/openapi.json'])
        okJson(await world.anonymous.get(path));
    },
    { decided: openPoint('the error catalogue and the description of the gateway are public') },
  ),
  row('5.1.1', 'A key is carried as `Authorization: Bearer <API_KEY>`', async (world) => {
    const { client } = await newKey(world);
    okJson(await client.get('/v1/models'));
    await waitUntilServed(client, 'sim-small');
  }),
  row('5.1.1', 'Keys start with `svc_`', async (world) => {
    const { text } = await newKey(world);
    expect(text.startsWith('svc_'), `of the management operation: ${text.slice(0, 4)}`);
    const { client } = await world.newPerson();
    const creation = okJson(await client.post('/dashboard/keys/new', { json: { name: uniqueName('key') } }));
    expect(String(creation['key']).startsWith('svc_'), 'of the portal');
  }),
  row('5.1.1', 'Keys are scoped to a team or a project', async (world) => {
    const departmentId = await newDepartment(world, world.organisationId);
    const creation = okJson(
      await (
        await clientOf(world, 'org_admin')
      ).post(`${ADMIN}/projects`, { json: { name: uniqueName('project') } }),
    );
    for (const owner of [{ department_id: departmentId }, { project_id: creation['id'] }]) {
      const { id } = await newKey(world, owner);
      const storedKey = okJson(await world.rootKey.get(`/v1/manage/keys/${id}`));
      equal({ ...storedKey, ...owner }, storedKey, 'whose it is');
    }
  }),
  row('5.1.1', 'The management operation tells a key once', async (world) => {
    const { id, text } = await newKey(world);
    const keyResponse = await world.rootKey.get(`/v1/manage/keys/${id}`);
    okJson(keyResponse);
    expect(!keyResponse.text.includes(text), 'it is not told again');
  }),
  ...['/v1/messages', '/v1/messages/count_tokens'].map((path) =>
    row('5.1.2', `\`POST ${path}\` also takes the key as \`x-api-key\``, async (world) => {
      const { text } = await newKey(world);
      okJson(await world.anonymous.post(path, { json: message, headers: { 'x-api-key': text } }));
      const invalidRequest = { json: message, headers: { 'x-api-key': `${text}x` } };
      expectRejected(await world.anonymous.post(path, invalidRequest), 401, 'invalid_api_key');
    }),
  ),
  row('5.1.3', 'Management operations ask for the root admin key', async (world) => {
    const { id, client } = await newKey(world);
    const own = `/v1/manage/keys/${id}`;
    for (const ask of [
      () => client.post('/v1/manage/keys', { json: { name: 'more' } }),
      () => client.get(own),
      () => client.patch(own, { json: { budget_limit: 1_000 } }),
    ]) {
      const answer = await ask();
      const { code } = jsonOf(answer)['error'] as Json;
      expect(answer.status === 403, `another key is refused: ${answer.status}`);
      expect(code === 'forbidden', `by its kind: ${String(code)}`);
    }
  }),
  row('5.1.3', 'The root admin key creates other keys', async (world) => {
    okJson(await (await newKey(world)).client.get('/v1/models'));
  }),
  row('5.1.3', 'The root admin key revokes all other keys', async (world) => {
    const { publicId, client } = await world.newKey(await world.newPerson());
    for (const key of [await newKey(world), { id: publicId, client }]) {
      okJson(await key.client.get('/v1/models'));
      okJson(await world.rootKey.delete(`/v1/manage/keys/${key.id}`));
      expectStatus(await key.client.get('/v1/models'), 401);
    }
  }),
  row('5.1.4', 'Keys are generated in the console of the portal', async (world) => {
    const { client } = await world.newPerson();
    const creation = okJson(await client.post('/dashboard/keys/new', { json: { name: uniqueName('key') } }));
    okJson(await bearer(world, String(creation['key'])).get('/v1/models'));
  }),
  row('5.1.4', 'Keys are generated by the management operation', async (world) => {
    okJson(await (await newKey(world)).client.get('/v1/models'));
  }),
  row('5.1.5', 'A call of a model outside the key’s list is refused: `model_not_allowed`', async (world) => {
    const { client } = await newKey(world, { allowed_models: ['sim-small'] });
    await waitUntilServed(client, 'sim-small');
    expectRejected(await call(client, 'sim-large'), 403, 'model_not_allowed');
  }),
  row(
    '5.1.5',
    'A call outside the key’s regions is refused: `sovereign_route_unavailable`',
    async (world) => {
      await world.suppliers();
      const { client } = await newKey(world, { allowed_regions: 'eu' });
      const answer = await call(client, 'sim-small');
      expectRejected(answer, 503, 'sovereign_route_unavailable');
      equal(answer.headers.get('x-should-retry'), 'false', 'x-should-retry');
      const inside = await newKey(world, { allowed_regions: 'local' });
      await waitUntilServed(inside.client, 'sim-small');
    },
  ),
  row('5.1.5', 'A call beyond the key’s budget is refused: `budget_exceeded`', async (world) => {
    const { client } = await newKey(world, { budget_limit: 0.000_001, budget_period: 'monthly' });
    expectRejected(await call(client, 'sim-small'), 402, 'budget_exceeded');
  }),
  row(
    '5.1.5',
    'A call beyond the key’s requests per minute is refused: `rate_limit_exceeded`',
    async (world) => {
      const { client } = await newKey(world, { rate_limit_rpm: 1 });
      await waitUntilServed(client, 'sim-small');
      expectRejected(await call(client, 'sim-small'), 429, 'rate_limit_exceeded');
    },
  ),
];

const inPortal = (area: string): readonly PortalOperation[] =>
  operations().filter((operation) => operation.area === area);

/** Operations that require a session, without the notices for inactive accounts. */
const sessionOperations = (): readonly PortalOperation[] =>
  [...inPortal('dashboard'), ...inPortal('billing')].filter(({ path }) => !path.endsWith('/webhook'));

const portal: readonly SpecificationRow[] = [
  row('5.2.1', 'People sign in by email and password', async (world) => {
    const email = await registerConfirmedUser(world);
    const answer = await world.anonymous.post('/auth/login', { json: { email, password } });
    okJson(answer);
    okJson(await world.anonymous.with({ cookie: cookiesOf(answer) }).get('/api/legal/status'));
  }),
  row('5.2.2', 'Operations of the dashboard ask for a session', (world) =>
    expectAll(world.anonymous, sessionOperations(), [401, 'authentication_required']),
  ),
  row('5.2.2', 'Operations of the administration ask for a session', (world) =>
    expectAll(world.anonymous, inPortal('administration'), [401, 'authentication_required']),
  ),
  row(
    '5.2.2',
    'What a page of another origin makes a browser send is refused: `csrf_rejected`',
    async (world) => {
      const { client } = await world.newPerson();
      const unsafe = sessionOperations().filter(({ method }) => method !== 'GET');
      await expectAll(client, unsafe, [403, 'csrf_rejected'], crossSite);
      const { client: admin } = await world.newPerson({ role: 'platform_owner' });
      const changes = inPortal('administration').filter(({ method }) => method !== 'GET');
      await expectAll(admin, changes, [403, 'csrf_rejected'], crossSite);
      okJson(await client.post('/dashboard/settings/display-name', { json: { display_name: 'Same' } }));
    },
  ),
  row('5.2.2', 'The same-origin check holds for signing in and for registration', async (world) => {
    const signInOperations = inPortal('account').filter(({ method }) => method === 'POST');
    await expectAll(world.anonymous, signInOperations, [403, 'csrf_rejected'], crossSite);
  }),
  row('5.2.3', 'Operations of the administration answer 403 to users below administrators', async (world) =>
    expectAll(await clientOf(world, 'user'), inPortal('administration'), [403, 'permission_denied']),
  ),
  row('5.2.3', 'Owners and administrators of the platform reach all organisations', async (world) => {
    const [ours, theirs] = [await newMember(world), await world.stranger('user')];
    for (const role of ['platform_admin', 'platform_owner'] as const)
      for (const { userId, email } of [ours, theirs])
        okHtml(await (await clientOf(world, role)).get(`${ADMIN}/users/${userId}`, inHtml), email);
  }),
  row('5.2.3', 'Owners and administrators of an organisation reach their organisation', async (world) => {
    const [ours, theirs] = [await newMember(world), await world.stranger('user')];
    for (const role of ['org_admin', 'org_owner'] as const) {
      const client = await clientOf(world, role);
      okHtml(await client.get(`${ADMIN}/users/${ours.userId}`, inHtml), ours.email);
      expectStatus(await client.get(`${ADMIN}/users/${theirs.userId}`, inHtml), 404);
    }
  }),
  row('5.2.3', 'Administrators of a department reach projects they created or belong to', async (world) => {
    const one = await world.newPerson({ role: 'department_admin', organisationId: world.organisationId });
    const make = async (userId: number) => {
      const name = uniqueName('project');
      const [made] = await world.rows<{ id: number }>(
        'INSERT INTO project (organisation_id, name, created_by) VALUES ($1, $2, $3) RETURNING id',
        [world.organisationId, name, userId],
      );
      return { name, path: `${ADMIN}/projects/${made?.id ?? 0}` };
    };
    const [own, other] = [await make(one.userId), await make((await world.person('org_admin')).userId)];
    okHtml(await one.client.get(own.path, inHtml), own.name);
    expectStatus(await one.client.get(other.path, inHtml), 404);
  }),
  row(
    '5.2.3',
    'The roles are those of owners and administrators of the platform, organisations and departments',
    async (world) => {
      const { client } = await world.newPerson({ role: 'platform_owner' });
      const { userId } = await newMember(world);
      for (const role of roles) {
        const { user } = okJson(await client.post(`${ADMIN}/users/${userId}/role`, { json: { role } })) as {
          user: Json;
        };
        equal(user['role'], role, 'the role');
      }
      expectInvalid(
        await client.post(`${ADMIN}/users/${userId}/role`, { json: { role: 'king' } }),
        'body',
        'role',
      );
    },
  ),
  row('5.2.4', 'Legal acceptance is recorded per user', async (world) => {
    const [one, other] = [await world.newPerson(), await world.newPerson()];
    okJson(await one.client.post('/api/legal/accept', { json: {} }));
    const acceptTerms = async ({ client }: { client: Client }) =>
      okJson(await client.get('/api/legal/status'))['accepted'];
    equal([await acceptTerms(one), await acceptTerms(other)], [true, false], 'who accepted');
  }),
];

const versions: readonly SpecificationRow[] = [
  row('9.3', 'The portal’s machine-readable description is titled as the portal', async (world) => {
    const { info } = okJson(await world.anonymous.get('/openapi.json')) as { info: Json };
    expect(/portal/i.test(String(info['title'])), `the title: ${String(info['title'])}`);
  }),
  row('9.3', 'The portal’s machine-readable description has version `0.1.0`', async (world) => {
    const { info } = okJson(await world.anonymous.get('/openapi.json')) as { info: Json };
    equal(info['version'], '0.1.0', 'the version');
  }),
  row('9.4', 'Legal acceptance is tied to a current legal version', async (world) => {
    const { client, userId } = await world.newPerson();
    const { version } = okJson(await client.post('/api/legal/accept', { json: {} }));
    const status = async () => okJson(await client.get('/api/legal/status'));
    equal(
      [(await status())['accepted'], (await status())['version']],
      [true, version],
      'the current version',
    );
    await world.rows("UPDATE legal_acceptance SET version = 'of before' WHERE user_id = $1", [userId]);
    equal((await status())['accepted'], false, 'an acceptance of another version');
  }),
  row(
    '7.9.1',
    'The validation body of 422 names each fault by `loc`, `msg` and `type`, with `code`, `message` and `human_message`',
    async (world) => {
      const { client } = await world.newPerson();
      const answer = await client.get('/dashboard/api/autorouter?days=never');
      expectStatus(answer, 422);
      const { detail, code, message, human_message: human } = jsonOf(answer);
      const [issue] = detail as Json[];
      equal(issue?.['loc'], ['query', 'days'], 'loc');
      equal([typeof issue?.['msg'], typeof issue?.['type']], ['string', 'string'], 'msg and type');
      equal(
        [code, message],
        ['validation_error', `validation_error - ${String(human)}`],
        'the code and the message',
      );
    },
    {
      decided: openPoint('the validation body is {detail: [{loc, msg, type}], code, message, human_message}'),
    },
  ),
];

export const authenticationRows: readonly SpecificationRow[] = [...gateway, ...portal, ...versions];
