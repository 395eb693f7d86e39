import { roles, type UserRole } from '#product/kernel';
import { inParallel } from '../../test/system/findings';
import type { ServedRoute } from '../../test/system/routes';
import { COMMON_NAME, FOREIGN_MARK, createObject, type Tenants } from './tenants';
import { minimumOf } from './policy';
import { sendRequest, idSlotOf } from './requests';

export interface LeakResult {
  readonly readCount: number;
  readonly failures: readonly string[];
}

/** Search fields of lists; filled with the prefix that own and foreign names share. */
const searchFields = new Set(['q', 'actor', 'object', 'end_user', 'tag', 'session']);
const GROUPINGS = ['key', 'user', 'project'];

/**
 * Checks every list, search, grouping and export of every role below the platform for foreign names, even when filtered
 * by a foreign id.
 */
export async function runLeaks(places: Tenants, routes: readonly ServedRoute[]): Promise<LeakResult> {
  const stranger = await places.world.newPerson({
    role: 'org_owner',
    organisationId: places.otherDepartment.organisationId,
    departmentId: places.otherDepartment.departmentId,
  });
  await places.world.rows(`UPDATE user_account SET display_name = $2 WHERE id = $1`, [
    stranger.userId,
    `${COMMON_NAME} ${FOREIGN_MARK}`,
  ]);
  await places.world.rows(`UPDATE organisation SET name = 'ours ' || $2 WHERE id = $1`, [
    places.otherDepartment.organisationId,
    FOREIGN_MARK,
  ]);
  const ids = {
    user_id: String(stranger.userId),
    user: String(stranger.userId),
    key: await createObject(places, 'key_id', stranger, 'foreign', true),
    project: await createObject(places, 'project_id', stranger, 'foreign', true),
    org_id: String(places.otherDepartment.organisationId),
    actor: String(stranger.userId),
  };
  await callWithForeignKey(places, stranger);
  const failures: string[] = [];
  let readCount = 0;
  const listRoutes = routes.filter((route) => route.method === 'GET' && idSlotOf(route) === null);
  const rolesBelowPlatform = roles.filter((role) => !role.startsWith('platform_'));
  await inParallel(4, listRoutes, async (route) => {
    const minimum = minimumOf(route.method, route.path);
    if (minimum === 'anyone') return;
    for (const role of rolesBelowPlatform.filter((one) => minimum === 'session' || isAtLeast(one, minimum))) {
      const { client } = await places.person(role);
      if (role !== 'user') await client.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } });
      for (const query of queriesOf(route, ids)) {
        const { text, status } = await sendRequest(client, route, null, { query });
        readCount += 1;
        if (status >= 500 || text.includes(FOREIGN_MARK) || text.includes(stranger.email))
          failures.push(
            `${route.path}${query} as ${role}: ${status >= 500 ? status : 'holds what is foreign'}`,
          );
      }
    }
  });
  return { readCount, failures };
}

const isAtLeast = (role: UserRole, minimum: UserRole): boolean =>
  roles.indexOf(role) >= roles.indexOf(minimum);

/** Returns the plain list, searches by the shared prefix, filters by every foreign id, and every grouping. */
function queriesOf({ query }: ServedRoute, ids: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(query.fields);
  return [
    '',
    ...names.filter((name) => searchFields.has(name)).map((name) => `?${name}=${COMMON_NAME}`),
    ...names.flatMap((name) => (ids[name] === undefined ? [] : [`?${name}=${ids[name]}`])),
    ...(names.includes('group_by') ? GROUPINGS.map((group) => `?group_by=${group}`) : []),
  ];
}

/** Makes a foreign call, so that every count and group has a foreign entry to leave out. */
async function callWithForeignKey(
  places: Tenants,
  stranger: Parameters<Tenants['world']['newKey']>[0],
): Promise<void> {
  const key = await places.world.newKey(stranger, `${COMMON_NAME} ${FOREIGN_MARK}`);
  const json = { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }], user: FOREIGN_MARK };
  const answer = await key.client.post('/v1/chat/completions', { json });
  if (answer.status !== 200) throw new Error(`the foreign key does not work: ${answer.text.slice(0, 200)}`);
}
