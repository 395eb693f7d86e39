import { CatalogueEditor } from '../../catalogue-editor.service';
import type { Current, CurrentOrganisation } from '../current';
import type { Desired, DesiredAccess, DesiredOrganisation } from './desired';
import { modelNamed, type Step } from '../step';

const editor = new CatalogueEditor();

/**
 * The steps set which organisations and departments may use what, and where. People and their organisations
 * are not made here.
 */
export function planAccess(desired: Desired, current: Current): Step[] {
  return desired.organisations.flatMap((organisation) => {
    const known = current.organisations.get(organisation.slug);
    if (known === undefined) return [];
    return [
      ...regionsStep(organisation, known),
      ...organisationAccess(organisation, known),
      ...departmentAccess(organisation, known),
    ];
  });
}

const word = (allowed: boolean | undefined): string | null =>
  allowed === undefined ? null : allowed ? 'allowed' : 'blocked';
const regionsText = (regions: readonly string[] | null): string => regions?.toSorted().join(', ') ?? 'any';

function regionsStep(organisation: DesiredOrganisation, known: CurrentOrganisation): Step[] {
  const { at, regions } = organisation;
  if (regions === undefined) return [];
  const [before, after] = [regionsText(known.regions), regionsText(regions)];
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
      run: (tx) => editor.setOrganisationRegions(tx, known.id, allowedRegions),
    },
  ];
}

function organisationAccess(organisation: DesiredOrganisation, known: CurrentOrganisation): Step[] {
  return organisation.access.flatMap((access) => {
    const { model, allowed } = access;
    return accessStep(organisation.slug, modelNamed(model), access, known.access[model], (tx) =>
      editor.setOrganisationAccess(tx, model, known.id, { granted: allowed, enabled: allowed }),
    );
  });
}

function departmentAccess(organisation: DesiredOrganisation, known: CurrentOrganisation): Step[] {
  return organisation.departments.flatMap(({ name, access }) => {
    const department = known.departments.get(name);
    if (department === undefined) return [];
    return access.flatMap((wanted) => {
      const { model, allowed } = wanted;
      const field = `department ${name}, ${modelNamed(model)}`;
      return accessStep(organisation.slug, field, wanted, department.access[model], (tx) =>
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
      changes: [{ field, before: word(before), after: word(allowed) }],
      needs: [modelNamed(model)],
      run,
    },
  ];
}
