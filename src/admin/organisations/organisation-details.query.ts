import { Injectable } from '@nestjs/common';
import { CreditCeilings, Ledger, type LimitState } from '../../billing';
import {
  Departments,
  type ListedOrganisation,
  OrganisationMarkups,
  Organisations,
  Projects,
  type ResellerDomain,
  ResellerDomains,
} from '../../identity';
import { fault, type Nano, type Scope } from '../../kernel';
import { KeyRegister } from '../../keys';
import { Budgets, type WithBudget } from './budgets';
import { FULL_PRICE_FACTOR } from './markup-factor';

const MAX_PROJECTS = 100;

export type OrganisationLine = WithBudget<ListedOrganisation>;

/** A budget within an organisation; `name` is null for the organisation's own budget. */
export interface BudgetLine {
  readonly name: string | null;
  readonly href: string;
  readonly state: LimitState;
}

export interface OrganisationDetails {
  readonly line: OrganisationLine;
  readonly activeKeys: number;
  /** Balance of the wallet that pays for all users; null if users pay for themselves. */
  readonly balance: Nano | null;
  readonly creditCeiling: Nano;
  /** Millionths of the price. */
  readonly priceFactor: number;
  readonly domains: readonly ResellerDomain[];
  readonly budgets: readonly BudgetLine[];
  readonly hasMoreProjects: boolean;
}

@Injectable()
export class OrganisationDetailsQuery {
  constructor(
    private readonly organisations: Organisations,
    private readonly departments: Departments,
    private readonly projects: Projects,
    private readonly budgets: Budgets,
    private readonly keys: KeyRegister,
    private readonly ledger: Ledger,
    private readonly markups: OrganisationMarkups,
    private readonly domains: ResellerDomains,
    private readonly ceilings: CreditCeilings,
  ) {}

  async of(scope: Scope, id: number): Promise<OrganisationDetails> {
    const organisation = await this.organisations.get(scope, id);
    const [[line], activeKeys, wallet, versions, domains, { ceiling }] = await Promise.all([
      this.budgets.withBudgets('organisation', [organisation]),
      this.keys.countActive(id),
      organisation.billingUserId === null ? null : this.ledger.wallet(organisation.billingUserId),
      this.markups.list(id),
      this.domains.ofOrganisation(id),
      this.ceilings.find(id),
    ]);
    if (line === undefined) throw fault('not_found');
    const ownBudgets = line.rule === null ? [] : [{ name: null, href: '#changes', state: line.rule }];
    const { lines, hasMore } = await this.budgetsWithin(scope, id);
    return {
      line,
      activeKeys,
      balance: wallet?.balance ?? null,
      creditCeiling: ceiling,
      priceFactor: versions.find(({ isInForce }) => isInForce)?.factor ?? FULL_PRICE_FACTOR,
      domains,
      budgets: [...ownBudgets, ...lines],
      hasMoreProjects: hasMore,
    };
  }

  private async budgetsWithin(
    scope: Scope,
    id: number,
  ): Promise<{ lines: readonly BudgetLine[]; hasMore: boolean }> {
    const [departments, projects] = await Promise.all([
      this.departments.list(scope, id),
      this.projects.page(scope, { organisationId: id, limit: MAX_PROJECTS }),
    ]);
    const [departmentStates, projectStates] = await Promise.all([
      this.budgets.states(
        'department',
        departments.map((department) => department.id),
      ),
      this.budgets.states(
        'project',
        projects.rows.map((project) => project.id),
      ),
    ]);
    const lines = [
      ...departments.map((department, index) => ({
        name: department.name,
        href: `/dashboard/admin/departments?org_id=${id}#department-${department.id}`,
        state: departmentStates[index],
      })),
      ...projects.rows.map((project, index) => ({
        name: project.name,
        href: `/dashboard/admin/projects/${project.id}`,
        state: projectStates[index],
      })),
    ];
    return {
      lines: lines.flatMap(({ state, ...line }) => (state ? [{ ...line, state }] : [])),
      hasMore: projects.next !== null,
    };
  }
}
