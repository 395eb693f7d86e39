import type { InvoicePayment, InvoiceState, LimitState, WalletState } from '../../billing';
import { billingTypes, type ListedDepartment, refusalReason, type UserAct, userActs } from '../../identity';
import { atLeast, budgetPeriods, canGrant, roles } from '../../kernel';
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
  userField,
  pickerOf,
} from '../pages/object-page';
import type { UserPageContext } from './user-page-context';
import { billingText } from './user-list';

export interface UserFinances {
  readonly wallet: WalletState;
  readonly invoice: InvoiceState;
  readonly payments: readonly InvoicePayment[];
  /** Budget set by the platform. */
  readonly monthly: LimitState | null;
  /** Budget set by the organisation, with its own period. */
  readonly budget: LimitState | null;
}

export interface UserActOptions {
  readonly departments: readonly ListedDepartment[];
  readonly hasSecondFactor: boolean;
}

const pathSegments: Partial<Record<UserAct, string>> = { organisation: 'org' };

export function actsOf(
  context: UserPageContext,
  money: UserFinances,
  { departments, hasSecondFactor }: UserActOptions,
  localisation: Localisation,
): ActModel[] {
  const { user } = context;
  const { translate } = localisation;
  const act: ActBuilder = (name, input) => {
    const refusal = refusalText(context, name, translate);
    return actOf(
      {
        id: `act-${name}`,
        label: translate(`people.act.${name}`),
        action: `/dashboard/admin/users/${user.id}/${pathSegments[name] ?? name}`,
        version: user.version,
        ...input,
        ...(refusal === null ? {} : { refusal }),
      },
      translate,
    );
  };
  return [
    ...membershipActs(act, context, departments, translate),
    ...moneyActs(act, context, money, localisation),
    ...(hasInvoices(context, money) ? invoiceActs(act, context, money, localisation) : []),
    act('second-factor-reset', secondFactorInput(context, hasSecondFactor, translate)),
    act('hard-delete', {
      danger: true,
      submit: translate('people.act.hard-delete'),
      note: translate('people.erase-note'),
      fields: [confirmationField(user.email, translate)],
    }),
  ];
}

type ActBuilder = (name: UserAct, input: Omit<ActInput, 'id' | 'label' | 'action' | 'version'>) => ActModel;

function membershipActs(
  act: ActBuilder,
  context: UserPageContext,
  departments: readonly ListedDepartment[],
  translate: Translate,
): ActModel[] {
  const { user, names } = context;
  return [
    act('role', { value: translate(`people.role.${user.role}`), fields: [roleField(context, translate)] }),
    act('status', {
      value: translate(`people.status.${user.status}`),
      fields: [statusField(context, translate)],
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

function moneyActs(
  act: ActBuilder,
  context: UserPageContext,
  money: UserFinances,
  localisation: Localisation,
): ActModel[] {
  const { user } = context;
  const { translate, locale } = localisation;
  const dollars = (amount: bigint | undefined) =>
    amount === undefined ? translate('people.no-limit') : formatMoney(locale, amount);
  return [
    act('billing-config', {
      value: `${billingText(user, translate)}${user.delegate === null ? '' : ` · ${user.delegate}`}`,
      note: translate('people.billing-note'),
      fields: billingFields(context, money, translate),
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

export const hasInvoices = ({ user }: UserPageContext, { invoice, payments }: UserFinances): boolean =>
  user.billingType === 'invoiced' || invoice.owed !== 0n || payments.length > 0;

/** Acts for invoice payments; other readers see the payments on the billing tab. */
function invoiceActs(
  act: ActBuilder,
  context: UserPageContext,
  { invoice, payments }: UserFinances,
  { translate, locale }: Localisation,
): ActModel[] {
  if (refusalReason(context.acting.actor, 'invoice-payment', context.user) !== null) return [];
  const activePayments = payments.filter(({ undoneAt }) => undoneAt === null);
  const choices = activePayments.map(({ id, reference, amount }) => ({
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
  { user }: UserPageContext,
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

function refusalText({ user, acting }: UserPageContext, act: UserAct, translate: Translate): string | null {
  const refusal = refusalReason(acting.actor, act, user);
  if (refusal === null) return null;
  if (refusal === 'self') return translate('refused.own-account');
  return translate('refused.role', { role: refusal });
}

const roleField = ({ user, acting }: UserPageContext, translate: Translate): FieldModel => ({
  id: 'role',
  name: 'role',
  type: 'select',
  label: translate('people.role-label'),
  options: choicesOf(
    roles.filter((role) => canGrant(acting.actor.role, role)),
    user.role,
    (role) => `${translate(`people.role.${role}`)}: ${translate(`people.role-means.${role}`)}`,
  ),
});

const statusField = ({ user }: UserPageContext, translate: Translate): FieldModel => ({
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
  { user, acting, names }: UserPageContext,
  { budget }: UserFinances,
  translate: Translate,
): FieldModel[] {
  const canInvoice = atLeast(acting.actor.role, userActs['billing-exempt'].minimum);
  return [
    {
      id: 'billing_type',
      name: 'billing_type',
      type: 'select',
      label: translate('people.billing-type-label'),
      options: choicesOf(
        billingTypes.filter((type) => type !== 'invoiced' || canInvoice || user.billingType === type),
        user.billingType,
        (type) => translate(`people.billing-type.${type}`),
      ),
    },
    userField(
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
