import { type Client, expect, expectStatus, jsonOf } from '../../../operations/http';
import type { PortalUser, World } from '../../../operations/world';
import { mailTo, newAddress } from '../../../operations/accounts';
import { row, type SpecificationRow } from '../../row';
import { newProvider } from './states';
import {
  ADMIN,
  type Json,
  call,
  clientOf,
  equal,
  expectInvalid,
  uniqueName,
  inHtml,
  newDepartment,
  newModel,
  okHtml,
  okJson,
  platform,
  expectRejected,
  waitUntilServed,
  newMember,
  waitForCatalogue,
} from './row-helpers';

const postAsPlatform = async (world: World, path: string, json: object): Promise<Json> =>
  okJson(await (await platform(world)).post(`${ADMIN}/${path}`, { json }));

/** Id of a created object: the path accepts the integer and no text. */
interface ResourceId {
  readonly name: string;
  readonly make: (world: World) => Promise<unknown>;
  readonly by: (world: World) => Promise<Client>;
  readonly ask: (client: Client, id: string) => ReturnType<Client['get']>;
}

const ids: readonly ResourceId[] = [
  {
    name: 'user_id',
    make: async (world) => (await newMember(world)).userId,
    by: platform,
    ask: (client, id) => client.get(`${ADMIN}/users/${id}`),
  },
  {
    name: 'org_id',
    make: async (world) => {
      const slug = uniqueName('o');
      return (await postAsPlatform(world, 'organisations', { name: slug, slug }))['id'];
    },
    by: platform,
    ask: (client, id) => client.get(`${ADMIN}/organisations/${id}/merge-data`),
  },
  {
    name: 'grant_id',
    make: async (world) => {
      const { userId } = await newMember(world);
      const json = { name: uniqueName('grant'), scope: 'user', user_id: userId, amount: 1 };
      return (await postAsPlatform(world, 'promotions', json))['id'];
    },
    by: platform,
    ask: (client, id) => client.post(`${ADMIN}/promotions/${id}/update`, { json: { name: 'renamed' } }),
  },
  {
    name: 'provider_id',
    make: async (world) => (await newProvider(world)).id,
    by: platform,
    ask: (client, id) => client.get(`${ADMIN}/providers/${id}/visibility-info`),
  },
  {
    name: 'schedule_id',
    make: async (world) => {
      const json = { starts_at: '2080-01-01T00:00:00Z', input_price: '0.5' };
      return (await postAsPlatform(world, 'models/sim-small/price-schedule', json))['id'];
    },
    by: platform,
    ask: (client, id) => client.delete(`${ADMIN}/models/sim-small/price-schedule/${id}`),
  },
  {
    name: 'invite_id',
    make: async (world) => {
      const json = { email: newAddress(), role: 'user' };
      const creation = okJson(
        await (await clientOf(world, 'org_admin')).post(`${ADMIN}/users/invite`, { json }),
      );
      return (creation['invites'] as unknown[])[0];
    },
    by: (world) => clientOf(world, 'org_admin'),
    ask: (client, id) => client.post(`${ADMIN}/users/invite/${id}/revoke`),
  },
  {
    name: 'conv_id',
    make: async (world) =>
      okJson(await (await clientOf(world, 'user')).post('/api/conversations', { json: {} }))['id'],
    by: (world) => clientOf(world, 'user'),
    ask: (client, id) => client.delete(`/api/conversations/${id}`),
  },
  {
    name: 'dept_id',
    make: (world) => newDepartment(world, world.organisationId),
    by: (world) => clientOf(world, 'org_admin'),
    ask: (client, id) => client.get(`${ADMIN}/api/departments/${id}/model-access`),
  },
];

