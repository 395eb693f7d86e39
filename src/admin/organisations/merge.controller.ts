import { Controller, Param, Query, Req } from '@nestjs/common';
import {
  AdminViewService,
  type MergeData,
  type MergePlan,
  OrganisationMerge,
  objectActs,
  UserRegister,
} from '../../identity';
import {
  isRole,
  canGrant,
  platformScope,
  rejectInvalidFields,
  type UserRole,
  rowId,
  validationFault,
} from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  Data,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  okWith,
  Page,
  PageRenderer,
  parseUserReference,
  type UserReference,
} from '../../web';
import { confirmationRequired } from '../pages/form-values';
import type { ObjectPageModel } from '../pages/object-page';
import { chooseMergePage, mergePage } from './merge-page';
import { MergeForm, MergeQuery, mergeTextFields, OrganisationParams } from './organisations.dto';

const path = '/dashboard/admin/organisations';
const access = () => Access.role(objectActs.organisations);

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
      return chooseMergePage(await this.names.organisationsForForm(target), target, translate);
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

  /** Field names contain user numbers (`role_7`), so no class can declare them all. */
  @Action(`${path}/merge`, access(), {
    audit: 'organisation.merged',
    body: MergeForm,
    responds: { content: { 'application/json': okWith({ target_org_id: rowId.schema }) } },
  })
  async merge(@Req() request: HttpRequest): Promise<ActionResult> {
    const form = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    const { payer, ...plan } = readMergePlan(form);
    const { organisation } = await this.merges.data(plan.targetId);
    const { confirmation } = form;
    if (confirmation !== undefined && confirmation !== organisation.name) {
      throw confirmationRequired(organisation.name);
    }
    const { role } = actorOf(request);
    const billingUserId =
      typeof payer === 'string'
        ? await this.users.resolveUserId(platformScope, payer, { param: 'billing_user_id' })
        : payer;
    await this.merges.merge({ ...plan, billingUserId }, (requestedRole) => canGrant(role, requestedRole));
    const { name, id } = organisation;
    return done(`${path}/${id}`, { ok: true, target_org_id: id }, 'organisations.merged', { name });
  }
}

const KNOWN_FIELD = /^(target_org_id|source_org_ids|billing_user_id|confirmation|reason|role_\d{1,10})$/;

interface MergeRequest extends Omit<MergePlan, 'billingUserId'> {
  readonly payer: UserReference | null;
}

function readMergePlan(form: Readonly<Record<string, unknown>>): MergeRequest {
  const unknownField = Object.keys(form).find((name) => !KNOWN_FIELD.test(name));
  if (unknownField !== undefined)
    throw fieldFault(unknownField.slice(0, 100), 'whitelistValidation', 'is not known here');
  const targetId = idOf(form['target_org_id']);
  if (targetId === null) throw fieldFault('target_org_id', 'isIn', 'must be the number of an organisation');
  const sourceIds = idsOf(form['source_org_ids']);
  if (sourceIds.length === 0)
    throw fieldFault('source_org_ids', 'arrayMinSize', 'must be numbers of organisations, by commas');
  const payer = parseUserReference(form['billing_user_id']);
  if (payer === undefined)
    throw fieldFault('billing_user_id', 'isEmail', 'must be the number or the mail address of a person');
  rejectInvalidFields(mergeTextFields, form);
  const { reason } = form;
  return {
    targetId,
    sourceIds,
    payer,
    roles: rolesOf(form),
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}

function rolesOf(form: Readonly<Record<string, unknown>>): Map<number, UserRole> {
  const roles = new Map<number, UserRole>();
  for (const [name, value] of Object.entries(form)) {
    if (!name.startsWith('role_') || value === '') continue;
    if (!isRole(value)) throw fieldFault(name, 'isIn', 'must be a role');
    roles.set(Number(name.slice('role_'.length)), value);
  }
  return roles;
}

const fieldFault = (name: string, type: string, msg: string) =>
  validationFault([{ loc: ['body', name], msg: `${name} ${msg}.`, type }]);

function idOf(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,10}$/.test(text)) return null;
  const id = Number(text);
  return id >= 1 && id <= 2_147_483_647 ? id : null;
}

/** Returns an empty list if any id is invalid, so that no partial merge happens. */
function idsOf(value: unknown): number[] {
  const parts = (Array.isArray(value) ? value : [value])
    .flatMap((part) => (typeof part === 'string' || typeof part === 'number' ? String(part).split(',') : []))
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const ids = parts.map(idOf);
  return ids.includes(null) ? [] : [...new Set(ids as number[])];
}
