import { objectActs } from '../../identity';
import { type Actor, atLeast } from '../../kernel';
import type { KeyOwners, ManagedKey, OwnerName } from '../../keys';
import type { LabelledFigure, Translate } from '../../views';

/**
 * Lists the owners of a key, with links for those allowed to open their pages. The user is omitted for one's own key.
 */
export function ownerFigures(
  key: Pick<ManagedKey, 'userId'>,
  { organisation, department, project, user }: KeyOwners,
  actor: Actor,
  translate: Translate,
): LabelledFigure[] {
  const { role, scope } = actor;
  const ownerFigure = (label: string, owner: OwnerName | null, href: string | null): LabelledFigure[] =>
    owner === null
      ? []
      : [
          {
            label: translate(label),
            figure:
              href === null ? { kind: 'text', value: owner.name } : { kind: 'link', value: owner.name, href },
          },
        ];
  const canViewUsersOf = (id: number | null): boolean =>
    scope.kind === 'platform' || (scope.kind === 'organisation' && scope.organisationId === id);
  const adminPath = '/dashboard/admin';
  const isOwn = key.userId === actor.userId;
  return [
    ...ownerFigure(
      'people.organisation',
      organisation,
      atLeast(role, objectActs.organisations) ? `${adminPath}/organisations/${organisation?.id}` : null,
    ),
    ...ownerFigure(
      'keys.department',
      department,
      atLeast(role, objectActs.departments)
        ? `${adminPath}/departments?org_id=${organisation?.id}#department-${department?.id}`
        : null,
    ),
    ...ownerFigure(
      'keys.field.project_id',
      project,
      canViewUsersOf(organisation?.id ?? null) ? `${adminPath}/projects/${project?.id}` : null,
    ),
    ...ownerFigure(
      'keys.owner',
      isOwn ? null : user,
      canViewUsersOf(user?.organisationId ?? null) ? `${adminPath}/users/${user?.id}` : null,
    ),
  ];
}
