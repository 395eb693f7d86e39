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
import { WHOLE_PRICE } from './markup-words';

const MOST_PROJECTS = 100;

/** An organisation of the list, with what its people spent in the calendar month. */
export type OrganisationLine = WithBudget<ListedOrganisation>;

/** A budget within an organisation; the name is null for that of the organisation itself. */
export interface BudgetLine {
  readonly name: string | null;
  readonly href: string;
  readonly state: LimitState;
}

/** An operator wants to know these facts of an organisation first. */
export interface OrganisationFacts {
  readonly line: OrganisationLine;
  readonly activeKeys: number;
  /** It is the balance of the wallet that pays for all; null where everybody pays for themselves. */
  readonly balance: Nano | null;
  /** The most that its own administrators may give as credit limits. */
  readonly creditCeiling: Nano;
  /** It is in millionths of the price. */
  readonly priceFactor: number;
  readonly domains: readonly ResellerDomain[];
  readonly budgets: readonly BudgetLine[];
  /** There are projects whose budgets were not looked at. */
  readonly hasMoreProjects: boolean;
}

/** Reads the facts of one organisation. */
@Injectable()
export class OrganisationView {
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

  async of(scope: Scope, id: number): Promise<OrganisationFacts> {
    const organisation = await this.organisations.get(scope, id);
    const [[line], activeKeys, wallet, versions, domains, { ceiling }] = await Promise.all([
      this.budgets.withBudgets('organisation', [organisation]),
      this.keys.activeOf(id),
      organisation.billingUserId === null ? null : this.ledger.wallet(organisation.billingUserId),
      this.markups.of(id),
      this.domains.ofOrganisation(id),
      this.ceilings.of(id),
    ]);
    if (line === undefined) throw fault('not_found');
    const own = line.rule === null ? [] : [{ name: null, href: '#changes', state: line.rule }];
    const { lines, hasMore } = await this.budgetsWithin(scope, id);
    return {
      line,
      activeKeys,
      balance: wallet?.balance ?? null,
      creditCeiling: ceiling,
      priceFactor: versions.find(({ isInForce }) => isInForce)?.factor ?? WHOLE_PRICE,
      domains,
      budgets: [...own, ...lines],
      hasMoreProjects: hasMore,
    };
  }

  private async budgetsWithin(
    scope: Scope,
    id: number,
  ): Promise<{ lines: readonly BudgetLine[]; hasMore: boolean }> {
    const [departments, projects] = await Promise.all([
      this.departments.list(scope, id),
      this.projects.page(scope, { organisationId: id, limit: MOST_PROJECTS }),
    ]);
    const [ofDepartments, ofProjects] = await Promise.all([
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
      ...departments.map((department, place) => ({
        name: department.name,
        href: `/dashboard/admin/departments?org_id=${id}#department-${department.id}`,
        state: ofDepartments[place],
      })),
      ...projects.rows.map((project, place) => ({
        name: project.name,
        href: `/dashboard/admin/projects/${project.id}`,
        state: ofProjects[place],
      })),
    ];
    return {
      lines: lines.flatMap(({ state, ...line }) => (state ? [{ ...line, state }] : [])),
      hasMore: projects.next !== null,
    };
  }
}
