import { Controller, Param, Query, Req } from '@nestjs/common';
import {
  AdminViewService,
  type MergeData,
  type MergePlan,
  OrganisationMerge,
  placeActs,
  UserRegister,
} from '../../identity';
import {
  isRole,
  mayGrant,
  platformScope,
  refuseMisfits,
  type Role,
  rowId,
  validationFault,
} from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  Data,
  done,
  type Done,
  type HttpRequest,
  localisationOf,
  okWith,
  Page,
  PageRenderer,
} from '../../web';
import { personIn, type PersonName, unconfirmed } from '../pages/fields';
import type { ObjectPageModel } from '../pages/object-page';
import { chooseMergePage, mergePage } from './merge-page';
import { MergeForm, MergeQuery, mergeWords, OrganisationParams } from './organisation-forms';

const path = '/dashboard/admin/organisations';
const access = () => Access.role(placeActs.organisations);

/** Merges organisations in three steps: choose, review, and confirm by the names of those that end. */
@Controller()
export class MergeController {
  constructor(
    private readonly merges: OrganisationMerge,
    private readonly names: AdminViewService,
    private readonly users: UserRegister,
    private readonly pages: PageRenderer,
  ) {}

  @Page(`${path}/merge`, 'pages/admin/object', access())
  async show(@Query() query: MergeQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const { translate } = localisationOf(this.pages, request);
    const target = query.target_org_id ?? null;
    const sources = idsOf(query.source_org_ids);
    if (target === null || sources.length === 0) {
      return chooseMergePage(await this.names.organisationsToChoose(target), target, translate);
    }
    const [into, ...from] = await Promise.all([target, ...sources].map((id) => this.merges.data(id)));
    return mergePage(into as MergeData, from, actorOf(request).role, translate);
  }

  @Data(`${path}/:org_id/merge-data`, access())
  async data(@Param() { org_id: id }: OrganisationParams) {
    const { organisation, members, users, keys, projects, departments, billingUserId } =
      await this.merges.data(id);
    return {
      organisation,
      members,
      billing_user_id: billingUserId,
      counts: { members: users, keys, projects, departments },
    };
  }

  /** Some names of fields contain people's numbers, so that no class can declare them all. */
  @Action(`${path}/merge`, access(), {
    audit: 'organisation.merged',
    body: MergeForm,
    responds: { content: { 'application/json': okWith({ target_org_id: rowId.schema }) } },
  })
  async merge(@Req() request: HttpRequest): Promise<Done> {
    const form = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    const { payer, ...plan } = planOf(form);
    const { organisation } = await this.merges.data(plan.targetId);
    const { confirmation } = form;
    if (confirmation !== undefined && confirmation !== organisation.name) {
      throw unconfirmed(organisation.name);
    }
    const { role } = actorOf(request);
    const billingUserId =
      typeof payer === 'string'
        ? await this.users.numberOf(platformScope, payer, { param: 'billing_user_id' })
        : payer;
    await this.merges.merge({ ...plan, billingUserId }, (wanted) => mayGrant(role, wanted));
    const { name, id } = organisation;
    return done(`${path}/${id}`, { ok: true, target_org_id: id }, 'organisations.merged', { name });
  }
}

const known = /^(target_org_id|source_org_ids|billing_user_id|confirmation|reason|role_\d{1,10})$/;

interface AskedMerge extends Omit<MergePlan, 'billingUserId'> {
  readonly payer: PersonName | null;
}

function planOf(form: Readonly<Record<string, unknown>>): AskedMerge {
  const unknown = Object.keys(form).find((name) => !known.test(name));
  if (unknown !== undefined) throw refused(unknown.slice(0, 100), 'whitelistValidation', 'is not known here');
  const targetId = idOf(form['target_org_id']);
  if (targetId === null) throw refused('target_org_id', 'isIn', 'must be the number of an organisation');
  const sourceIds = idsOf(form['source_org_ids']);
  if (sourceIds.length === 0)
    throw refused('source_org_ids', 'arrayMinSize', 'must be numbers of organisations, by commas');
  const payer = personIn(form['billing_user_id']);
  if (payer === undefined)
    throw refused('billing_user_id', 'isEmail', 'must be the number or the mail address of a person');
  refuseMisfits(mergeWords, form);
  const { reason } = form;
  return {
    targetId,
    sourceIds,
    payer,
    roles: rolesOf(form),
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}

function rolesOf(form: Readonly<Record<string, unknown>>): Map<number, Role> {
  const roles = new Map<number, Role>();
  for (const [name, value] of Object.entries(form)) {
    if (!name.startsWith('role_') || value === '') continue;
    if (!isRole(value)) throw refused(name, 'isIn', 'must be a role');
    roles.set(Number(name.slice('role_'.length)), value);
  }
  return roles;
}

const refused = (name: string, type: string, msg: string) =>
  validationFault([{ loc: ['body', name], msg: `${name} ${msg}.`, type }]);

function idOf(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,10}$/.test(text)) return null;
  const id = Number(text);
  return id >= 1 && id <= 2_147_483_647 ? id : null;
}

/** One unreadable id makes the whole list invalid: no partial merge happens. */
function idsOf(value: unknown): number[] {
  const parts = (Array.isArray(value) ? value : [value])
    .flatMap((part) => (typeof part === 'string' || typeof part === 'number' ? String(part).split(',') : []))
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const ids = parts.map(idOf);
  return ids.includes(null) ? [] : [...new Set(ids as number[])];
}