const idRows: readonly SpecificationRow[] = [
  ...ids.map(({ name, make, by, ask }) =>
    row('2.6', `\`${name}\` is an integer in paths`, async (world) => {
      const id = await make(world);
      expect(Number.isInteger(id), `the id: ${JSON.stringify(id)}`);
      const client = await by(world);
      expectInvalid(await ask(client, 'abc'), 'path', name);
      expectStatus(await ask(client, String(id)), 200);
    }),
  ),
  row('2.6', '`key_id` is an integer in paths of the portal', async (world) => {
    const person = await world.newPerson();
    const { id, publicId } = await world.newKey(person);
    const path = '/dashboard/keys';
    okHtml(await person.client.get(`${path}/${id}`, inHtml), publicId);
    okJson(await person.client.post(`${path}/${id}`, { json: { name: 'renamed' } }));
    expectInvalid(await person.client.post(`${path}/abc`, { json: { name: 'renamed' } }), 'path', 'key_id');
    expectInvalid(await person.client.post(`${path}/${publicId}`, { json: { name: 'x' } }), 'path', 'key_id');
  }),
  row('2.6', '`key_id` is an integer wherever the portal tells of a key', async (world) => {
    const person = await newMember(world);
    const json = { name: uniqueName('key') };
    const { id } = okJson(await person.client.post('/dashboard/keys/new', { json }));
    expect(Number.isInteger(id), `the answer of a new key: ${String(id)}`);
    const update = okJson(
      await person.client.post(`/dashboard/keys/${Number(id)}`, { json: { name: 'renamed' } }),
    );
    equal(update['id'], id, 'the answer of a change');
    const client = await clientOf(world, 'org_admin');
    const state = okJson(await client.get(`${ADMIN}/api/key-rate-limit-state?key_id=${Number(id)}`));
    equal(state['key_id'], id, 'the state of its limiter');
  }),
];

const strings: readonly SpecificationRow[] = [
  row('2.6', '`request_id` is a string in paths', async (world) => {
    const client = await clientOf(world, 'user');
    const answer = await client.get('/dashboard/qualitative/detail/0191-no-such-request');
    expectRejected(answer, 404, 'not_found');
  }),
  row('2.6', '`model` is a string in paths', async (world) => {
    const model = await newModel(world);
    const client = await platform(world);
    equal(okJson(await client.get(`${ADMIN}/models/${model}/price-schedule`))['model'], model, 'the model');
    expectRejected(await client.get(`${ADMIN}/models/no-such/price-schedule`), 404, 'model_not_found');
  }),
  row('2.6', '`alias_name` is a string in paths', async (world) => {
    const [model, alias] = [await newModel(world), uniqueName('alias')];
    const client = await platform(world);
    okJson(await client.post(`${ADMIN}/model-aliases`, { json: { model, alias } }));
    okJson(await client.delete(`${ADMIN}/model-aliases/${alias}`));
  }),
  row('2.6', '`token` is a string in paths', async (world) => {
    const email = newAddress();
    const owner = await clientOf(world, 'org_owner');
    okJson(await owner.post(`${ADMIN}/users/invite`, { json: { email, role: 'user' } }));
    const token = /\/invite\/([\w-]{43})/.exec((await mailTo(world, email, /./)).text)?.[1] ?? '';
    okHtml(await world.anonymous.get(`/invite/${token}`), email);
    expectRejected(await world.anonymous.get(`/invite/${'A'.repeat(43)}`), 404, 'not_found');
  }),
];

const change = async (world: World, { userId }: PortalUser, act: string, json: object): Promise<Json> =>
  (await postAsPlatform(world, `users/${userId}/${act}`, json))['user'] as Json;

/** The user's entry in the administration list. */
const entryOf = async (world: World, { email }: PortalUser): Promise<Json> => {
  const client = await platform(world);
  const path = `${ADMIN}/users?q=${encodeURIComponent(email)}`;
  const { data } = okJson(await client.get(path, { headers: { accept: 'application/json' } })) as {
    data: Json[];
  };
  equal(data.length, 1, `entries of ${email}`);
  return data[0] ?? {};
};

/** A user attribute: the list of users shows the set value afterwards and did not before. */
const ofUser = (
  attribute: string,
  act: string,
  json: (world: World) => Json | Promise<Json>,
  [field, shown]: readonly [field: string, shown: (world: World, values: Json) => Promise<unknown>],
): SpecificationRow =>
  row('2.6', `A user has ${attribute}, which the list of users shows`, async (world) => {
    const newValues = await json(world);
    const person = await newMember(world);
    const after = await shown(world, newValues);
    expect((await entryOf(world, person))[field] !== after, `${field} is so already`);
    await change(world, person, act, newValues);
    equal((await entryOf(world, person))[field], after, 'the attribute');
  });

const asSet = (name: string) => (_world: World, values: Json) => Promise.resolve(values[name]);

const nameOf =
  (table: 'organisation' | 'department', field: string) =>
  async (world: World, values: Json): Promise<unknown> => {
    const [found] = await world.rows<Json>(`SELECT name FROM ${table} WHERE id = $1`, [values[field]]);
    return found?.['name'];
  };

