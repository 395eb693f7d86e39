import { billingTypes, type BillingType, type UserStatus } from '../../identity';
import { budgetPeriods, type BudgetPeriod, oneOf, type Role, roles } from '../../kernel';
import { IsOptional, Length, Takes } from '../../platform';
import { IsCursor } from '../../web';
import {
  ChangeForm,
  IsChoice,
  IsDollars,
  IsFlag,
  IsId,
  IsIdOrNone,
  IsPerson,
  type PersonName,
  ListQuery,
  IsLineIfAny,
} from '../pages/fields';

export const settableStatuses = ['pending_verification', 'active', 'suspended', 'archived'] as const;
export const userTabs = ['overview', 'keys', 'usage', 'billing', 'sessions', 'audit'] as const;

export type UserTab = (typeof userTabs)[number];

export class UserParams {
  @IsId()
  user_id: number;
}

export class UserListQuery extends ListQuery {
  @IsChoice(roles)
  role?: Role | null;

  @IsChoice(settableStatuses)
  status?: Exclude<UserStatus, 'deleted'> | null;

  @IsIdOrNone()
  org_id?: number | null;
}

export class UserPageQuery {
  @IsChoice(userTabs)
  tab?: UserTab | null;

  @IsCursor()
  cursor?: string;
}

export class InvoicePaymentsQuery {
  @IsOptional()
  @Length(1, 20)
  limit?: string;

  @IsCursor()
  cursor?: string;
}

export class RoleForm extends ChangeForm {
  @Takes(oneOf(roles))
  role: Role;
}

export class StatusForm extends ChangeForm {
  @Takes(oneOf(['active', 'suspended', 'archived'] as const))
  status: 'active' | 'suspended' | 'archived';
}

export class ExemptForm extends ChangeForm {
  /** Without it, the state is changed to the other one. */
  @IsFlag()
  billing_exempt?: boolean;
}

export class CreditLimitForm extends ChangeForm {
  @IsDollars()
  credit_limit?: string | null;
}

export class MonthlyBudgetForm extends ChangeForm {
  @IsDollars()
  monthly_budget?: string | null;
}

export class BillingConfigForm extends ChangeForm {
  @Takes(oneOf(billingTypes))
  billing_type: BillingType;

  @IsDollars()
  budget?: string | null;

  @IsChoice(budgetPeriods)
  budget_period?: BudgetPeriod | null;

  @IsPerson()
  delegate_user_id?: PersonName | null;
}

export class InvoicePaymentForm extends ChangeForm {
  @IsDollars()
  amount?: string | null;

  /** It names the payment, such as the reference of the bank. */
  @IsLineIfAny(120)
  reference?: string;
}

export class InvoicePaymentUndoForm extends ChangeForm {
  @IsId()
  payment_id: number;
}

export class UserOrganisationForm extends ChangeForm {
  @IsIdOrNone()
  org_id?: number | null;
}

export class UserDepartmentForm extends ChangeForm {
  @IsIdOrNone()
  department_id?: number | null;
}

/** The reason is not optional here: it is all that others can judge the act by. */
export class SecondFactorResetForm extends ChangeForm {}

export class HardDeleteForm extends ChangeForm {
  /** The account's address, typed as a confirmation. */
  @IsLineIfAny(254)
  confirmation?: string;
}
