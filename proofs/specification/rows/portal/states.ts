import { mailTo, newAddress } from '../../../operations/accounts';
import { type Client, expect } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { openPoint, row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  type Json,
  call,
  clientOf,
  equal,
  expectFrom,
  expectInvalid,
  uniqueName,
  inHtml,
  newModel,
  okHtml,
  okJson,
  platform,
  expectRejected,
  waitUntilServed,
} from './row-helpers';

const states = ['active', 'paused', 'hidden', 'deleted'] as const;
type CatalogueModelState = (typeof states)[number];

const setState = async (client: Client, model: string, state: CatalogueModelState): Promise<unknown> =>
  okJson(await client.post(`${ADMIN}/model-prices/state`, { json: { model, state } }))['state'];

/** Creates a model in this state. */
async function modelIn(world: World, state: CatalogueModelState): Promise<string> {
  const model = await newModel(world);
  if (state !== 'active') await setState(await platform(world), model, state);
  return model;
}

/** Expects the administration list to show this state. */
async function expectListed(world: World, model: string, state: CatalogueModelState): Promise<void> {
  const client = await platform(world);
  const page = await client.get(`${ADMIN}/models?state=${state}&q=${model}`, inHtml);
  okHtml(page, `>${model}</a>`);
}

const models: readonly SpecificationRow[] = [
  ...states.map((to) =>
    row(
      '3',
      `A model of any state becomes \`${to}\` by \`POST ${ADMIN}/model-prices/state\``,
      async (world) => {
        const client = await platform(world);
        for (const from of states) {
          const model = await modelIn(world, from);
          equal(await setState(client, model, to), to, `the state of what was ${from}`);
          await expectListed(world, model, to);
        }
      },
    ),
  ),
  row('3', `\`POST ${ADMIN}/model-prices/state\` takes no state beside the four`, async (world) => {
    const json = { model: await newModel(world), state: 'sleeping' };
    expectInvalid(
      await (await platform(world)).post(`${ADMIN}/model-prices/state`, { json }),
      'body',
      'state',
    );
  }),
  row(
    '3',
    `\`POST ${ADMIN}/model-prices/state\` is for administrators`,
    async (world) => {
      const model = await newModel(world);
      const json = { model, state: 'paused' };
      await expectFrom(world, 'platform_admin', ({ client }) =>
        client.post(`${ADMIN}/model-prices/state`, { json }),
      );
    },
    {
      decided: openPoint(
        'models, providers and tokens of suppliers belong to the platform, so its administrators',
      ),
    },
  ),
  row(
    '3',
    `A model of any state becomes \`deleted\` by \`POST ${ADMIN}/model-prices/delete\``,
    async (world) => {
      const client = await platform(world);
      for (const from of states) {
        const model = await modelIn(world, from);
        const answer = await client.post(`${ADMIN}/model-prices/delete`, { json: { model } });
        equal(okJson(answer)['state'], 'deleted', `the state of what was ${from}`);
      }
    },
  ),
  row('3', `The record of a model remains after \`POST ${ADMIN}/model-prices/delete\``, async (world) => {
    const client = await platform(world);
    const model = await newModel(world);
    okJson(await client.post(`${ADMIN}/model-prices/delete`, { json: { model } }));
    await expectListed(world, model, 'deleted');
    equal(await setState(client, model, 'active'), 'active', 'it comes back');
    const { price } = okJson(await client.get(`${ADMIN}/models/${model}/price-schedule`)) as { price: Json };
    equal(price['input_price'], 1, 'with its price');
  }),
  row(
    '3',
    `\`POST ${ADMIN}/model-prices/delete\` is for administrators`,
    async (world) => {
      const json = { model: await newModel(world) };
      await expectFrom(world, 'platform_admin', ({ client }) =>
        client.post(`${ADMIN}/model-prices/delete`, { json }),
      );
    },
    {
      decided: openPoint(
        'models, providers and tokens of suppliers belong to the platform, so its administrators',
      ),
    },
  ),
];

const invites = `${ADMIN}/users/invite`;

async function inviteUser(
  world: World,
): Promise<{ id: number; token: string; email: string; client: Client }> {
  const email = newAddress();
  const client = await clientOf(world, 'org_admin');
  const creation = okJson(await client.post(invites, { json: { email, role: 'user' } }));
  const token = /\/invite\/([\w-]{43})/.exec((await mailTo(world, email, /./)).text)?.[1] ?? '';
  return { id: (creation['invites'] as number[])[0] ?? 0, token, email, client };
}

