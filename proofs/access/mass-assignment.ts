import type { UserRole } from '../../src/kernel';
import { inParallel } from '../../test/system/findings';
import type { ServedRoute } from '../../test/system/routes';
import { createObject, type Tenants } from './tenants';
import { minimumOf } from './policy';
import { sendRequest, bodyOf, formFields, isRowId, idSlotOf } from './requests';

/** Privileged fields that an attacker adds to forms that lack them. */
const extraFields: Readonly<Record<string, string>> = {
  role: '"platform_owner"',
  org_id: '1',
  billing_exempt: 'true',
  credit_limit: '"100000"',
  balance: '"100000"',
  id: '1',
  ['__proto__']: '{"role":"platform_owner","billing_exempt":true}',
};

/** Selects the columns that define what users are and how much they can spend. */
const SELECT_PRIVILEGES = `
  SELECT u.id, u.role, u.organisation_id, u.department_id, u.billing_exempt,
         (SELECT sum(e.amount) FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id
           WHERE a.kind = 'wallet' AND a.owner_id = u.id)::text AS balance,
         (SELECT jsonb_agg(jsonb_build_array(r.kind, r.period, r.limit_nano) ORDER BY r.kind, r.period)
            FROM spending_rule r WHERE r.kind IN ('wallet', 'user') AND r.owner_id = u.id) AS limits
    FROM user_account u WHERE u.id = ANY ($1) ORDER BY u.id`;

export interface MassResult {
  readonly tried: number;
  readonly failures: readonly string[];
}

/**
 * Sends every change with every privileged field that its form lacks, and verifies that caller and target stay
 * unchanged.
 */
export async function runMassAssignment(
  places: Tenants,
  routes: readonly ServedRoute[],
): Promise<MassResult> {
  const failures: string[] = [];
  let attemptCount = 0;
  const changes = routes.filter(
    ({ method, path }) => method !== 'GET' && method !== 'HEAD' && requiresSession(method, path),
  );
  await inParallel(4, changes, async (route) => {
    const own = formFields(route);
    // The change's own effect is not a failure: a control run sends it without extra fields.
    const control = await changedBy(places, route, null);
    for (const field of Object.keys(extraFields)) {
      if (own.includes(field)) continue;
      const changedColumns = await changedBy(places, route, field);
      attemptCount += 1;
      if (
        changedColumns.status >= 500 ||
        (changedColumns.changed !== 'nothing' && changedColumns.changed !== control.changed)
      )
        failures.push(
          `${route.method} ${route.path} with ${field}: ${changedColumns.status}, changes ${changedColumns.changed}, without ${control.changed}`,
        );
    }
  });
  return { tried: attemptCount, failures };
}

const requiresSession = (method: string, path: string): boolean => minimumOf(method, path) !== 'anyone';

/** Returns the columns of caller and target that changed. */
async function changedBy(
  places: Tenants,
  route: ServedRoute,
  field: string | null,
): Promise<{ status: number; changed: string }> {
  const minimum = minimumOf(route.method, route.path);
  const role: UserRole = minimum === 'session' || minimum === 'anyone' ? 'user' : minimum;
  const [caller, other] = [await places.person(role), await places.person('user', 'department')];
  const idSlot = idSlotOf(route);
  const target =
    idSlot === null
      ? null
      : {
          place: idSlot,
          id: await createObject(places, idSlot.name, other, 'department', isRowId(route, idSlot)),
        };
  const sent = {
    ...bodyOf(route),
    ...(target?.place.in === 'body' ? { [target.place.name]: target.id } : {}),
  };
  const fields = Object.entries(sent).map(([name, content]) => [name, JSON.stringify(content)]);
  if (field !== null) fields.push([field, extraFields[field] ?? '1']);
  const body = `{${fields.map(([name, content]) => `"${name}":${content}`).join(',')}}`;
  const userIds = [caller.userId, other.userId];
  const before = await places.world.rows(SELECT_PRIVILEGES, [userIds]);
  const { status } = await sendRequest(caller.client, route, target, { body });
  const after = await places.world.rows(SELECT_PRIVILEGES, [userIds]);
  const changedNames = before.flatMap((row, person) =>
    Object.entries(row)
      .filter(([name, value]) => {
        const now = (after[person] as Record<string, unknown> | undefined)?.[name];
        return JSON.stringify(value) !== JSON.stringify(now);
      })
      .map(([name]) => `${person === 0 ? 'caller' : 'target'}.${name}`),
  );
  return { status, changed: changedNames.join(' ') || 'nothing' };
}
