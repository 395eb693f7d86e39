import type { AdminViewService, OrganisationName } from '../../identity';
import type { Scope } from '../../kernel';
import type { FieldModel, Translate } from '../../views';

/** The organisations to choose from: none for those who see one. */
export const organisationsFor = (
  names: Pick<AdminViewService, 'organisations'>,
  { kind }: Scope,
  wanted: number | undefined,
): Promise<OrganisationName[]> =>
  kind === 'platform' ? names.organisations(wanted ?? null) : Promise.resolve([]);

/** Those who see several organisations get it; one that the address names stays to choose in any case. */
export function organisationField(
  organisations: readonly OrganisationName[],
  wanted: string | undefined,
  translate: Translate,
): FieldModel[] {
  const known = organisations.map(({ id, name }) => ({ value: String(id), label: name }));
  if (known.length === 0 && wanted === undefined) return [];
  const isKnown = wanted === undefined || known.some(({ value }) => value === wanted);
  const options = isKnown ? known : [...known, { value: wanted, label: wanted }];
  return [
    {
      id: 'filter-organisation',
      name: 'organisation',
      type: 'select',
      label: translate('usage.group.organisation'),
      minor: true,
      options: [
        { value: '', label: translate('list.all'), selected: wanted === undefined },
        ...options.map(({ value, label }) => ({ value, label, selected: value === wanted })),
      ],
    },
  ];
}
