import type { InvoicePayment, InvoiceState, LimitState, WalletState } from '../../billing';
import { billingTypes, type ListedDepartment, refusalOf, type UserAct, userActs } from '../../identity';
import { atLeast, budgetPeriods, mayGrant, roles } from '../../kernel';
import { type FieldModel, formatMoney, type Translate } from '../../views';
import { raiseInput } from '../pages/budget-raise';
import { choicesOf } from '../pages/choices';
import { moneyField } from '../pages/money-field';
import type { Localisation } from '../../web';
import {
  type ActInput,
  type ActModel,
  actOf,
  confirmationField,
  flagField,
  personField,
  pickerOf,
} from '../pages/object-page';
import type { ShownUser } from './shown-user';
import { billingWords } from './user-list';

export interface UserMoney {
  readonly wallet: WalletState;
  readonly invoice: InvoiceState;
  /** The newest payments of invoices. */
  readonly payments: readonly InvoicePayment[];
  /** It is set by the platform. */
  readonly monthly: LimitState | null;
  /** It is set by the organisation, with a period of its own. */
  readonly budget: LimitState | null;
}

export interface UserPlace {
  readonly departments: readonly ListedDepartment[];
  readonly hasSecondFactor: boolean;
}

/** `org` and `department` are short forms for addresses; the policy uses the full names. */
const addresses: Partial<Record<UserAct, string>> = { organisation: 'org' };

/** The changes of the policy's table, each with its form or the reason why the reader may not make it. */
export function actsOf(
  shown: ShownUser,
  money: UserMoney,
  { departments, hasSecondFactor }: UserPlace,
  localisation: Localisation,
): ActModel[] {
  const { user } = shown;
  const { translate } = localisation;
  const act: MakeAct = (name, input) => {
    const refusal = refusalWords(shown, name, translate);
    return actOf(
      {
        id: `act-${name}`,
        label: translate(`people.act.${name}`),
        action: `/dashboard/admin/users/${user.id}/${addresses[name] ?? name}`,
        version: user.version,
        ...input,
        ...(refusal === null ? {} : { refusal }),
      },
      translate,
    );
  };
  return [
    ...membershipActs(act, shown, departments, translate),
    ...moneyActs(act, shown, money, localisation),
    ...(isOfInvoices(shown, money) ? invoiceActs(act, shown, money, localisation) : []),
    act('second-factor-reset', secondFactorInput(shown, hasSecondFactor, translate)),
    act('hard-delete', {
      danger: true,
      submit: translate('people.act.hard-delete'),
      note: translate('people.erase-note'),
      fields: [confirmationField(user.email, translate)],
    }),
  ];
}

type MakeAct = (name: UserAct, input: Omit<ActInput, 'id' | 'label' | 'action' | 'version'>) => ActModel;

function membershipActs(
  act: MakeAct,
  shown: ShownUser,
  departments: readonly ListedDepartment[],
  translate: Translate,
): ActModel[] {
  const { user, names } = shown;
  return [
    act('role', { value: translate(`people.role.${user.role}`), fields: [roleField(shown, translate)] }),
    act('status', {
      value: translate(`people.status.${user.status}`),
      fields: [statusField(shown, translate)],
    }),
    act('organisation', {
      value: user.organisation ?? translate('people.no-organisation'),
      note: translate('people.organisation-note'),
      fields: [
        pickerOf(
          { id: 'org', name: 'org_id', label: translate('people.organisation') },
          names.organisations,
          user.organisationId,
          translate('people.no-organisation'),
        ),
      ],
    }),
    act('department', {
      value: user.department ?? translate('people.no-department'),
      fields: [
        pickerOf(
          { id: 'department', name: 'department_id', label: translate('people.department') },
          departments,
          user.departmentId,
          translate('people.no-department'),
        ),
      ],
    }),
  ];
}

function moneyActs(act: MakeAct, shown: ShownUser, money: UserMoney, localisation: Localisation): ActModel[] {
  const { user } = shown;
  const { translate, locale } = localisation;
  const dollars = (amount: bigint | undefined) =>
    amount === undefined ? translate('people.no-limit') : formatMoney(locale, amount);
  return [
    act('billing-config', {
      value: `${billingWords(user, translate)}${user.delegate === null ? '' : ` · ${user.delegate}`}`,
      note: translate('people.billing-note'),
      fields: billingFields(shown, money, translate),
    }),
    act('credit-limit', {
      value: dollars(money.wallet.creditLimit),
      fields: [moneyField('credit_limit', 'people.credit-limit', money.wallet.creditLimit, translate)],
    }),
    act('monthly-budget', {
      value: dollars(money.monthly?.limit),
      note: translate('people.monthly-budget-note'),
      fields: [moneyField('monthly_budget', 'people.act.monthly-budget', money.monthly?.limit, translate)],
    }),
    act('budget-raise', raiseInput(money.budget, localisation)),
    act('billing-exempt', {
      value: translate(user.billingExempt ? 'administration.yes' : 'administration.no'),
      fields: [
        flagField('billing_exempt', translate('people.act.billing-exempt'), user.billingExempt, translate),
      ],
    }),
  ];
}