const invitations: readonly SpecificationRow[] = [
  row('3', 'An invitation is pending until it is used or revoked', async (world) => {
    const { token } = await inviteUser(world);
    okHtml(await world.anonymous.get(`/invite/${token}`, inHtml), `/login?next=/invite/${token}`);
  }),
  row('3', `\`POST ${invites}/{invite_id}/revoke\` revokes an invitation that is pending`, async (world) => {
    const { id, token, client } = await inviteUser(world);
    okJson(await client.post(`${invites}/${id}/revoke`));
    const page = okHtml(await world.anonymous.get(`/invite/${token}`, inHtml), 'was withdrawn');
    expect(!page.includes(`/login?next=/invite/${token}`), 'nothing leads on');
  }),
  row('3', 'A revoked invitation can no longer be used', async (world) => {
    const { id, token, client, email } = await inviteUser(world);
    okJson(await client.post(`${invites}/${id}/revoke`));
    const guest = await world.newPerson({ email });
    const answer = await guest.client.post(`/invite/${token}/accept`, { json: {} });
    expect(answer.status >= 400 && answer.status < 500, `accepting is refused: ${answer.status}`);
    const [member] = await world.rows<{ organisation_id: number | null }>(
      'SELECT organisation_id FROM user_account WHERE id = $1',
      [guest.userId],
    );
    equal(member?.organisation_id, null, 'the organisation of the guest');
  }),
  row(
    '3',
    `\`POST ${invites}/{invite_id}/revoke\` refuses an invitation that is not pending`,
    async (world) => {
      const { id, token, client, email } = await inviteUser(world);
      const guest = await world.newPerson({ email });
      okJson(await guest.client.post(`/invite/${token}/accept`, { json: {} }));
      expectRejected(await client.post(`${invites}/${id}/revoke`), 409, 'conflict');
    },
  ),
];

export const newProvider = async (world: World, more: Json = {}): Promise<{ id: number; name: string }> => {
  const name = uniqueName('provider');
  const json = {
    name,
    style: 'openai-style',
    base_url: 'https://supplier.example/v1',
    secret: 'sk-0123456789ab',
    ...more,
  };
  const { id } = okJson(await (await platform(world)).post(`${ADMIN}/providers`, { json }));
  return { id: Number(id), name };
};

const visibility = (id: number) => `${ADMIN}/providers/${id}/visibility`;

/** A model whose first lane uses a new provider and whose second uses the sandbox's. */
async function modelWithFallback(world: World): Promise<{ id: number; name: string; model: string }> {
  const { id, name } = await newProvider(world);
  const lanes = [
    { provider: name, upstream_model: 'first', region: 'local' },
    { provider: 'sandbox', upstream_model: 'sim-small', region: 'local' },
  ];
  return { id, name, model: await newModel(world, { lanes }) };
}

const providers: readonly SpecificationRow[] = [
  row(
    '3',
    `A provider is hidden and visible again by \`POST ${ADMIN}/providers/{provider_id}/visibility\``,
    async (world) => {
      const client = await platform(world);
      const { id } = await newProvider(world);
      for (const visible of [false, true]) {
        equal(
          okJson(await client.post(visibility(id), { json: { visible } }))['visible'],
          visible,
          'visible',
        );
        equal(
          okJson(await client.get(`${visibility(id)}-info`))['visible'],
          visible,
          'visible when asked again',
        );
      }
    },
  ),
  row(
    '3',
    `\`POST ${ADMIN}/providers/{provider_id}/visibility\` is for administrators`,
    async (world) => {
      const { id } = await newProvider(world);
      await expectFrom(world, 'platform_admin', ({ client }) =>
        client.post(visibility(id), { json: { visible: true } }),
      );
    },
    {
      decided: openPoint(
        'models, providers and tokens of suppliers belong to the platform, so its administrators',
      ),
    },
  ),
  row('3', 'Hiding a provider promotes the backups of its models', async (world) => {
    const client = await platform(world);
    const { id, model } = await modelWithFallback(world);
    equal(okJson(await client.get(`${visibility(id)}-info`))['moves_to_backup'], 1, 'models with a backup');
    okJson(await client.post(visibility(id), { json: { visible: false } }));
    const key = await world.newKey(await world.person('user'));
    const answer = await waitUntilServed(key.client, model);
    equal(answer.headers.get('x-svc-supplier'), 'sandbox', 'who answers');
  }),
];

const budgets: readonly SpecificationRow[] = [
  row('3', '`status` of a managed key carries `active`', async (world) => {
    const { publicId } = await world.newKey(await world.person('user'));
    equal(okJson(await world.rootKey.get(`/v1/manage/keys/${publicId}`))['status'], 'active', 'the status');
  }),
  row('3', 'A key whose budget is reached stops working: `budget_exceeded`', async (world) => {
    const json = { name: uniqueName('key'), budget_limit: 0.000_001, budget_period: 'daily' };
    const creation = okJson(await world.rootKey.post('/v1/manage/keys', { json }));
    const key = world.anonymous.with({ authorization: `Bearer ${String(creation['key'])}` });
    const answer = await call(key, 'sim-small');
    expect(answer.status >= 400 && answer.text.includes('budget_exceeded'), `refused: ${answer.text}`);
  }),
  row(
    '3',
    '`resets_at` of a key is the next reset of its period',
    async (world) => {
      const now = new Date();
      const next = {
        daily: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1),
        monthly: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
      };
      for (const period of ['daily', 'monthly'] as const) {
        const json = { name: uniqueName('key'), budget_limit: 5, budget_period: period };
        const creation = okJson(await world.rootKey.post('/v1/manage/keys', { json }));
        const storedKey = okJson(await world.rootKey.get(`/v1/manage/keys/${String(creation['id'])}`));
        equal(Date.parse(String(storedKey['resets_at'])), next[period], `the end of ${period}`);
      }
    },
    { decided: openPoint('days and months of budgets are those of UTC') },
  ),
];

export const stateRows: readonly SpecificationRow[] = [...models, ...invitations, ...providers, ...budgets];