const users: readonly SpecificationRow[] = [
  ofUser('a role', 'role', () => ({ role: 'org_admin' }), ['role', asSet('role')]),
  ofUser('a status', 'status', () => ({ status: 'suspended' }), ['status', asSet('status')]),
  ofUser('`billing_exempt`', 'billing-exempt', () => ({ billing_exempt: false }), [
    'billing_exempt',
    asSet('billing_exempt'),
  ]),
  ofUser('an organisation', 'org', ({ otherOrganisationId }) => ({ org_id: otherOrganisationId }), [
    'organisation',
    nameOf('organisation', 'org_id'),
  ]),
  ofUser(
    'a department',
    'department',
    async (world) => ({ department_id: await newDepartment(world, world.organisationId) }),
    ['department', nameOf('department', 'department_id')],
  ),
  ofUser(
    'a type of the billing config',
    'billing-config',
    () => ({ billing_type: 'invoiced', budget: 2.5, budget_period: 'daily' }),
    ['billing_type', asSet('billing_type')],
  ),
  ...(['budget', 'period'] as const).map((attribute) =>
    row('2.6', `A user has a ${attribute} of the billing config, which calls are held to`, async (world) => {
      const person = await newMember(world);
      const key = await world.newKey(person);
      await waitUntilServed(key.client, 'sim-small');
      const json = { billing_type: 'prepaid', budget: '0.000000001', budget_period: 'daily' };
      await change(world, person, 'billing-config', json);
      const rejection = await call(key.client, 'sim-small');
      expectRejected(rejection, 402, 'budget_exceeded');
      const midnight = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      const { resets_at: resets } = jsonOf(rejection)['error'] as Json;
      if (attribute === 'period')
        equal(Date.parse(String(resets)), Date.parse(midnight), 'the end of the day');
      else {
        await change(world, person, 'billing-config', { ...json, budget: 5 });
        await waitUntilServed(key.client, 'sim-small');
      }
    }),
  ),
  row('2.6', 'A user has a credit limit', async (world) => {
    const person = await world.newPerson({ billingExempt: false });
    const key = await world.newKey(person);
    expectRejected(await call(key.client, 'sim-small'), 403, 'billing_limit_reached');
    await change(world, person, 'credit-limit', { credit_limit: 3 });
    await waitUntilServed(key.client, 'sim-small');
  }),
  row('2.6', 'A user has a monthly budget', async (world) => {
    const person = await newMember(world);
    const key = await world.newKey(person);
    await change(world, person, 'monthly-budget', { monthly_budget: '0.000000001' });
    const rejection = await call(key.client, 'sim-small');
    expect(rejection.status >= 400 && rejection.status < 500, `nothing is left: ${rejection.status}`);
    await change(world, person, 'monthly-budget', { monthly_budget: 5 });
    await waitUntilServed(key.client, 'sim-small');
  }),
  row('2.6', 'A user has a preferred language', async (world) => {
    const { client, userId } = await world.newPerson();
    okJson(await client.post('/dashboard/settings', { json: { preferred_language: 'es' } }));
    const otherSession = await world.signIn({ id: userId, email: '' });
    okHtml(await otherSession.client.get('/dashboard', inHtml), '<html lang="es"');
  }),
];

const ofOrganisation = (attribute: 'name' | 'slug' | 'billing_exempt' | 'monthly_budget'): SpecificationRow =>
  row('2.6', `An organisation has \`${attribute}\``, async (world) => {
    const slug = uniqueName('o');
    const client = await platform(world);
    const { id } = okJson(await client.post(`${ADMIN}/organisations`, { json: { name: slug, slug } }));
    const values = {
      name: uniqueName('name'),
      slug: uniqueName('slug'),
      billing_exempt: true,
      monthly_budget: 17.25,
    };
    const path = `${ADMIN}/organisations/${Number(id)}`;
    okJson(await client.post(path, { json: { [attribute]: values[attribute] } }));
    const page = okHtml(await client.get(path, inHtml));
    const field = new RegExp(
      `<(input|select)[^>]*name="${attribute}"[^>]*>(\\s*<option[^>]*>[^<]*</option>)*`,
    );
    const formField = field.exec(page)?.[0] ?? '';
    const expectedText = `value="${String(values[attribute])}${attribute === 'billing_exempt' ? '" selected' : ''}`;
    expect(formField.includes(expectedText), `the field of the page: ${formField}`);
  });

