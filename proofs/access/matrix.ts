import { roles, type UserRole } from '#product/kernel';
import type { ReadResponse } from '../operations/http';
import type { PortalUser } from '../operations/world';
import { inParallel } from '../../test/system/findings';
import type { ServedRoute } from '../../test/system/routes';
import { absentId, createObject, type Tenants } from './tenants';
import {
  isOwnAccountChange,
  type Minimum,
  minimumOf,
  isReachable,
  rejectsForeignIds,
  type Relation,
  relations,
} from './policy';
import { sendRequest, isRowId, type IdSlot, idSlotOf } from './requests';

export interface MatrixResult {
  readonly cells: number;
  readonly failures: readonly string[];
  /** Number of comparisons between the responses for a foreign and an absent object. */
  readonly compared: number;
}

const callers: readonly (UserRole | 'anonymous')[] = ['anonymous', ...roles];

type AccessVerdict = 'sign-in' | 'role' | 'oneself' | 'absent' | 'served';

/** Calls every route as seven callers on objects of every relation. */
export async function runMatrix(places: Tenants, routes: readonly ServedRoute[]): Promise<MatrixResult> {
  const failures: string[] = [];
  let [cells, compared] = [0, 0];
  const readers = new Map<string, Promise<PortalUser>>();
  const callerOf = (route: ServedRoute, role: UserRole): Promise<PortalUser> => {
    // A change can alter its caller, and so does the sign-out link.
    if (route.method !== 'GET' || route.path === '/logout') return places.person(role);
    const existingReader = readers.get(role) ?? places.person(role);
    readers.set(role, existingReader);
    return existingReader;
  };
  await inParallel(4, routes, async (route) => {
    const idSlot = idSlotOf(route);
    for (const caller of callers) {
      for (const relation of idSlot === null ? (['own'] as const) : relations) {
        const person = caller === 'anonymous' ? null : await callerOf(route, caller);
        const target =
          idSlot === null
            ? null
            : await targetOf(places, { place: idSlot, isRow: isRowId(route, idSlot) }, person, relation);
        const client = person?.client ?? places.world.anonymous;
        const answer = await sendRequest(client, route, target);
        const expected = expectedOf(route, caller, idSlot, relation);
        cells += idSlot === null ? relations.length : 1;
        const name = `${route.method} ${route.path} as ${caller}, ${idSlot === null ? 'nothing' : relation}`;
        if (!matchesVerdict(expected, answer, route))
          failures.push(`${name}: wanted ${expected}, got ${answer.status} ${codeOf(answer)}`);
        if (expected === 'absent' && idSlot !== null && target !== null) {
          compared += 1;
          const id = absentId(idSlot.name, isRowId(route, idSlot));
          const other = await sendRequest(client, route, { place: idSlot, id });
          if (normalizedText(answer, target.id) !== normalizedText(other, id))
            failures.push(
              `${name}: told apart from what is absent: ${normalizedText(answer, target.id).slice(0, 200)} / ${normalizedText(other, id).slice(0, 200)}`,
            );
        }
      }
    }
  });
  return { cells, failures, compared };
}

async function targetOf(
  places: Tenants,
  { place, isRow }: { readonly place: IdSlot; readonly isRow: boolean },
  caller: PortalUser | null,
  relation: Relation,
): Promise<{ place: IdSlot; id: string }> {
  const owner = relation === 'own' && caller !== null ? caller : await places.person('user', relation);
  return { place, id: await createObject(places, place.name, owner, relation, isRow) };
}

function expectedOf(
  { method, path }: ServedRoute,
  caller: UserRole | 'anonymous',
  place: IdSlot | null,
  relation: Relation,
): AccessVerdict {
  const minimum = minimumOf(method, path);
  if (minimum === 'anyone') return 'served';
  if (caller === 'anonymous') return 'sign-in';
  if (rankOf(caller) < rankOf(minimum)) return 'role';
  if (place === null) return 'served';
  if (place.name === 'user_id' && isOwnAccountChange(relation, method, path)) return 'oneself';
  return isReachable(caller, relation, path, place.name) ? 'served' : 'absent';
}

const rankOf = (minimum: Minimum): number => (roles as readonly string[]).indexOf(minimum);

function matchesVerdict(
  expected: AccessVerdict,
  answer: ReadResponse,
  { method, path, answer: kind }: ServedRoute,
): boolean {
  const { status } = answer;
  const isUnauthenticated = /authentication_required|invalid_session/.test(codeOf(answer));
  const redirectsToSignIn =
    (status === 401 && isUnauthenticated) || ((status === 302 || status === 303) && isSignIn(answer));
  switch (expected) {
    case 'sign-in':
      return redirectsToSignIn;
    case 'role':
      return status === 403;
    case 'oneself':
      return status === 403 || status === 422;
    // A caller without access can get the validation error of a malformed request first. The comparison with an absent
    // object still applies.
    case 'absent':
      if (kind === 'redirect') return status === 302;
      return status === 404 || status === 422 || (status === 403 && rejectsForeignIds(path));
    case 'served':
      // A public route can reject a token or a signature; no session is checked.
      if (minimumOf(method, path) === 'anyone')
        return !/authentication_required|permission_denied/.test(codeOf(answer));
      return !redirectsToSignIn && status !== 403 && status < 500;
  }
}

const isSignIn = ({ headers }: ReadResponse): boolean => (headers.get('location') ?? '').startsWith('/login');

const codeOf = ({ text }: ReadResponse): string => /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80);

/** Status and text of a response without the parts that differ per request. */
const normalizedText = ({ status, text }: ReadResponse, id: string): string =>
  `${status} ${text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '…')
    .replaceAll(new RegExp(`\\b${id}\\b`, 'g'), '…')}`;
