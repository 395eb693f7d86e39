import { type ReadResponse, expectStatus, jsonOf } from '../http';
import type { World } from '../world';

export const ADMIN = '/dashboard/admin';
export const admin = async (world: World) => (await world.person('platform_admin')).client;
export const owner = async (world: World) => (await world.person('org_owner')).client;
export const uniqueName = (stem: string): string => `${stem}-${Math.random().toString(36).slice(2, 10)}`;

export const ok = (answer: ReadResponse): Record<string, unknown> => {
  expectStatus(answer, 200);
  return jsonOf(answer);
};

/** Creates a model of the sandbox's supplier as an administrator would. */
export async function newModel(world: World): Promise<string> {
  const model = uniqueName('proof');
  ok(
    await (
      await admin(world)
    ).post(`${ADMIN}/models/create`, {
      json: {
        model,
        kind: 'chat',
        owned_by: 'proof',
        input_price: '1',
        output_price: '2',
        lanes: [{ provider: 'sandbox', upstream_model: 'sim-small', region: 'local' }],
      },
    }),
  );
  return model;
}

/** Steps that are rejected without a session and for an organisation's owner. */
export const platformOnly =
  (path: string | ((world: World) => Promise<string>), json: object = {}, method = 'POST') =>
  async (world: World): Promise<void> => {
    const address = typeof path === 'string' ? path : await path(world);
    const send = async (client: typeof world.anonymous) =>
      method === 'GET'
        ? client.get(address)
        : client.send(method, address, method === 'POST' ? { json } : {});
    expectStatus(await send(world.anonymous), 401);
    expectStatus(await send(await owner(world)), 403, 'permission_denied');
  };
