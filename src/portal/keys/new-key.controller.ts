import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { OwnProjects } from '../../identity';
import { fault, isUuid, invalidField, rejectInvalidFields, type Scope } from '../../kernel';
import {
  type IssuedKey,
  KeyRegister,
  type ManagedKey,
  type NewKeyForm,
  presentPortalIssued,
  readNewKey,
} from '../../keys';
import { Settings } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  Page,
  PageRenderer,
  wantsPage,
} from '../../web';
import { createKeyBody, createKeyPage } from './key-bodies';
import { toApiBody, emptyKey, type KeyFormValues } from './key-form';
import { keyFormChoices, keyFormModel } from './key-form-model';
import { mapKeyErrors } from './key-form-errors';
import { KeySecretPage } from './key-secret-page';
import { AuditedKeys } from './audited-keys';
import { NewKeyQuery } from './new-key.dto';

type PostedNewKey = Readonly<Record<string, unknown>>;

/** Creates one key per form. Its secret is only in the response to that form. */
@Controller()
export class NewKeyController {
  constructor(
    private readonly keys: AuditedKeys,
    private readonly register: KeyRegister,
    private readonly projects: OwnProjects,
    private readonly catalogue: CatalogueService,
    private readonly secrets: KeySecretPage,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/keys/new', 'pages/dashboard/keys/new', Access.session())
  form(@Query() { model }: NewKeyQuery, @Req() request: HttpRequest) {
    const presetModel = model === undefined ? undefined : this.catalogue.snapshot.model(model)?.name;
    return this.formModel(request, {
      ...emptyKey,
      allowedModels: presetModel === undefined ? null : [presetModel],
    });
  }

  @Action('/dashboard/keys/new', Access.session(), {
    body: createKeyBody,
    page: createKeyPage,
    audit: 'key.created',
  })
  async create(
    @Body() posted: PostedNewKey,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    if (!wantsPage(request)) {
      const { creation_token: token, ...body } = posted;
      const form = readNewKey(body, this.catalogue.snapshot);
      return presentPortalIssued(await this.createKey(request, form, parseCreationToken(token)), form.name);
    }
    const token = parseCreationToken(posted.creation_token);
    const existingKey = token === null ? null : await this.register.findByCreationToken(token);
    if (existingKey !== null) return this.redirectToExisting(existingKey, request);
    return mapKeyErrors(async () => {
      rejectInvalidFields(createKeyPage, posted);
      const form = readNewKey({ ...toApiBody(posted), ...projectField(posted) }, this.catalogue.snapshot);
      const issued = await this.createKey(request, form, token);
      return this.secrets.page(request, response, {
        heading: 'keys.made',
        name: form.name,
        id: issued.id,
        secret: issued.text,
        models: form.allowedModels ?? null,
      });
    });
  }

  private createKey(
    request: HttpRequest,
    form: NewKeyForm,
    creationToken: string | null,
  ): Promise<IssuedKey> {
    const actor = actorOf(request);
    const { scope, owner } = this.resolveOwner(form, request);
    const createdBy = `user ${actor.userId}`;
    return this.keys.create(scope, actor, { ...form, ...owner, createdBy, creationToken });
  }

  /** The user owns the key unless the form names another owner, whom the user's role must cover. */
  private resolveOwner(form: NewKeyForm, request: HttpRequest): { scope: Scope; owner: Partial<NewKeyForm> } {
    const { userId } = actorOf(request);
    const isOwn = form.userId === null && form.organisationId === null && form.departmentId === null;
    return isOwn || form.userId === userId
      ? { scope: { kind: 'user', userId }, owner: { userId } }
      : { scope: adminScope(request), owner: {} };
  }

  /** Handles a form that a page reload submitted again. The secret is not stored, so it cannot be shown again. */
  private redirectToExisting(
    { id, userId }: Pick<ManagedKey, 'id' | 'userId'>,
    request: HttpRequest,
  ): ActionResult {
    if (userId !== actorOf(request).userId) throw fault('conflict');
    this.activity.reportNoChange();
    return done(`/dashboard/keys/${id}`, { id }, { tone: 'info', text: 'keys.already-made' });
  }

  private async formModel(request: HttpRequest, key: KeyFormValues) {
    const actor = actorOf(request);
    const projects = await this.projects.list(actor.userId);
    const choices = keyFormChoices(this.catalogue.snapshot, actor, projects);
    const usualRate = this.settings.keyRateLimitRpm;
    const formInput = { key, choices, usualRate };
    return { creationToken: randomUUID(), form: keyFormModel(formInput, this.pages.textsFor(request)) };
  }
}

function parseCreationToken(value: unknown): string | null {
  if (value === undefined || value === '') return null;
  if (typeof value === 'string' && isUuid(value)) return value;
  throw invalidField('creation_token', 'a UUID');
}

const projectField = ({ project_id: id }: PostedNewKey): PostedNewKey =>
  id === undefined || id === '' ? {} : { project_id: id };
