import { expect, expectStatus } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { ADMIN, admin, platformOnly, uniqueName, newModel, ok, owner } from './admin-catalogue-steps';

const aliasScenario = (path: string): Omit<Scenario, 'operation'> => ({
  success: async (world) => {
    const [model, alias] = [await newModel(world), uniqueName('alias')];
    ok(await (await admin(world)).post(path, { json: { model, alias } }));
    const list = ok(await (await admin(world)).get(`${ADMIN}/model-aliases`))['data'] as object[];
    expect(JSON.stringify(list).includes(alias), 'the alias is listed');
  },
  badInput: async (world) => {
    const json = { model: await newModel(world), alias: 'sim-small' };
    expectStatus(await (await admin(world)).post(path, { json }), 409, 'alias_redirect_conflict');
  },
  withoutRights: platformOnly(path, { model: 'sim-small', alias: 'x' }),
});

async function newAlias(world: World): Promise<string> {
  const alias = uniqueName('alias');
  const json = { model: await newModel(world), alias };
  ok(await (await admin(world)).post(`${ADMIN}/model-aliases`, { json }));
  return alias;
}

async function newDepartment(world: World, organisationId: number): Promise<string> {
  const [row] = await world.rows<{ id: number }>(
    'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
    [organisationId, uniqueName('department')],
  );
  return `${ADMIN}/api/departments/${row?.id ?? 0}/model-access`;
}

const aliases: readonly Scenario[] = [
  { operation: `POST ${ADMIN}/models/add-alias`, ...aliasScenario(`${ADMIN}/models/add-alias`) },
  {
    operation: `POST ${ADMIN}/models/remove-alias`,
    success: async (world) => {
      const alias = await newAlias(world);
      ok(await (await admin(world)).post(`${ADMIN}/models/remove-alias`, { json: { alias } }));
      const rows = await world.rows('SELECT 1 FROM model_alias WHERE name = $1', [alias]);
      expect(rows.length === 0, 'it is gone');
    },
    badInput: async (world) =>
      expectStatus(
        await (await admin(world)).post(`${ADMIN}/models/remove-alias`, { json: { alias: 'no-such' } }),
        404,
      ),
    withoutRights: platformOnly(`${ADMIN}/models/remove-alias`, { alias: 'x' }),
  },
  {
    operation: `GET ${ADMIN}/model-aliases`,
    success: async (world) => {
      const alias = await newAlias(world);
      const list = ok(await (await admin(world)).get(`${ADMIN}/model-aliases`))['data'] as object[];
      expect(JSON.stringify(list).includes(alias), 'every alias is listed');
    },
    badInput: 'none',
    withoutRights: platformOnly(`${ADMIN}/model-aliases`, {}, 'GET'),
  },
  { operation: `POST ${ADMIN}/model-aliases`, ...aliasScenario(`${ADMIN}/model-aliases`) },
  {
    operation: `DELETE ${ADMIN}/model-aliases/{alias_name}`,
    success: async (world) => {
      const alias = await newAlias(world);
      ok(await (await admin(world)).delete(`${ADMIN}/model-aliases/${alias}`));
      const rows = await world.rows('SELECT 1 FROM model_alias WHERE name = $1', [alias]);
      expect(rows.length === 0, 'it is gone');
    },
    badInput: async (world) =>
      expectStatus(await (await admin(world)).delete(`${ADMIN}/model-aliases/no-such`), 404),
    withoutRights: platformOnly(`${ADMIN}/model-aliases/x`, {}, 'DELETE'),
  },
];

