import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { OwnProjects } from '../../identity';
import { fault, isUuid, line, refused, refuseMisfits, type Scope } from '../../kernel';
import {
  type IssuedKey,
  KeyRegister,
  type ManagedKey,
  type NewKeyForm,
  presentPortalIssued,
  readNewKey,
} from '../../keys';
import { Settings, Takes } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  done,
  type Done,
  type HttpRequest,
  Page,
  PageRenderer,
  wantsPage,
} from '../../web';
import { makeKeyBody, makeKeyPage } from './key-bodies';
import { bodyOfForm, emptyKey, type ShownKey } from './key-form';
import { choicesOf, keyFormModel } from './key-form-model';
import { atKeyField } from './key-refusal';
import { KeySecrets } from './key-secrets';
import { RecordedKeys } from './recorded-keys';

class NewKeyQuery {
  /** Comes from the list of models: the key is for this one. */
  @Takes(line(200).optional())
  model?: string;
}

type Posted = Readonly<Record<string, unknown>>;

/** A key is made once a form, and its secret is in the answer to that form alone. */
@Controller()
export class NewKeyController {
  constructor(
    private readonly keys: RecordedKeys,
    private readonly register: KeyRegister,
    private readonly projects: OwnProjects,
    private readonly catalogue: CatalogueService,
    private readonly secrets: KeySecrets,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/keys/new', 'pages/dashboard/keys/new', Access.session())
  form(@Query() { model }: NewKeyQuery, @Req() request: HttpRequest) {
    const named = model === undefined ? undefined : this.catalogue.snapshot.model(model)?.name;
    return this.formModel(request, { ...emptyKey, allowedModels: named === undefined ? null : [named] });
  }

  @Action('/dashboard/keys/new', Access.session(), {
    body: makeKeyBody,
    page: makeKeyPage,
    audit: 'key.created',
  })
  async create(
    @Body() posted: Posted,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    if (!wantsPage(request)) {
      const { creation_token: token, ...body } = posted;
      const form = readNewKey(body, this.catalogue.snapshot);
      return presentPortalIssued(await this.make(request, form, tokenOf(token)), form.name);
    }
    const token = tokenOf(posted.creation_token);
    const earlier = token === null ? null : await this.register.madeWith(token);
    if (earlier !== null) return this.alreadyMade(earlier, request);
    return atKeyField(async () => {
      refuseMisfits(makeKeyPage, posted);
      const form = readNewKey({ ...bodyOfForm(posted), ...projectOf(posted) }, this.catalogue.snapshot);
      const issued = await this.make(request, form, token);
      return this.secrets.page(request, response, {
        heading: 'keys.made',
        name: form.name,
        id: issued.id,
        secret: issued.text,
        models: form.allowedModels ?? null,
      });
    });
  }

  private make(request: HttpRequest, form: NewKeyForm, creationToken: string | null): Promise<IssuedKey> {
    const actor = actorOf(request);
    const { scope, owner } = this.ownerOf(form, request);
    const createdBy = `user ${actor.userId}`;
    return this.keys.create(scope, actor, { ...form, ...owner, createdBy, creationToken });
  }

  /** A key is one's own, unless its maker names another owner, whom their role must cover. */
  private ownerOf(form: NewKeyForm, request: HttpRequest): { scope: Scope; owner: Partial<NewKeyForm> } {
    const { userId } = actorOf(request);
    const isOwn = form.userId === null && form.organisationId === null && form.departmentId === null;
    return isOwn || form.userId === userId
      ? { scope: { kind: 'user', userId }, owner: { userId } }
      : { scope: adminScope(request), owner: {} };
  }

  /** A page that is loaded again sends its form again. The secret is not kept anywhere, so it cannot be shown again. */
  private alreadyMade({ id, userId }: Pick<ManagedKey, 'id' | 'userId'>, request: HttpRequest): Done {
    if (userId !== actorOf(request).userId) throw fault('conflict');
    this.activity.nothingChanged();
    return done(`/dashboard/keys/${id}`, { id }, { tone: 'info', text: 'keys.already-made' });
  }

  private async formModel(request: HttpRequest, key: ShownKey) {
    const actor = actorOf(request);
    const projects = await this.projects.list(actor.userId);
    const choices = choicesOf(this.catalogue.snapshot, actor, projects);
    const usualRate = this.settings.keyRateLimitRpm;
    const asked = { key, choices, usualRate };
    return { creationToken: randomUUID(), form: keyFormModel(asked, this.pages.textsFor(request)) };
  }
}

function tokenOf(value: unknown): string | null {
  if (value === undefined || value === '') return null;
  if (typeof value === 'string' && isUuid(value)) return value;
  throw refused('creation_token', 'a UUID');
}

const projectOf = ({ project_id: id }: Posted): Posted =>
  id === undefined || id === '' ? {} : { project_id: id };
