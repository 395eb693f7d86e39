import { billingTypes, type BillingType, type UserStatus } from '../../identity';
import { budgetPeriods, type BudgetPeriod, oneOf, type UserRole, roles } from '../../kernel';
import { IsOptional, Length, ParsedBy } from '../../platform';
import { IsCursor } from '../../web';
import {
  ChangeForm,
  IsChoice,
  IsDollars,
  IsFlag,
  IsId,
  IsIdOrNone,
  IsUserReference,
  type UserReference,
  AdminListQuery,
  IsOptionalLine,
} from '../pages/fields';

export const settableStatuses = ['pending_verification', 'active', 'suspended', 'archived'] as const;
export const userTabs = ['overview', 'keys', 'usage', 'billing', 'sessions', 'audit'] as const;

export type UserTab = (typeof userTabs)[number];

export class UserParams {
  @IsId()
  user_id: number;
}

export class UserListQuery extends AdminListQuery {
  @IsChoice(roles)
  role?: UserRole | null;

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
  @ParsedBy(oneOf(roles))
  role: UserRole;
}

export class StatusForm extends ChangeForm {
  @ParsedBy(oneOf(['active', 'suspended', 'archived'] as const))
  status: 'active' | 'suspended' | 'archived';
}

export class ExemptForm extends ChangeForm {
  /** Toggles the current state if omitted. */
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
  @ParsedBy(oneOf(billingTypes))
  billing_type: BillingType;

  @IsDollars()
  budget?: string | null;

  @IsChoice(budgetPeriods)
  budget_period?: BudgetPeriod | null;

  @IsUserReference()
  delegate_user_id?: UserReference | null;
}

export class InvoicePaymentForm extends ChangeForm {
  @IsDollars()
  amount?: string | null;

  /** Identifies the payment, such as a bank reference. */
  @IsOptionalLine(120)
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

/** Requires a reason, the only basis on which others can review the reset. */
export class SecondFactorResetForm extends ChangeForm {}

export class HardDeleteForm extends ChangeForm {
  @IsOptionalLine(254)
  confirmation?: string;
}
