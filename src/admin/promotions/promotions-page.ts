import { type ListedPromotion, promotionScopes } from '../../billing';
import type { OrganisationName } from '../../identity';
import type { Nano } from '../../kernel';
import type { Page } from '../../platform';
import { type FieldModel, formatMoney, type PagerModel } from '../../views';
import { addressOf, type HttpRequest, type Localisation, pathOf, queryOf } from '../../web';
import { choicesOf } from '../pages/choices';
import {
  type ActModel,
  actOf,
  type ObjectPageModel,
  userField,
  pickerOf,
  type SectionModel,
} from '../pages/object-page';

const path = '/dashboard/admin/promotions';

interface PromotionsPageContext {
  readonly liability: Nano;
  readonly organisations: readonly OrganisationName[];
}

export function promotionsPage(
  request: HttpRequest,
  page: Page<ListedPromotion>,
  { liability, organisations }: PromotionsPageContext,
  localisation: Localisation,
): ObjectPageModel & { readonly pager: PagerModel } {
  const { translate, locale } = localisation;
  const href = (cursor: string | null) => addressOf(pathOf(request), queryOf(request), { cursor });
  return {
    page: {
      heading: translate('promotions.heading'),
      scope: translate('promotions.liability', { amount: formatMoney(locale, liability) }),
      sections: [
        {
          id: 'make',
          acts: [createAct(organisations, page.rows.length === 0, localisation)],
        },
        ...page.rows.map((promotion) => sectionOf(promotion, localisation)),
      ],
    },
    pager: {
      label: translate('list.pages', { heading: translate('promotions.heading') }),
      summary: translate('list.shown', { count: page.rows.length }),
      ...(page.previous === null ? {} : { newerHref: href(page.previous) }),
      ...(page.next === null ? {} : { olderHref: href(page.next) }),
    },
  };
}

function createAct(
  organisations: readonly OrganisationName[],
  open: boolean,
  { translate }: Localisation,
): ActModel {
  return actOf(
    {
      id: 'create',
      label: translate('promotions.new'),
      action: `${path}/create`,
      open,
      withoutReason: true,
      note: translate('promotions.nothing-text'),
      submit: translate('organisations.create'),
      fields: [
        textField('name', translate('people.name'), ''),
        {
          id: 'scope',
          name: 'scope',
          type: 'select',
          label: translate('promotions.scope-label'),
          options: choicesOf(promotionScopes, 'user', (scope) => translate(`promotions.scope.${scope}`)),
        },
        userField(
          { id: 'user_id', name: 'user_id', label: translate('promotions.user'), optional: true },
          [],
          null,
        ),
        pickerOf(
          { id: 'org_id', name: 'org_id', label: translate('people.organisation') },
          organisations,
          null,
          translate('people.no-organisation'),
        ),
        { ...textField('amount', `${translate('promotions.amount')} (USD)`, ''), inputMode: 'decimal' },
        endField('expires_at', null, translate),
      ],
    },
    translate,
  );
}

const textField = (name: string, label: string, value: string): FieldModel => ({
  id: name,
  name,
  label,
  value,
  required: true,
  autocomplete: 'off',
});

/** Includes the time; a date only would move the end of a promotion that is merely renamed. */
const endField = (id: string, at: Date | null, translate: Localisation['translate']): FieldModel => ({
  id,
  name: 'expires_at',
  type: 'datetime-local',
  label: `${translate('promotions.expires')} (UTC)`,
  optional: true,
  ...(at === null ? {} : { value: at.toISOString().slice(0, 19) }),
});

function sectionOf(promotion: ListedPromotion, { translate }: Localisation): SectionModel {
  const { id, version, name, expiresAt } = promotion;
  const money = (key: string, value: Nano) => ({
    label: translate(key),
    figure: { kind: 'money', value } as const,
  });
  const action = `${path}/${id}/update`;
  const isOver = expiresAt !== null && expiresAt <= new Date();
  const edit = actOf(
    {
      id: `edit-${id}`,
      label: translate('promotions.edit'),
      action,
      version,
      hidden: [{ name: 'end', value: 'false' }],
      fields: [
        { ...textField('name', translate('people.name'), name), id: `name-${id}` },
        ...(isOver ? [] : [endField(`expires-${id}`, expiresAt, translate)]),
      ],
    },
    translate,
  );
  const end = actOf(
    {
      id: `end-${id}`,
      label: translate('promotions.end'),
      action,
      version,
      danger: true,
      hidden: [{ name: 'end', value: 'true' }],
      submit: translate('promotions.end'),
      note: translate('promotions.end-note'),
    },
    translate,
  );
  const target = promotion.target === null ? '' : ` · ${promotion.target}`;
  return {
    id: `promotion-${id}`,
    heading: name,
    facts: [
      {
        label: translate('promotions.scope-label'),
        figure: { kind: 'text', value: `${translate(`promotions.scope.${promotion.scope}`)}${target}` },
      },
      money('promotions.amount', promotion.amount),
      money('promotions.granted', promotion.granted),
      money('promotions.used', promotion.granted - promotion.remaining - promotion.reclaimed),
      money('promotions.remaining', promotion.remaining),
      { label: translate('promotions.expires'), figure: { kind: 'time', value: expiresAt } },
      { label: translate('projects.made-by'), figure: { kind: 'text', value: promotion.createdBy } },
    ],
    acts: isOver ? [edit] : [edit, end],
  };
}
