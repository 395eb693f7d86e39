import type { AdminViewService, OrganisationName } from '../../identity';
import type { Scope } from '../../kernel';
import type { FieldModel, Translate } from '../../views';

/** Organisations to choose from; empty for readers who see only one. */
export const organisationsFor = (
  names: Pick<AdminViewService, 'organisations'>,
  { kind }: Scope,
  selectedId: number | undefined,
): Promise<OrganisationName[]> =>
  kind === 'platform' ? names.organisations(selectedId ?? null) : Promise.resolve([]);

/** Shown to readers who see several organisations; always includes the selected one. */
export function organisationField(
  organisations: readonly OrganisationName[],
  selectedValue: string | undefined,
  translate: Translate,
): FieldModel[] {
  const choices = organisations.map(({ id, name }) => ({ value: String(id), label: name }));
  if (choices.length === 0 && selectedValue === undefined) return [];
  const isListed = selectedValue === undefined || choices.some(({ value }) => value === selectedValue);
  const options = isListed ? choices : [...choices, { value: selectedValue, label: selectedValue }];
  return [
    {
      id: 'filter-organisation',
      name: 'organisation',
      type: 'select',
      label: translate('usage.group.organisation'),
      minor: true,
      options: [
        { value: '', label: translate('list.all'), selected: selectedValue === undefined },
        ...options.map(({ value, label }) => ({ value, label, selected: value === selectedValue })),
      ],
    },
  ];
}