const access: readonly Scenario[] = [
  {
    operation: `POST ${ADMIN}/models/domain-toggle`,
    success: async (world) => {
      const json = { model: await newModel(world), enabled: false };
      const update = ok(await (await owner(world)).post(`${ADMIN}/models/domain-toggle`, { json }));
      expect(update['enabled'] === false && update['org_id'] === world.organisationId, 'for their own');
    },
    badInput: async (world) => {
      const json = { model: 'no-such', enabled: false };
      expectStatus(await (await owner(world)).post(`${ADMIN}/models/domain-toggle`, { json }), 404);
    },
    withoutRights: async (world) => {
      const json = { model: 'sim-small', enabled: false, org_id: world.organisationId };
      const path = `${ADMIN}/models/domain-toggle`;
      expectStatus(await world.anonymous.post(path, { json }), 401);
      expectStatus(await (await world.person('user')).client.post(path, { json }), 403);
      expectStatus(await (await world.stranger('org_owner')).client.post(path, { json }), 404);
    },
  },
  ...['GET', 'POST'].map((method): Scenario => ({
    operation: `${method} ${ADMIN}/api/departments/{dept_id}/model-access`,
    success: async (world) => {
      const path = await newDepartment(world, world.organisationId);
      const model = await newModel(world);
      ok(await (await owner(world)).post(path, { json: { blocked: [model] } }));
      const blocked = ok(await (await owner(world)).get(path))['blocked'] as string[];
      expect(blocked.join() === model, `blocked: ${blocked.join()}`);
    },
    badInput: async (world) => {
      const path = await newDepartment(world, world.organisationId);
      if (method === 'GET')
        expectStatus(await (await owner(world)).get(path.replace(/\d+/, '0')), 422, 'dept_id');
      else expectStatus(await (await owner(world)).post(path, { json: { blocked: ['no-such'] } }), 404);
    },
    withoutRights: async (world) => {
      const path = await newDepartment(world, world.organisationId);
      const send = (client: typeof world.anonymous) =>
        method === 'GET' ? client.get(path) : client.post(path, { json: {} });
      expectStatus(await send(world.anonymous), 401);
      expectStatus(await send((await world.person('user')).client), 403);
      expectStatus(await send((await world.stranger('org_owner')).client), 404);
    },
  })),
  ...['GET', 'POST'].map((method): Scenario => ({
    operation: `${method} ${ADMIN}/api/model-policy`,
    success: async (world) => {
      const path = `${ADMIN}/api/model-policy`;
      ok(await (await owner(world)).post(path, { json: { mode: 'deny', patterns: ['nothing/*'] } }));
      const policy = ok(await (await owner(world)).get(path));
      expect(policy['mode'] === 'deny' && policy['org_id'] === world.organisationId, JSON.stringify(policy));
      ok(await (await owner(world)).post(path, { json: { mode: 'all' } }));
    },
    badInput: async (world) => {
      const path = `${ADMIN}/api/model-policy`;
      if (method === 'GET') expectStatus(await (await owner(world)).get(`${path}?org_id=x`), 422);
      else expectStatus(await (await owner(world)).post(path, { json: { mode: 'some' } }), 422);
    },
    withoutRights: async (world) => {
      const path = `${ADMIN}/api/model-policy?org_id=${world.organisationId}`;
      const json = { mode: 'all', org_id: world.organisationId };
      const send = (client: typeof world.anonymous) =>
        method === 'GET' ? client.get(path) : client.post(`${ADMIN}/api/model-policy`, { json });
      expectStatus(await send(world.anonymous), 401);
      expectStatus(await send((await world.person('user')).client), 403);
      expectStatus(await send((await world.stranger('org_owner')).client), 404);
    },
  })),
  {
    operation: `POST ${ADMIN}/api/model-org-access`,
    success: async (world) => {
      const json = { model: await newModel(world), org_id: world.organisationId, allowed: false };
      const update = ok(await (await admin(world)).post(`${ADMIN}/api/model-org-access`, { json }));
      expect(update['denied'] === true, JSON.stringify(update));
    },
    badInput: async (world) => {
      const json = { model: 'sim-small', org_id: 2_000_000_000, allowed: true };
      expectStatus(await (await admin(world)).post(`${ADMIN}/api/model-org-access`, { json }), 404);
    },
    withoutRights: platformOnly(`${ADMIN}/api/model-org-access`, {
      model: 'sim-small',
      org_id: 1,
      allowed: true,
    }),
  },
];

export const adminModelAccessScenarios: readonly Scenario[] = [...aliases, ...access];
