import { roles, type UserRole } from '#product/kernel';
import type { Answer } from '../operations/http';
import type { Person } from '../operations/world';
import { inParallel } from '../../test/system/findings';
import type { Route } from '../../test/system/routes';
import { absentId, createObject, type Places } from './people';
import {
  isOfOneself,
  type Minimum,
  minimumOf,
  reaches,
  refusesStrangers,
  type Relation,
  relations,
} from './policy';
import { ask, isRowId, type Place, placeOfId } from './requests';

export interface MatrixResult {
  readonly cells: number;
  readonly wrong: readonly string[];
  /** Foreign and absent objects get indistinguishable answers. */
  readonly compared: number;
}

const callers: readonly (UserRole | 'anonymous')[] = ['anonymous', ...roles];

type Verdict = 'sign-in' | 'role' | 'oneself' | 'absent' | 'served';

/** Every route × seven callers × whose the thing is. */
export async function runMatrix(places: Places, routes: readonly Route[]): Promise<MatrixResult> {
  const wrong: string[] = [];
  let [cells, compared] = [0, 0];
  const readers = new Map<string, Promise<Person>>();
  const callerOf = (route: Route, role: UserRole): Promise<Person> => {
    // A change may change its caller, and so does the link to sign out.
    if (route.method !== 'GET' || route.path === '/logout') return places.person(role);
    const known = readers.get(role) ?? places.person(role);
    readers.set(role, known);
    return known;
  };
  await inParallel(4, routes, async (route) => {
    const place = placeOfId(route);
    for (const caller of callers) {
      for (const relation of place === null ? (['own'] as const) : relations) {
        const person = caller === 'anonymous' ? null : await callerOf(route, caller);
        const target =
          place === null
            ? null
            : await targetOf(places, { place, isRow: isRowId(route, place) }, person, relation);
        const client = person?.client ?? places.world.anonymous;
        const answer = await ask(client, route, target);
        const expected = expectedOf(route, caller, place, relation);
        cells += place === null ? relations.length : 1;
        const name = `${route.method} ${route.path} as ${caller}, ${place === null ? 'nothing' : relation}`;
        if (!isAs(expected, answer, route))
          wrong.push(`${name}: wanted ${expected}, got ${answer.status} ${codeOf(answer)}`);
        if (expected === 'absent' && place !== null && target !== null) {
          compared += 1;
          const id = absentId(place.name, isRowId(route, place));
          const other = await ask(client, route, { place, id });
          if (said(answer, target.id) !== said(other, id))
            wrong.push(
              `${name}: told apart from what is absent: ${said(answer, target.id).slice(0, 200)} / ${said(other, id).slice(0, 200)}`,
            );
        }
      }
    }
  });
  return { cells, wrong, compared };
}

async function targetOf(
  places: Places,
  { place, isRow }: { readonly place: Place; readonly isRow: boolean },
  caller: Person | null,
  relation: Relation,
): Promise<{ place: Place; id: string }> {
  const owner = relation === 'own' && caller !== null ? caller : await places.person('user', relation);
  return { place, id: await createObject(places, place.name, owner, relation, isRow) };
}

function expectedOf(
  { method, path }: Route,
  caller: UserRole | 'anonymous',
  place: Place | null,
  relation: Relation,
): Verdict {
  const minimum = minimumOf(method, path);
  if (minimum === 'anyone') return 'served';
  if (caller === 'anonymous') return 'sign-in';
  if (rankOf(caller) < rankOf(minimum)) return 'role';
  if (place === null) return 'served';
  if (place.name === 'user_id' && isOfOneself(relation, method, path)) return 'oneself';
  return reaches(caller, relation, path, place.name) ? 'served' : 'absent';
}

const rankOf = (minimum: Minimum): number => (roles as readonly string[]).indexOf(minimum);

function isAs(expected: Verdict, answer: Answer, { method, path, answer: kind }: Route): boolean {
  const { status } = answer;
  const isStranger = /authentication_required|invalid_session/.test(codeOf(answer));
  const toSignIn = (status === 401 && isStranger) || ((status === 302 || status === 303) && isSignIn(answer));
  switch (expected) {
    case 'sign-in':
      return toSignIn;
    case 'role':
      return status === 403;
    case 'oneself':
      return status === 403 || status === 422;
    // A caller without access may get the fault of a malformed request first. The comparison with an absent object
    // still applies.
    case 'absent':
      if (kind === 'redirect') return status === 302;
      return status === 404 || status === 422 || (status === 403 && refusesStrangers(path));
    case 'served':
      // A public route may refuse a token or a signature. It has no session to check.
      if (minimumOf(method, path) === 'anyone')
        return !/authentication_required|permission_denied/.test(codeOf(answer));
      return !toSignIn && status !== 403 && status < 500;
  }
}

const isSignIn = ({ headers }: Answer): boolean => (headers.get('location') ?? '').startsWith('/login');

const codeOf = ({ text }: Answer): string => /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80);

/** Status and words of an answer without what differs from one request to the next. */
const said = ({ status, text }: Answer, id: string): string =>
  `${status} ${text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '…')
    .replaceAll(new RegExp(`\\b${id}\\b`, 'g'), '…')}`;