const models: readonly SpecificationRow[] = [
  row('2.6', 'A model has a state, which its callers and the administration see', async (world) => {
    const model = await newModel(world);
    const key = await world.newKey(await world.person('user'));
    await waitUntilServed(key.client, model);
    const client = await platform(world);
    okJson(await client.post(`${ADMIN}/model-prices/state`, { json: { model, state: 'paused' } }));
    const page = await client.get(`${ADMIN}/models?state=paused&q=${model}`, inHtml);
    okHtml(page, `>${model}</a>`);
    await waitForCatalogue(world);
    const rejection = await call(key.client, model);
    expect(rejection.status >= 400 && rejection.status < 600, `a paused model answers: ${rejection.status}`);
    const { data } = okJson(await key.client.get('/v1/models')) as { data: Json[] };
    expect(!data.some(({ id }) => id === model), 'a paused model is listed');
  }),
  row('2.6', 'A model has a `display_order`', async (world) => {
    const [one, two] = [await newModel(world), await newModel(world)];
    const orders = async () => {
      const orderOf = async (model: string) =>
        Number((await postAsPlatform(world, 'models/update', { model }))['display_order']);
      return [await orderOf(one), await orderOf(two)] as const;
    };
    for (const expectedOrder of [
      [two, one],
      [one, two],
    ]) {
      await postAsPlatform(world, 'models/reorder', { order: expectedOrder });
      const [first, second] = await orders();
      equal(first < second, expectedOrder[0] === one, 'whether the first one comes first');
    }
  }),
  row('2.6', 'A model has a `redirect_to`: calls of it are answered by that model', async (world) => {
    const [model, target] = [await newModel(world), await newModel(world)];
    await postAsPlatform(world, 'model-prices/redirect', { model, redirect_to: target });
    await waitForCatalogue(world);
    const key = await world.newKey(await world.person('user'));
    equal(okJson(await waitUntilServed(key.client, model))['model'], target, 'who answers');
  }),
  row('2.6', 'A model has aliases', async (world) => {
    const [model, alias] = [await newModel(world), uniqueName('alias')];
    await postAsPlatform(world, 'models/add-alias', { model, alias });
    const { aliases } = await postAsPlatform(world, 'models/update', { model });
    equal(aliases, [alias], 'the aliases');
  }),
  ...(['input', 'output', 'ppm'] as const).map((name) =>
    row('2.6', `A model has a price: ${name}`, async (world) => {
      const model = await newModel(world, { [`${name}_price`]: '0.375' });
      const { price } = okJson(
        await (await platform(world)).get(`${ADMIN}/models/${model}/price-schedule`),
      ) as { price: Json };
      equal(price[`${name}_price`], 0.375, 'the price');
    }),
  ),
  row('2.6', 'A model has a preference of replay inclusion, which is kept', async (world) => {
    const model = await newModel(world);
    const client = await platform(world);
    for (const included of [true, false]) {
      okJson(await client.post(`/admin/models/${model}/replay-inclusion`, { json: { included } }));
      const storedModel = okJson(await client.post(`${ADMIN}/models/update`, { json: { model } }));
      equal(storedModel['replay_included'], included, 'the preference');
    }
  }),
  row('2.6', 'A model has access by organisation', async (world) => {
    const model = await newModel(world);
    const json = { model, org_id: world.organisationId, allowed: false };
    await postAsPlatform(world, 'api/model-org-access', json);
    await waitForCatalogue(world);
    const [ours, theirs] = [
      await world.newKey(await newMember(world)),
      await world.newKey(await world.stranger('user')),
    ];
    await waitUntilServed(theirs.client, model);
    expectRejected(await call(ours.client, model), 403, 'model_not_accessible');
  }),
  row('2.6', 'A model has access by department', async (world) => {
    const model = await newModel(world);
    const departmentId = await newDepartment(world, world.organisationId);
    const client = await clientOf(world, 'org_admin');
    okJson(
      await client.post(`${ADMIN}/api/departments/${departmentId}/model-access`, {
        json: { blocked: [model] },
      }),
    );
    await waitForCatalogue(world);
    const member = await world.newPerson({ organisationId: world.organisationId, departmentId });
    const [inside, beside] = [await world.newKey(member), await world.newKey(await newMember(world))];
    await waitUntilServed(beside.client, model);
    expectRejected(await call(inside.client, model), 403, 'model_not_accessible');
  }),
  row('2.6', 'A provider is hidden or not', async (world) => {
    const { id } = await newProvider(world);
    for (const visible of [false, true]) {
      const provider = await postAsPlatform(world, `providers/${id}/visibility`, { visible });
      equal(provider['visible'], visible, 'visible');
    }
  }),
];

export const resourceRows: readonly SpecificationRow[] = [
  ...idRows,
  ...strings,
  ...users,
  ...(['name', 'slug', 'billing_exempt', 'monthly_budget'] as const).map(ofOrganisation),
  ...models,
];
