import { type Client, expect, eventually } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  type Json,
  callTo,
  call,
  equal,
  expectFrom,
  uniqueName,
  inHtml,
  okHtml,
  okJson,
  platform,
  expectRejected,
  refusesAnonymous,
  newMember,
} from './row-helpers';

const organisations = `${ADMIN}/organisations`;
const promotions = `${ADMIN}/promotions`;

export async function newOrganisation(world: World): Promise<number> {
  const slug = uniqueName('o');
  return Number(
    okJson(await (await platform(world)).post(organisations, { json: { name: slug, slug } }))['id'],
  );
}

const pageOf = async (client: Client, id: number): Promise<string> =>
  okHtml(await client.get(`${organisations}/${id}`, inHtml));

/** Value of a field of the organisation form. */
const fieldIn = (page: string, name: string): string | undefined =>
  new RegExp(`<input[^>]*name="${name}"[^>]*value="([^"]*)"`).exec(page)?.[1] ??
  new RegExp(`<input[^>]*value="([^"]*)"[^>]*name="${name}"`).exec(page)?.[1];

/** Selected option of a list. */
const chosenIn = (page: string, name: string): string | undefined => {
  const list = new RegExp(`<select[^>]*name="${name}"[\\s\\S]*?</select>`).exec(page)?.[0] ?? '';
  return /value="([^"]*)" selected/.exec(list)?.[1];
};

const change = async (world: World, id: number, json: Json): Promise<string> => {
  const client = await platform(world);
  okJson(await client.post(`${organisations}/${id}`, { json }));
  return pageOf(client, id);
};

const organisationRows: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${organisations}\` lists organisations with figures`, async (world) => {
    const person = await newMember(world);
    const id = await newOrganisation(world);
    await world.rows('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [person.userId, id]);
    const [{ slug }] = (await world.rows<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [
      id,
    ])) as [{ slug: string }];
    const page = okHtml(await (await platform(world)).get(`${organisations}?q=${slug}`), slug);
    const line = /<tbody[\s\S]*?<\/tbody>/.exec(page)?.[0] ?? '';
    expect(/>\s*1\s*</.test(line), 'the number of its users');
  }),
  row('4.10', `\`POST ${organisations}\` creates an organisation`, async (world) => {
    const slug = uniqueName('o');
    const client = await platform(world);
    const creation = okJson(await client.post(organisations, { json: { name: 'Made here', slug } }));
    expect((await pageOf(client, Number(creation['id']))).includes('Made here'), 'its page');
  }),
  row('4.10', `\`POST ${organisations}/{org_id}\` updates \`name\``, async (world) => {
    const page = await change(world, await newOrganisation(world), { name: 'Another name' });
    equal(fieldIn(page, 'name'), 'Another name', 'the name');
  }),
  row('4.10', `\`POST ${organisations}/{org_id}\` updates \`slug\``, async (world) => {
    const slug = uniqueName('slug');
    const page = await change(world, await newOrganisation(world), { slug });
    equal(fieldIn(page, 'slug'), slug, 'the slug');
  }),
  row('4.10', `\`POST ${organisations}/{org_id}\` updates \`billing_exempt\``, async (world) => {
    const id = await newOrganisation(world);
    for (const exempt of [true, false]) {
      const page = await change(world, id, { billing_exempt: exempt });
      equal(chosenIn(page, 'billing_exempt'), String(exempt), 'what is chosen');
    }
  }),
  row('4.10', `\`POST ${organisations}/{org_id}\` updates \`monthly_budget\``, async (world) => {
    const page = await change(world, await newOrganisation(world), { monthly_budget: 12.5 });
    equal(Number(fieldIn(page, 'monthly_budget')), 12.5, 'the budget');
  }),
  row('4.10', `\`DELETE ${organisations}/{org_id}\` deletes an organisation`, async (world) => {
    const client = await platform(world);
    const id = await newOrganisation(world);
    okJson(await client.delete(`${organisations}/${id}`));
    expectRejected(await client.get(`${organisations}/${id}`), 404, 'not_found');
  }),
  row(
    '4.10',
    `\`DELETE ${organisations}/{org_id}\` fails where the organisation has users`,
    async (world) => {
      await newMember(world);
      const client = await platform(world);
      expectRejected(await client.delete(`${organisations}/${world.organisationId}`), 409, 'conflict');
      await pageOf(client, world.organisationId);
    },
  ),
  row(
    '4.10',
    `\`GET ${organisations}/{org_id}/merge-data\` answers members and \`billing_user_id\``,
    async (world) => {
      const id = await newOrganisation(world);
      const person = await world.newPerson({ organisationId: id });
      await world.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [id, person.userId]);
      const { members, billing_user_id: payer } = okJson(
        await (await platform(world)).get(`${organisations}/${id}/merge-data`),
      );
      equal(
        (members as Json[]).map((member) => member['id']),
        [person.userId],
        'the members',
      );
      equal(payer, person.userId, 'who pays');
    },
  ),
];

