import type { CurrentCatalogue, CurrentOrganisation } from '../current.query';
import type { DesiredCatalogue, DesiredAccess, DesiredOrganisation } from './desired';
import { modelLabel, type Step } from '../step';

/**
 * Plans which models and regions organisations and departments can use. Users and organisations are not created here.
 */
export function planAccess(desired: DesiredCatalogue, current: CurrentCatalogue): Step[] {
  return desired.organisations.flatMap((organisation) => {
    const existing = current.organisations.get(organisation.slug);
    if (existing === undefined) return [];
    return [
      ...regionsStep(organisation, existing),
      ...organisationAccessSteps(organisation, existing),
      ...departmentAccessSteps(organisation, existing),
    ];
  });
}

const accessText = (allowed: boolean | undefined): string | null =>
  allowed === undefined ? null : allowed ? 'allowed' : 'blocked';
const regionsText = (regions: readonly string[] | null): string => regions?.toSorted().join(', ') ?? 'any';

function regionsStep(organisation: DesiredOrganisation, existing: CurrentOrganisation): Step[] {
  const { at, regions } = organisation;
  if (regions === undefined) return [];
  const [before, after] = [regionsText(existing.regions), regionsText(regions)];
  if (before === after) return [];
  const allowedRegions = regions === null ? null : [...regions];
  return [
    {
      at,
      kind: 'organisation',
      name: organisation.slug,
      mark: 'changed',
      changes: [{ field: 'regions', before, after }],
      needs: [],
      run: (tx, { editor }) => editor.setOrganisationRegions(tx, existing.id, allowedRegions),
    },
  ];
}

function organisationAccessSteps(organisation: DesiredOrganisation, existing: CurrentOrganisation): Step[] {
  return organisation.access.flatMap((access) => {
    const { model, allowed } = access;
    return accessStep(
      organisation.slug,
      modelLabel(model),
      access,
      existing.access[model],
      (tx, { editor }) =>
        editor.setOrganisationAccess(tx, model, existing.id, { granted: allowed, enabled: allowed }),
    );
  });
}

function departmentAccessSteps(organisation: DesiredOrganisation, existing: CurrentOrganisation): Step[] {
  return organisation.departments.flatMap(({ name, access }) => {
    const department = existing.departments.get(name);
    if (department === undefined) return [];
    return access.flatMap((modelAccess) => {
      const { model, allowed } = modelAccess;
      const field = `department ${name}, ${modelLabel(model)}`;
      return accessStep(organisation.slug, field, modelAccess, department.access[model], (tx, { editor }) =>
        editor.setDepartmentAccess(tx, department.id, model, allowed),
      );
    });
  });
}

function accessStep(
  organisation: string,
  field: string,
  { at, model, allowed }: DesiredAccess,
  before: boolean | undefined,
  run: Step['run'],
): Step[] {
  if (before === allowed) return [];
  return [
    {
      at,
      kind: 'organisation',
      name: organisation,
      mark: 'changed',
      changes: [{ field, before: accessText(before), after: accessText(allowed) }],
      needs: [modelLabel(model)],
      run,
    },
  ];
}
