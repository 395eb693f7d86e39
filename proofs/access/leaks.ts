import { roles, type UserRole } from '#product/kernel';
import { inParallel } from '../../test/system/findings';
import type { Route } from '../../test/system/routes';
import { COMMON_NAME, FOREIGN_MARK, createObject, type Places } from './people';
import { minimumOf } from './policy';
import { ask, placeOfId } from './requests';

export interface LeakResult {
  readonly read: number;
  readonly wrong: readonly string[];
}

/** Fields of a list that search: they take the beginning that our names and foreign ones share. */
const searches = new Set(['q', 'actor', 'object', 'end_user', 'tag', 'session']);
const groupings = ['key', 'user', 'project'];

/**
 * Every list, picker, search, grouping and file of every role below the platform. None holds a foreign name, even
 * when searched by a shared prefix or filtered by a foreign id.
 */
export async function runLeaks(places: Places, routes: readonly Route[]): Promise<LeakResult> {
  const stranger = await places.world.newPerson({
    role: 'org_owner',
    organisationId: places.theirs.organisationId,
    departmentId: places.theirs.departmentId,
  });
  await places.world.rows(`UPDATE user_account SET display_name = $2 WHERE id = $1`, [
    stranger.userId,
    `${COMMON_NAME} ${FOREIGN_MARK}`,
  ]);
  await places.world.rows(`UPDATE organisation SET name = 'ours ' || $2 WHERE id = $1`, [
    places.theirs.organisationId,
    FOREIGN_MARK,
  ]);
  const ids = {
    user_id: String(stranger.userId),
    user: String(stranger.userId),
    key: await createObject(places, 'key_id', stranger, 'foreign', true),
    project: await createObject(places, 'project_id', stranger, 'foreign', true),
    org_id: String(places.theirs.organisationId),
    actor: String(stranger.userId),
  };
  await callWithForeignKey(places, stranger);
  const wrong: string[] = [];
  let read = 0;
  const lists = routes.filter((route) => route.method === 'GET' && placeOfId(route) === null);
  const below = roles.filter((role) => !role.startsWith('platform_'));
  await inParallel(4, lists, async (route) => {
    const minimum = minimumOf(route.method, route.path);
    if (minimum === 'anyone') return;
    for (const role of below.filter((one) => minimum === 'session' || isAtLeast(one, minimum))) {
      const { client } = await places.person(role);
      if (role !== 'user') await client.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } });
      for (const query of queriesOf(route, ids)) {
        const { text, status } = await ask(client, route, null, { query });
        read += 1;
        if (status >= 500 || text.includes(FOREIGN_MARK) || text.includes(stranger.email))
          wrong.push(`${route.path}${query} as ${role}: ${status >= 500 ? status : 'holds what is foreign'}`);
      }
    }
  });
  return { read, wrong };
}

const isAtLeast = (role: UserRole, minimum: UserRole): boolean => roles.indexOf(role) >= roles.indexOf(minimum);

/** The list as it is, by the common beginning, by every foreign id, and by every grouping. */
function queriesOf({ query }: Route, ids: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(query.fields);
  return [
    '',
    ...names.filter((name) => searches.has(name)).map((name) => `?${name}=${COMMON_NAME}`),
    ...names.flatMap((name) => (ids[name] === undefined ? [] : [`?${name}=${ids[name]}`])),
    ...(names.includes('group_by') ? groupings.map((group) => `?group_by=${group}`) : []),
  ];
}

/** Every count and group has something foreign to leave out. */
async function callWithForeignKey(
  places: Places,
  stranger: Parameters<Places['world']['newKey']>[0],
): Promise<void> {
  const key = await places.world.newKey(stranger, `${COMMON_NAME} ${FOREIGN_MARK}`);
  const json = { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }], user: FOREIGN_MARK };
  const answer = await key.client.post('/v1/chat/completions', { json });
  if (answer.status !== 200) throw new Error(`the foreign key does not work: ${answer.text.slice(0, 200)}`);
}