/** Two organisations: the source has an owner, the target has none. */
async function mergePair(world: World) {
  const [target, source] = [await newOrganisation(world), await newOrganisation(world)];
  const owner = await world.newPerson({ organisationId: source, role: 'org_owner' });
  return { target, source, owner };
}

const merge = (world: World, form: Readonly<Record<string, string>>) =>
  platform(world).then((client) =>
    client.post(`${organisations}/merge`, {
      form,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }),
  );

const memberOf = async (world: World, userId: number): Promise<Json | undefined> => {
  const [member] = await world.rows<Json>('SELECT organisation_id, role FROM user_account WHERE id = $1', [
    userId,
  ]);
  return member;
};

const merging: readonly SpecificationRow[] = [
  row(
    '4.10',
    `\`POST ${organisations}/merge\` merges the organisations \`source_org_ids\`, separated by commas, into \`target_org_id\``,
    async (world) => {
      const { target, source, owner } = await mergePair(world);
      const second = await newOrganisation(world);
      const form = {
        target_org_id: String(target),
        source_org_ids: `${source},${second}`,
        billing_user_id: String(owner.userId),
      };
      okJson(await merge(world, form));
      equal((await memberOf(world, owner.userId))?.['organisation_id'], target, 'where the member is');
      const client = await platform(world);
      for (const removedOrganisation of [source, second])
        expectRejected(await client.get(`${organisations}/${removedOrganisation}`), 404, 'not_found');
    },
  ),
  row(
    '4.10',
    `\`billing_user_id\` of \`POST ${organisations}/merge\` is the designated billing user`,
    async (world) => {
      const { target, source, owner } = await mergePair(world);
      const form = {
        target_org_id: String(target),
        source_org_ids: String(source),
        billing_user_id: String(owner.userId),
      };
      okJson(await merge(world, form));
      const data = okJson(await (await platform(world)).get(`${organisations}/${target}/merge-data`));
      equal(data['billing_user_id'], owner.userId, 'who pays');
    },
  ),
  row(
    '4.10',
    `\`role_{user_id}\` of \`POST ${organisations}/merge\` overrides the role of an owner or administrator`,
    async (world) => {
      const { target, source, owner } = await mergePair(world);
      const admin = await world.newPerson({ organisationId: source, role: 'org_admin' });
      const form = {
        target_org_id: String(target),
        source_org_ids: String(source),
        billing_user_id: String(owner.userId),
        [`role_${owner.userId}`]: 'org_admin',
        [`role_${admin.userId}`]: 'user',
      };
      okJson(await merge(world, form));
      const roles = [await memberOf(world, owner.userId), await memberOf(world, admin.userId)];
      equal(
        roles.map((member) => member?.['role']),
        ['org_admin', 'user'],
        'the roles',
      );
    },
  ),
];

