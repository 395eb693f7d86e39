import { billingTypes, type BillingType, type UserStatus } from '../../identity';
import { budgetPeriods, type BudgetPeriod, type UserRole, roles } from '../../kernel';
import {
  IsOptional,
  Length,
  IsCursor,
  IfPresent,
  IsFlag,
  IsLine,
  IsOneOf,
  IsRowId,
  IsUsdAmount,
  IsUserReference,
  type UserReference,
} from '../../web';
import { ChangeForm, AdminListQuery } from '../pages/admin.dto';

export const settableStatuses = ['pending_verification', 'active', 'suspended', 'archived'] as const;
export const userTabs = ['overview', 'keys', 'usage', 'billing', 'sessions', 'audit'] as const;

export type UserTab = (typeof userTabs)[number];

export class UserParams {
  @IsRowId()
  user_id: number;
}

export class UserListQuery extends AdminListQuery {
  @IsOneOf(roles, { optional: true })
  role?: UserRole | null;

  @IsOneOf(settableStatuses, { optional: true })
  status?: Exclude<UserStatus, 'deleted'> | null;

  @IsRowId({ clearable: true })
  org_id?: number | null;
}

export class UserPageQuery {
  @IsOneOf(userTabs, { optional: true })
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
  @IsOneOf(roles)
  role: UserRole;
}

export class StatusForm extends ChangeForm {
  @IsOneOf(['active', 'suspended', 'archived'])
  status: 'active' | 'suspended' | 'archived';
}

export class ExemptForm extends ChangeForm {
  /** Toggles the current state if omitted. */
  @IfPresent()
  @IsFlag()
  billing_exempt?: boolean;
}

export class CreditLimitForm extends ChangeForm {
  @IsUsdAmount({ clearable: true })
  credit_limit?: string | null;
}

export class MonthlyBudgetForm extends ChangeForm {
  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}

export class BillingConfigForm extends ChangeForm {
  @IsOneOf(billingTypes)
  billing_type: BillingType;

  @IsUsdAmount({ clearable: true })
  budget?: string | null;

  @IsOneOf(budgetPeriods, { optional: true })
  budget_period?: BudgetPeriod | null;

  @IsUserReference()
  delegate_user_id?: UserReference | null;
}

export class InvoicePaymentForm extends ChangeForm {
  @IsUsdAmount({ clearable: true })
  amount?: string | null;

  /** Identifies the payment, such as a bank reference. */
  @IsLine(120, { optional: true })
  reference?: string;
}

export class InvoicePaymentUndoForm extends ChangeForm {
  @IsRowId()
  payment_id: number;
}

export class UserOrganisationForm extends ChangeForm {
  @IsRowId({ clearable: true })
  org_id?: number | null;
}

export class UserDepartmentForm extends ChangeForm {
  @IsRowId({ clearable: true })
  department_id?: number | null;
}

/** Requires a reason, the only basis on which others can review the reset. */
export class SecondFactorResetForm extends ChangeForm {}

export class HardDeleteForm extends ChangeForm {
  @IsLine(254, { optional: true })
  confirmation?: string;
}
