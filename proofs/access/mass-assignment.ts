import type { UserRole } from '../../src/kernel';
import { inParallel } from '../../test/system/findings';
import type { Route } from '../../test/system/routes';
import { createObject, type Places } from './people';
import { minimumOf } from './policy';
import { ask, bodyOf, formFields, isRowId, placeOfId } from './requests';

/** Privileged fields that an attacker adds to a form without them. */
const extraFields: Readonly<Record<string, string>> = {
  role: '"platform_owner"',
  org_id: '1',
  billing_exempt: 'true',
  credit_limit: '"100000"',
  balance: '"100000"',
  id: '1',
  ['__proto__']: '{"role":"platform_owner","billing_exempt":true}',
};

/** The rows say what people are and may spend. */
const STANDING = `
  SELECT u.id, u.role, u.organisation_id, u.department_id, u.billing_exempt,
         (SELECT sum(e.amount) FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id
           WHERE a.kind = 'wallet' AND a.owner_id = u.id)::text AS balance,
         (SELECT jsonb_agg(jsonb_build_array(r.kind, r.period, r.limit_nano) ORDER BY r.kind, r.period)
            FROM spending_rule r WHERE r.kind IN ('wallet', 'user') AND r.owner_id = u.id) AS limits
    FROM user_account u WHERE u.id = ANY ($1) ORDER BY u.id`;

export interface MassResult {
  readonly tried: number;
  readonly wrong: readonly string[];
}

/**
 * Mass assignment: every change with every smuggled field that its form lacks. Afterwards caller and target are
 * unchanged.
 */
export async function runMassAssignment(places: Places, routes: readonly Route[]): Promise<MassResult> {
  const wrong: string[] = [];
  let tried = 0;
  const changes = routes.filter(
    ({ method, path }) => method !== 'GET' && method !== 'HEAD' && isSigned(method, path),
  );
  await inParallel(4, changes, async (route) => {
    const own = formFields(route);
    // The change's own effect is no fault: it is tried once without anything smuggled.
    const control = await changedBy(places, route, null);
    for (const field of Object.keys(extraFields)) {
      if (own.includes(field)) continue;
      const found = await changedBy(places, route, field);
      tried += 1;
      if (found.status >= 500 || (found.changed !== 'nothing' && found.changed !== control.changed))
        wrong.push(
          `${route.method} ${route.path} with ${field}: ${found.status}, changes ${found.changed}, without ${control.changed}`,
        );
    }
  });
  return { tried, wrong };
}

const isSigned = (method: string, path: string): boolean => minimumOf(method, path) !== 'anyone';

/** These columns of caller and target have another value than before. */
async function changedBy(
  places: Places,
  route: Route,
  field: string | null,
): Promise<{ status: number; changed: string }> {
  const minimum = minimumOf(route.method, route.path);
  const role: UserRole = minimum === 'session' || minimum === 'anyone' ? 'user' : minimum;
  const [caller, other] = [await places.person(role), await places.person('user', 'department')];
  const place = placeOfId(route);
  const target =
    place === null
      ? null
      : { place, id: await createObject(places, place.name, other, 'department', isRowId(route, place)) };
  const sent = {
    ...bodyOf(route),
    ...(target?.place.in === 'body' ? { [target.place.name]: target.id } : {}),
  };
  const fields = Object.entries(sent).map(([name, content]) => [name, JSON.stringify(content)]);
  if (field !== null) fields.push([field, extraFields[field] ?? '1']);
  const body = `{${fields.map(([name, content]) => `"${name}":${content}`).join(',')}}`;
  const people = [caller.userId, other.userId];
  const before = await places.world.rows(STANDING, [people]);
  const { status } = await ask(caller.client, route, target, { body });
  const after = await places.world.rows(STANDING, [people]);
  const changed = before.flatMap((row, person) =>
    Object.entries(row)
      .filter(([name, value]) => {
        const now = (after[person] as Record<string, unknown> | undefined)?.[name];
        return JSON.stringify(value) !== JSON.stringify(now);
      })
      .map(([name]) => `${person === 0 ? 'caller' : 'target'}.${name}`),
  );
  return { status, changed: changed.join(' ') || 'nothing' };
}
