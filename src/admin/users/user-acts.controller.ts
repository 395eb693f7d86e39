import { Body, Controller, Param, Req } from '@nestjs/common';
import type { Changes } from '../../audit';
import { budgetsOfUser, Invoices, Limits } from '../../billing';
import {
  type ActorContext,
  type ListedUser,
  userActs,
  UserEditor,
  UserErasure,
  UserRegister,
} from '../../identity';
import { invalidField, toJsonNumber } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  type UserReference,
} from '../../web';
import { BudgetRaiseForm } from '../pages/admin.dto';
import { raiseOf } from '../pages/budget-raise';
import { missingField, nanoOf, targetOf, confirmationRequired } from '../pages/form-values';
import { SecondFactorResets } from './second-factor-resets.service';
import { UserBilling } from './user-billing.service';
import {
  BillingConfigForm,
  CreditLimitForm,
  ExemptForm,
  InvoicePaymentForm,
  InvoicePaymentUndoForm,
  HardDeleteForm,
  MonthlyBudgetForm,
  RoleForm,
  SecondFactorResetForm,
  StatusForm,
  UserDepartmentForm,
  UserOrganisationForm,
  UserParams,
} from './users.dto';

const requires = (act: keyof typeof userActs): MethodDecorator => Access.role(userActs[act].minimum);
const actPath = (act: string): string => `/dashboard/admin/users/:user_id/${act}`;
const actingOf = (request: HttpRequest): ActorContext => ({
  actor: actorOf(request),
  scope: adminScope(request),
});

@Controller()
export class UserActsController {
  constructor(
    private readonly users: UserRegister,
    private readonly editor: UserEditor,
    private readonly billing: UserBilling,
    private readonly erasure: UserErasure,
    private readonly factors: SecondFactorResets,
    private readonly limits: Limits,
    private readonly invoices: Invoices,
  ) {}

  @Action(actPath('role'), requires('role'), { audit: 'user.role-changed' })
  role(
    @Param() { user_id: id }: UserParams,
    @Body() form: RoleForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const work = this.editor.setRole(actingOf(request), targetOf(id, form), form.role);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('status'), requires('status'), { audit: 'user.status-changed' })
  status(
    @Param() { user_id: id }: UserParams,
    @Body() form: StatusForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const work = this.editor.setStatus(actingOf(request), targetOf(id, form), form.status);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('billing-exempt'), requires('billing-exempt'), { audit: 'user.billing-exempt-changed' })
  exempt(
    @Param() { user_id: id }: UserParams,
    @Body() form: ExemptForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const work = this.editor.setBillingExempt(actingOf(request), targetOf(id, form), form.billing_exempt);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('credit-limit'), requires('credit-limit'), { audit: 'user.credit-limit-changed' })
  creditLimit(
    @Param() { user_id: id }: UserParams,
    @Body() form: CreditLimitForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    if (form.credit_limit === undefined) throw missingField('credit_limit');
    const limit = nanoOf(form.credit_limit) ?? 0n;
    const work = this.billing.setCreditLimit(actingOf(request), targetOf(id, form), limit);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('monthly-budget'), requires('monthly-budget'), { audit: 'user.monthly-budget-changed' })
  monthlyBudget(
    @Param() { user_id: id }: UserParams,
    @Body() form: MonthlyBudgetForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    if (form.monthly_budget === undefined) throw missingField('monthly_budget');
    const budget = nanoOf(form.monthly_budget);
    const work = this.billing.setMonthlyBudget(actingOf(request), targetOf(id, form), budget);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('budget-raise'), requires('budget-raise'), { audit: 'user.budget-raised' })
  raiseBudget(
    @Param() { user_id: id }: UserParams,
    @Body() form: BudgetRaiseForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const work = this.billing.raiseBudget(actingOf(request), targetOf(id, form), raiseOf(form));
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('billing-config'), requires('billing-config'), { audit: 'user.billing-config-changed' })
  async billingConfig(
    @Param() { user_id: id }: UserParams,
    @Body() form: BillingConfigForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const acting = actingOf(request);
    const work = this.billing.setConfig(acting, targetOf(id, form), {
      type: form.billing_type,
      budget: form.budget === undefined ? undefined : nanoOf(form.budget),
      period: form.budget_period ?? undefined,
      delegateUserId: await this.resolveDelegate(acting, id, form.delegate_user_id ?? null),
    });
    return this.respondWithUser(id, work, request);
  }

