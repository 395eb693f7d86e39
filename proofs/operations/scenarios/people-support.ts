import { randomBytes } from 'node:crypto';
import type { World } from '../world';

export const unique = (): string => randomBytes(6).toString('hex');

export const platform = async (world: World) => (await world.newPerson({ role: 'platform_admin' })).client;
export const orgAdmin = async (world: World) => (await world.person('org_admin')).client;
export const plainUser = async (world: World) => (await world.person('user')).client;

/** A user of the own organisation that a scenario can change. */
export const newMember = (world: World) => world.newPerson({ organisationId: world.organisationId });

/** Value of an account column after the change. */
export async function column(world: World, userId: number, name: string): Promise<unknown> {
  const [row] = await world.rows<Record<string, unknown>>('SELECT * FROM user_account WHERE id = $1', [
    userId,
  ]);
  return row?.[name];
}