/** For platform administrators only: lower roles and other organisations are rejected. */
const onlyPlatform = (
  method: string,
  path: string,
  requestOf: (world: World) => Promise<{ path: string; json?: object }>,
): SpecificationRow =>
  row('4.10', `\`${method} ${path}\` is for administrators of the platform only`, async (world) => {
    const { path: asked, json } = await requestOf(world);
    const body = json === undefined ? {} : { json };
    await refusesAnonymous(world, callTo(method, asked, body));
    await expectFrom(world, 'platform_admin', async ({ client }) => {
      const own = await requestOf(world);
      return client.send(method, own.path, own.json === undefined ? {} : { json: own.json });
    });
  });

const rights: readonly SpecificationRow[] = [
  onlyPlatform('GET', organisations, () => Promise.resolve({ path: organisations })),
  onlyPlatform('POST', organisations, () => {
    const slug = uniqueName('o');
    return Promise.resolve({ path: organisations, json: { name: slug, slug } });
  }),
  onlyPlatform('POST', `${organisations}/{org_id}`, async (world) => ({
    path: `${organisations}/${await newOrganisation(world)}`,
    json: { name: 'Renamed' },
  })),
  onlyPlatform('DELETE', `${organisations}/{org_id}`, async (world) => ({
    path: `${organisations}/${await newOrganisation(world)}`,
  })),
  onlyPlatform('POST', `${organisations}/merge`, async (world) => {
    const { target, source, owner } = await mergePair(world);
    const json = { target_org_id: target, source_org_ids: String(source), billing_user_id: owner.userId };
    return { path: `${organisations}/merge`, json };
  }),
  onlyPlatform('GET', `${organisations}/{org_id}/merge-data`, ({ organisationId }) =>
    Promise.resolve({ path: `${organisations}/${organisationId}/merge-data` }),
  ),
];

export async function createGrant(
  world: World,
  path: string,
  more: Json = {},
): Promise<{ id: number; name: string }> {
  const person = await newMember(world);
  const name = uniqueName('grant');
  const json = { name, scope: 'user', user_id: person.userId, amount: 5, ...more };
  return { id: Number(okJson(await (await platform(world)).post(path, { json }))['id']), name };
}

const listedPromotion = async (world: World, name: string): Promise<string> =>
  okHtml(await (await platform(world)).get(`${promotions}?q=${name}`, inHtml), name);

const grants: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${promotions}\` is the page that lists promotions`, async (world) => {
    await listedPromotion(world, (await createGrant(world, promotions)).name);
  }),
  ...[promotions, `${promotions}/create`].map((path) =>
    row('4.10', `\`POST ${path}\` creates a promotion grant, which pays for calls`, async (world) => {
      const person = await world.newPerson({ billingExempt: false });
      const key = await world.newKey(person);
      expectRejected(await call(key.client), 403, 'billing_limit_reached');
      const { id, name } = await createGrant(world, path, { user_id: person.userId });
      expect(Number.isInteger(id), `the id: ${id}`);
      await listedPromotion(world, name);
      await eventually(async () => (await call(key.client)).status === 200, 'the promotion pays for a call');
    }),
  ),
  row(
    '4.10',
    `\`POST ${promotions}/{grant_id}/update\` updates a promotion grant: its name, and that it ends`,
    async (world) => {
      const person = await world.newPerson({ billingExempt: false });
      const key = await world.newKey(person);
      const { id } = await createGrant(world, promotions, { user_id: person.userId });
      const update = async (json: Json) =>
        okJson(await (await platform(world)).post(`${promotions}/${id}/update`, { json }));
      const name = uniqueName('renamed');
      await update({ name });
      await listedPromotion(world, name);
      await eventually(async () => (await call(key.client)).status === 200, 'the promotion pays for a call');
      await update({ end: true });
      await eventually(async () => (await call(key.client)).status === 403, 'the promotion has ended');
      expectRejected(await call(key.client), 403, 'billing_limit_reached');
    },
  ),
];

export const organisationAndPromotionRows: readonly SpecificationRow[] = [
  ...organisationRows,
  ...merging,
  ...rights,
  ...grants,
];