  /** The reference identifies a payment, so that a repeated form records it once. */
  @Action(actPath('invoice-payment'), requires('invoice-payment'), { audit: 'user.invoice-paid' })
  async invoicePayment(
    @Param() { user_id: id }: UserParams,
    @Body() form: InvoicePaymentForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const reference = form.reference?.trim() ?? '';
    if (reference === '') throw missingField('reference');
    const amount = nanoOf(form.amount);
    if (amount === null) throw missingField('amount');
    if (amount === 0n) throw invalidField('amount', 'an amount above zero');
    const work = this.billing.recordPayment(actingOf(request), targetOf(id, form), reference, amount);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('invoice-payment-undo'), requires('invoice-payment-undo'), {
    audit: 'user.invoice-payment-undone',
  })
  invoicePaymentUndo(
    @Param() { user_id: id }: UserParams,
    @Body() form: InvoicePaymentUndoForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    if ((form.reason ?? '').trim() === '') throw invalidField('reason', 'given: why the payment is undone');
    const work = this.billing.undoPayment(actingOf(request), targetOf(id, form), form.payment_id);
    return this.respondWithUser(id, work, request);
  }

  private async resolveDelegate(
    { scope }: ActorContext,
    userId: number,
    userReference: UserReference | null,
  ): Promise<number | null> {
    if (typeof userReference !== 'string') return userReference;
    const { organisationId } = await this.users.get(scope, userId);
    return this.users.resolveUserId(scope, userReference, { param: 'delegate_user_id', organisationId });
  }

  @Action(actPath('org'), requires('organisation'), { audit: 'user.organisation-changed' })
  organisation(
    @Param() { user_id: id }: UserParams,
    @Body() form: UserOrganisationForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    if (form.org_id === undefined) throw missingField('org_id');
    const work = this.editor.setOrganisation(actingOf(request), targetOf(id, form), form.org_id);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('department'), requires('department'), { audit: 'user.department-changed' })
  department(
    @Param() { user_id: id }: UserParams,
    @Body() form: UserDepartmentForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    if (form.department_id === undefined) throw missingField('department_id');
    const work = this.editor.setDepartment(actingOf(request), targetOf(id, form), form.department_id);
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('second-factor-reset'), requires('second-factor-reset'), {
    audit: 'user.second-factor-reset',
  })
  secondFactorReset(
    @Param() { user_id: id }: UserParams,
    @Body() form: SecondFactorResetForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    if ((form.reason ?? '').trim() === '')
      throw invalidField('reason', 'given: why two-step sign-in is reset');
    const work = this.factors.reset(actingOf(request), targetOf(id, form));
    return this.respondWithUser(id, work, request);
  }

  @Action(actPath('hard-delete'), requires('hard-delete'), { audit: 'user.deleted' })
  async hardDelete(
    @Param() { user_id: id }: UserParams,
    @Body() form: HardDeleteForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const acting = actingOf(request);
    const { email } = await this.users.get(acting.scope, id);
    if (form.confirmation !== undefined && form.confirmation.toLowerCase() !== email.toLowerCase()) {
      throw confirmationRequired(email);
    }
    await this.erasure.erase(acting, targetOf(id, form));
    return done('/dashboard/admin/users', { ok: true, user_id: id }, 'administration.erased', {
      name: email,
    });
  }

  private async respondWithUser(
    id: number,
    change: Promise<Changes>,
    request: HttpRequest,
  ): Promise<ActionResult> {
    const changes = await change;
    const user = await this.users.get(adminScope(request), id).catch(() => null);
    const to = user === null ? '/dashboard/admin/users' : `/dashboard/admin/users/${id}`;
    const userBody = user === null ? { id } : await this.presentUser(user);
    return done(to, { ok: true, changed: Object.keys(changes), user: userBody }, 'administration.saved');
  }

  private async presentUser(user: ListedUser) {
    const [[monthly = null, budget = null], { owed, credit }] = await Promise.all([
      this.limits.states(budgetsOfUser(user.id)),
      this.invoices.state(user.id),
    ]);
    return {
      id: user.id,
      email: user.email,
      role: user.role,
      status: user.status,
      org_id: user.organisationId,
      department_id: user.departmentId,
      billing_type: user.billingType,
      billing_exempt: user.billingExempt,
      delegate_user_id: user.delegateUserId,
      monthly_budget: monthly === null ? null : toJsonNumber(monthly.limit),
      budget: budget === null ? null : toJsonNumber(budget.limit),
      budget_period: budget?.period ?? null,
      budget_raised: budget === null || budget.raised === 0n ? null : toJsonNumber(budget.raised),
      budget_raised_until: budget?.raisedUntil?.toISOString() ?? null,
      owed_usd: toJsonNumber(owed),
      may_owe_usd: toJsonNumber(credit),
      version: user.version,
    };
  }
}
