import {
  type UserRole,
  atLeast,
  isAdministrator,
  isRole,
  canGrant,
  roles,
  scopeOf,
} from '../../../src/kernel';

test('each role includes the permissions of the roles below it', () => {
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

test('administrators can grant up to their own role, users none', () => {
  roles.forEach((actor, rank) => {
    expect(roles.filter((target) => canGrant(actor, target))).toEqual(
      rank === 0 ? [] : roles.slice(0, rank + 1),
    );
  });
});

test('unknown role has no permissions and cannot be granted', () => {
  const unknownRole = 'superuser' as UserRole;
  expect([isRole(unknownRole), isRole('toString'), isRole(undefined)]).toEqual([false, false, false]);
  for (const role of roles) {
    expect([atLeast(unknownRole, role), atLeast(role, unknownRole), canGrant(unknownRole, role)]).toEqual([
      false,
      false,
      false,
    ]);
    // Even the highest role cannot grant an unknown role.
    expect(canGrant(role, unknownRole)).toBe(false);
  }
  expect(isAdministrator(unknownRole)).toBe(false);
  expect(scopeOf({ userId: 1, role: unknownRole, organisationId: 2, departmentId: 3 })).toEqual({
    kind: 'user',
    userId: 1,
  });
});

describe('Scope of a role', () => {
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
  ])(
    '%s in organisation %p, department %p has the expected scope',
    (role, organisationId, departmentId, scope) => {
      expect(scopeOf({ userId: 1, role, organisationId, departmentId })).toEqual(scope);
    },
  );
});
