import { type UserRole, atLeast, isAdministrator, isRole, canGrant, roles, scopeOf } from '../../../src/kernel';

test('the ladder', () => {
  expect(roles).toEqual([
    'user',
    'department_admin',
    'org_admin',
    'org_owner',
    'platform_admin',
    'platform_owner',
  ]);
  roles.forEach((role, rank) => {
    roles.forEach((minimum, needed) => expect(atLeast(role, minimum)).toBe(rank >= needed));
  });
  expect(roles.filter(isAdministrator)).toEqual(roles.slice(1));
});

test('administrators grant up to their own role, users nothing', () => {
  roles.forEach((actor, rank) => {
    expect(roles.filter((target) => canGrant(actor, target))).toEqual(
      rank === 0 ? [] : roles.slice(0, rank + 1),
    );
  });
});

test('an unknown role may nothing, and nobody may grant it', () => {
  const unknown = 'superuser' as UserRole;
  expect([isRole(unknown), isRole('toString'), isRole(undefined)]).toEqual([false, false, false]);
  for (const role of roles) {
    expect([atLeast(unknown, role), atLeast(role, unknown), canGrant(unknown, role)]).toEqual([
      false,
      false,
      false,
    ]);
    // Not even the highest role grants what does not exist.
    expect(canGrant(role, unknown)).toBe(false);
  }
  expect(isAdministrator(unknown)).toBe(false);
  expect(scopeOf({ userId: 1, role: unknown, organisationId: 2, departmentId: 3 })).toEqual({
    kind: 'user',
    userId: 1,
  });
});

describe('the scope follows the role', () => {
  const platform = { kind: 'platform' };
  const organisation = { kind: 'organisation', organisationId: 2 };
  const department = { kind: 'department', organisationId: 2, departmentId: 3, userId: 1 };
  const user = { kind: 'user', userId: 1 };

  test.each<[UserRole, number | null, number | null, object]>([
    ['platform_owner', 2, 3, platform],
    ['platform_admin', null, null, platform],
    ['org_owner', 2, 3, organisation],
    ['org_admin', 2, null, organisation],
    ['org_owner', null, 3, user],
    ['department_admin', 2, 3, department],
    ['department_admin', 2, null, user],
    ['department_admin', null, 3, user],
    ['user', 2, 3, user],
    ['user', null, null, user],
  ])('%s in organisation %p, department %p', (role, organisationId, departmentId, scope) => {
    expect(scopeOf({ userId: 1, role, organisationId, departmentId })).toEqual(scope);
  });
});