/** Whoever is billed by invoice, or was and owes or paid. */
export const isOfInvoices = ({ user }: ShownUser, { invoice, payments }: UserMoney): boolean =>
  user.billingType === 'invoiced' || invoice.owed !== 0n || payments.length > 0;

/** Payments of invoices, for those who may record them; others see them on the tab of billing. */
function invoiceActs(
  act: MakeAct,
  shown: ShownUser,
  { invoice, payments }: UserMoney,
  { translate, locale }: Localisation,
): ActModel[] {
  if (refusalOf(shown.acting.actor, 'invoice-payment', shown.user) !== null) return [];
  const standing = payments.filter(({ undoneAt }) => undoneAt === null);
  const choices = standing.map(({ id, reference, amount }) => ({
    value: String(id),
    label: `${reference} · ${formatMoney(locale, amount)}`,
  }));
  return [
    act('invoice-payment', {
      value: `${translate('people.invoice.owed')}: ${formatMoney(locale, invoice.owed)}`,
      note: translate('people.invoice.record-note'),
      fields: [
        {
          id: 'invoice-amount',
          name: 'amount',
          label: `${translate('people.amount')} (USD)`,
          inputMode: 'decimal',
          autocomplete: 'off',
          required: true,
        },
        {
          id: 'invoice-reference',
          name: 'reference',
          label: translate('people.invoice.reference'),
          autocomplete: 'off',
          required: true,
        },
      ],
    }),
    act('invoice-payment-undo', {
      value: translate('people.invoice.payments'),
      note: translate('people.invoice.undo-note'),
      fields: [
        {
          id: 'invoice-payment-id',
          name: 'payment_id',
          type: 'select',
          label: translate('people.invoice.payment'),
          options: choices,
        },
      ],
      ...(choices.length === 0 ? { refusal: translate('people.invoice.no-payments') } : {}),
    }),
  ];
}

const secondFactorInput = (
  { user }: ShownUser,
  isOn: boolean,
  translate: Translate,
): Omit<ActInput, 'id' | 'label' | 'action' | 'version'> => ({
  value: translate(isOn ? 'people.second-factor.on' : 'people.second-factor.off'),
  note: translate('people.second-factor.note', { email: user.email }),
  danger: true,
  submit: translate('people.act.second-factor-reset'),
  withoutReason: true,
  fields: [
    {
      id: 'second-factor-reason',
      name: 'reason',
      label: translate('administration.reason'),
      autocomplete: 'off',
      required: true,
    },
  ],
  ...(isOn ? {} : { refusal: translate('people.second-factor.nothing') }),
});

function refusalWords({ user, acting }: ShownUser, act: UserAct, translate: Translate): string | null {
  const refusal = refusalOf(acting.actor, act, user);
  if (refusal === null) return null;
  if (refusal === 'self') return translate('refused.own-account');
  return translate('refused.role', { role: refusal });
}

const roleField = ({ user, acting }: ShownUser, translate: Translate): FieldModel => ({
  id: 'role',
  name: 'role',
  type: 'select',
  label: translate('people.role-label'),
  options: choicesOf(
    roles.filter((role) => mayGrant(acting.actor.role, role)),
    user.role,
    (role) => `${translate(`people.role.${role}`)}: ${translate(`people.role-means.${role}`)}`,
  ),
});

const statusField = ({ user }: ShownUser, translate: Translate): FieldModel => ({
  id: 'status',
  name: 'status',
  type: 'select',
  label: translate('people.status-label'),
  help: translate('people.status-note'),
  options: choicesOf(['active', 'suspended', 'archived'], user.status, (status) =>
    translate(`people.status.${status}`),
  ),
});

function billingFields(
  { user, acting, names }: ShownUser,
  { budget }: UserMoney,
  translate: Translate,
): FieldModel[] {
  const mayInvoice = atLeast(acting.actor.role, userActs['billing-exempt'].minimum);
  return [
    {
      id: 'billing_type',
      name: 'billing_type',
      type: 'select',
      label: translate('people.billing-type-label'),
      options: choicesOf(
        billingTypes.filter((type) => type !== 'invoiced' || mayInvoice || user.billingType === type),
        user.billingType,
        (type) => translate(`people.billing-type.${type}`),
      ),
    },
    personField(
      {
        id: 'delegate_user_id',
        name: 'delegate_user_id',
        label: translate('people.delegate'),
        help: translate('people.delegate-help'),
        placeholder: translate('people.no-delegate'),
        optional: true,
      },
      names.colleagues.filter(({ id }) => id !== user.id),
      user.delegate,
    ),
    moneyField('budget', 'people.budget', budget?.limit, translate),
    {
      id: 'budget_period',
      name: 'budget_period',
      type: 'select',
      label: translate('field.period'),
      options: choicesOf(budgetPeriods, budget?.period ?? 'monthly', (period) =>
        translate(`people.period.${period}`),
      ),
    },
  ];
}
