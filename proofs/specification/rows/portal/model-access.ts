import { expect, expectStatus } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { openPoint, row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  call,
  clientOf,
  equal,
  uniqueName,
  newDepartment,
  newModel,
  okJson,
  platform,
  expectRejected,
  waitUntilServed,
  waitForCatalogue,
} from './row-helpers';

const aliases = `${ADMIN}/model-aliases`;

const listedAliases = async (world: World): Promise<string> =>
  JSON.stringify(okJson(await (await platform(world)).get(aliases))['data']);

const adding: readonly SpecificationRow[] = [`${ADMIN}/models/add-alias`, aliases].flatMap((path) => [
  row('4.10', `\`POST ${path}\` adds an alias of a model, by which it can be called`, async (world) => {
    const [model, alias] = [await newModel(world), uniqueName('alias')];
    okJson(await (await platform(world)).post(path, { json: { model, alias } }));
    const key = await world.newKey(await world.person('user'));
    await waitUntilServed(key.client, alias);
  }),
  row(
    '4.10',
    `\`POST ${path}\` refuses an alias in conflict with a model or another alias`,
    async (world) => {
      const [model, other, alias] = [await newModel(world), await newModel(world), uniqueName('alias')];
      const client = await platform(world);
      okJson(await client.post(path, { json: { model, alias } }));
      for (const conflictingName of [alias, model])
        expectRejected(
          await client.post(path, { json: { model: other, alias: conflictingName } }),
          409,
          'alias_redirect_conflict',
        );
    },
  ),
]);

async function newAlias(world: World): Promise<{ model: string; alias: string }> {
  const [model, alias] = [await newModel(world), uniqueName('alias')];
  okJson(await (await platform(world)).post(aliases, { json: { model, alias } }));
  return { model, alias };
}

const aliasRows: readonly SpecificationRow[] = [
  ...adding,
  row('4.10', `\`POST ${ADMIN}/models/remove-alias\` removes an alias`, async (world) => {
    const { alias } = await newAlias(world);
    okJson(await (await platform(world)).post(`${ADMIN}/models/remove-alias`, { json: { alias } }));
    expect(!(await listedAliases(world)).includes(alias), 'it is gone');
  }),
  row('4.10', `\`GET ${aliases}\` lists every routing alias`, async (world) => {
    const newAliases = [await newAlias(world), await newAlias(world)];
    const list = await listedAliases(world);
    for (const { alias, model } of newAliases)
      expect(list.includes(alias) && list.includes(model), `${alias} is listed`);
    const [known] = await world.rows<{ count: string }>('SELECT count(*) FROM model_alias');
    const { data } = okJson(await (await platform(world)).get(aliases)) as { data: unknown[] };
    equal(data.length, Number(known?.count), 'how many');
  }),
  row('4.10', `\`DELETE ${aliases}/{alias_name}\` deletes an alias by its name`, async (world) => {
    const { alias } = await newAlias(world);
    okJson(await (await platform(world)).delete(`${aliases}/${alias}`));
    expect(!(await listedAliases(world)).includes(alias), 'it is gone');
    expectRejected(await (await platform(world)).delete(`${aliases}/${alias}`), 404, 'not_found');
  }),
];

const policy = `${ADMIN}/api/model-policy`;
const toggle = `${ADMIN}/models/domain-toggle`;

/** Tells whether a member of the own organisation can call the model. */
async function canCall(world: World, model: string, departmentId: number | null = null): Promise<boolean> {
  await waitForCatalogue(world);
  const member = await world.newPerson({ organisationId: world.organisationId, departmentId });
  const { client } = await world.newKey(member);
  const answer = await call(client, model);
  if (answer.status !== 200) expectRejected(answer, 403, 'model_not_accessible');
  return answer.status === 200;
}

const access: readonly SpecificationRow[] = [
  row(
    '4.10',
    `\`POST ${toggle}\` lets an administrator of an organisation disable and enable a model for it`,
    async (world) => {
      const model = await newModel(world);
      const client = await clientOf(world, 'org_admin');
      for (const enabled of [false, true]) {
        const update = okJson(await client.post(toggle, { json: { model, enabled } }));
        equal([update['enabled'], update['org_id']], [enabled, world.organisationId], 'the answer');
        equal(await canCall(world, model), enabled, 'whether a member may call it');
      }
      expectStatus(
        await (await clientOf(world, 'user')).post(toggle, { json: { model, enabled: false } }),
        403,
      );
    },
  ),
  row(
    '4.10',
    `\`GET\` and \`POST ${ADMIN}/api/departments/{dept_id}/model-access\` read and set the models of a department`,
    async (world) => {
      const model = await newModel(world);
      const department = await newDepartment(world, world.organisationId);
      const path = `${ADMIN}/api/departments/${department}/model-access`;
      const client = await clientOf(world, 'org_admin');
      equal(okJson(await client.get(path))['blocked'], [], 'blocked before');
      okJson(await client.post(path, { json: { blocked: [model] } }));
      equal(okJson(await client.get(path))['blocked'], [model], 'blocked after');
      equal(await canCall(world, model, department), false, 'whether a member may call it');
    },
  ),
  row(
    '4.10',
    `\`GET\` and \`POST ${policy}\` read and set the model policy`,
    async (world) => {
      const model = await newModel(world);
      const client = await clientOf(world, 'org_admin');
      okJson(await client.post(policy, { json: { mode: 'deny', patterns: [model] } }));
      const storedPolicy = okJson(await client.get(policy));
      equal([storedPolicy['mode'], storedPolicy['patterns']], ['deny', [model]], 'the policy');
      equal(await canCall(world, model), false, 'whether a member may call it');
      okJson(await client.post(policy, { json: { mode: 'all' } }));
      equal(okJson(await client.get(policy))['mode'], 'all', 'the policy');
    },
    { decided: openPoint('a model policy is all models, all but some, or some alone') },
  ),
  row(
    '4.10',
    `\`POST ${ADMIN}/api/model-org-access\` adds the access of an organisation to a model`,
    async (world) => {
      const model = await newModel(world, { restricted: true });
      equal(await canCall(world, model), false, 'before');
      const json = { model, org_id: world.organisationId, allowed: true };
      okJson(await (await platform(world)).post(`${ADMIN}/api/model-org-access`, { json }));
      equal(await canCall(world, model), true, 'after');
    },
  ),
];

export const modelAccessRows: readonly SpecificationRow[] = [...aliasRows, ...access];
