import { placeActs } from '../../identity';
import { type Actor, atLeast } from '../../kernel';
import type { KeyOwners, ManagedKey, OwnerName } from '../../keys';
import type { LabelledFigure, Translate } from '../../views';

/**
 * The facts name the owners of a key, with links for those who may open the pages. One's own key says nothing
 * of its owner.
 */
export function ownerFacts(
  key: Pick<ManagedKey, 'userId'>,
  { organisation, department, project, user }: KeyOwners,
  actor: Actor,
  translate: Translate,
): LabelledFigure[] {
  const { role, scope } = actor;
  const fact = (label: string, owner: OwnerName | null, href: string | null): LabelledFigure[] =>
    owner === null
      ? []
      : [
          {
            label: translate(label),
            figure:
              href === null ? { kind: 'text', value: owner.name } : { kind: 'link', value: owner.name, href },
          },
        ];
  const seesPeopleOf = (id: number | null): boolean =>
    scope.kind === 'platform' || (scope.kind === 'organisation' && scope.organisationId === id);
  const admin = '/dashboard/admin';
  const isOwn = key.userId === actor.userId;
  return [
    ...fact(
      'people.organisation',
      organisation,
      atLeast(role, placeActs.organisations) ? `${admin}/organisations/${organisation?.id}` : null,
    ),
    ...fact(
      'keys.department',
      department,
      atLeast(role, placeActs.departments)
        ? `${admin}/departments?org_id=${organisation?.id}#department-${department?.id}`
        : null,
    ),
    ...fact(
      'keys.field.project_id',
      project,
      seesPeopleOf(organisation?.id ?? null) ? `${admin}/projects/${project?.id}` : null,
    ),
    ...fact(
      'keys.owner',
      isOwn ? null : user,
      seesPeopleOf(user?.organisationId ?? null) ? `${admin}/users/${user?.id}` : null,
    ),
  ];
}
