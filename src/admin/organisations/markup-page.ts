import type { Markup } from '../../identity';
import { column, type TableModel, tableOf, type Translate } from '../../views';
import { type ActModel, actOf, type ObjectPageModel } from '../pages/object-page';
import { percentOf, FULL_PRICE_FACTOR } from './markup-factor';

const path = '/dashboard/admin/organisations';

export function markupPage(
  { id, name }: { readonly id: number; readonly name: string },
  versions: readonly Markup[],
  translate: Translate,
): ObjectPageModel {
  return {
    page: {
      heading: translate('markups.heading', { name }),
      scope: translate('markups.scope'),
      crumb: { label: name, href: `${path}/${id}` },
      sections: [
        {
          id: 'set',
          heading: translate('people.changes'),
          acts: [changeAct(id, versions, translate)],
        },
        {
          id: 'versions',
          heading: translate('markups.versions'),
          table: versionsTable(versions, translate),
        },
      ],
    },
  };
}

const stateOf = ({ isInForce, validFrom }: Markup): 'in-force' | 'coming' | 'past' =>
  isInForce ? 'in-force' : validFrom.getTime() > Date.now() ? 'coming' : 'past';

function changeAct(id: number, versions: readonly Markup[], translate: Translate): ActModel {
  const inForce = versions.find(({ isInForce }) => isInForce)?.factor ?? FULL_PRICE_FACTOR;
  return actOf(
    {
      id: 'markup',
      label: translate('markups.set'),
      value: percentOf(inForce),
      action: `${path}/${id}/markup`,
      note: translate('markups.note'),
      open: true,
      fields: [
        {
          id: 'percent',
          name: 'percent',
          label: translate('markups.percent'),
          help: translate('markups.percent-help'),
          inputMode: 'decimal',
          required: true,
          autocomplete: 'off',
        },
        {
          id: 'valid-from',
          name: 'valid_from',
          label: translate('markups.valid-from'),
          type: 'datetime-local',
          help: translate('markups.valid-from-help'),
          optional: true,
          autocomplete: 'off',
        },
      ],
    },
    translate,
  );
}

function versionsTable(versions: readonly Markup[], translate: Translate): TableModel {
  return tableOf(
    versions,
    {
      caption: translate('markups.versions'),
      columns: [
        column('markups.percent', 'text', ({ factor }) => percentOf(factor)),
        column('markups.valid-from', 'time', ({ validFrom }) => validFrom),
        column('keys.raise.state', 'text', (version) => translate(`markups.state.${stateOf(version)}`)),
        column('keys.raise.by', 'text', ({ createdBy }) => createdBy ?? '', 'minor'),
        column('administration.reason', 'text', ({ reason }) => reason ?? '', 'minor'),
      ],
    },
    translate,
  );
}
