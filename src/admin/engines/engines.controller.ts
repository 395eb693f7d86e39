import { Body, Controller, Req } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { AdminViewService, PayerService } from '../../identity';
import { fault, resolvePeriod, validationFault, versionOf } from '../../kernel';
import { KeyRegister } from '../../keys';
import {
  EndedSamples,
  isEnvelopeField,
  isSampling,
  type QualitySettings,
  QualitySettingsStore,
} from '../../quality';
import {
  type AutoForm,
  type AutoSettingsChange,
  type AutoSettingsOwner,
  AutoSettingsStore,
  presentAutoPolicy,
  presentAutoSettings,
  readAutoForm,
} from '../../autorouter';
import {
  Access,
  Action,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  describePeriod,
  describeScope,
} from '../../web';
import {
  autorouterPartOf,
  KeyAutorouterForm,
  OrganisationAutorouterForm,
  QualitativeForm,
  qualityPartOf,
} from './engines.dto';
import { engineSettingsModel, type EngineSettingsPageModel } from './engine-model';

const SETTINGS_PATH = '/dashboard/qualitative/settings';
const ENDED_SAMPLES_DAYS = 30;

@Controller()
export class EnginesController {
  constructor(
    private readonly quality: QualitySettingsStore,
    private readonly ended: EndedSamples,
    private readonly auto: AutoSettingsStore,
    private readonly keys: KeyRegister,
    private readonly organisations: AdminViewService,
    private readonly payers: PayerService,
    private readonly catalogue: CatalogueService,
    private readonly pages: PageRenderer,
  ) {}

  @Page(SETTINGS_PATH, 'pages/admin/engines', Access.role('org_admin'))
  async show(@Req() request: HttpRequest): Promise<EngineSettingsPageModel> {
    const translate = this.pages.textsFor(request);
    const owner = await this.resolveOwner(request, undefined);
    const { organisationId } = owner;
    const localisation = localisationOf(this.pages, request);
    const month = resolvePeriod({ days: ENDED_SAMPLES_DAYS }, localisation.timeZone, Date.now());
    const [qualitative, envelope, ended, autorouter] = await Promise.all([
      this.quality.find(owner),
      this.quality.envelope(),
      this.ended.countSince(organisationId, month.from),
      this.auto.of(autoOwnerOf(organisationId)),
    ]);
    return engineSettingsModel({
      qualitative,
      envelope,
      isPlatform: organisationId === null,
      ended,
      autorouter,
      scope: describeScope(request, translate, adminScope(request)),
      models: this.modelsFor(organisationId).map(({ name }) => name),
      endedScope: describePeriod(month, localisation, { days: ENDED_SAMPLES_DAYS }),
      translate,
    });
  }

  @Action(SETTINGS_PATH, Access.role('org_admin'), {
    audit: ['qualitative.settings-changed', 'autorouter.changed'],
  })
  async setQualitative(@Body() form: QualitativeForm, @Req() request: HttpRequest): Promise<ActionResult> {
    if (form.key_id !== undefined) return this.excludeKey(form.key_id, form, request);
    const owner = await this.resolveOwner(request, form.org_id);
    const change = this.readQualityChange(form, owner.organisationId);
    const auto = autorouterPartOf(form);
    // Both parts are validated before either is stored.
    const routing = auto === null ? null : this.readAutoChange(auto);
    const isRoutingOnly = Object.keys(change).length === 0 && routing !== null;
    const body = await this.setQuality(owner, change, isRoutingOnly ? undefined : form.version);
    return this.respondSaved('engines.stored', {
      ...body,
      ...(routing === null
        ? {}
        : { autorouter: await this.setRouting(owner, routing, isRoutingOnly ? form.version : undefined) }),
    });
  }

  @Action('/dashboard/admin/autorouter/org', Access.role('org_admin'), { audit: 'autorouter.changed' })
  async setOrganisation(
    @Body() { org_id: requestedId, ...form }: OrganisationAutorouterForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const owner = await this.resolveOwner(request, requestedId);
    const body = await this.setRouting(owner, this.readAutoChange(form), form.version);
    return this.respondSaved('engines.stored-autorouter', {
      org_id: owner.organisationId,
      ...body,
    });
  }

  @Action('/dashboard/admin/autorouter/api-key', Access.role('department_admin'), {
    audit: 'autorouter.changed',
  })
  async setKey(
    @Body() { key_id: keyId, ...form }: KeyAutorouterForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const key = await this.keys.get(adminScope(request), keyId);
    const { userId, organisationId } = await this.payers.standingOf(key);
    const settings = await this.auto.set({ level: 'key', id: key.id }, this.readAutoChange(form), {
      label: key.name,
      concerns: { userId, organisationId },
      shown: form.version,
    });
    const levels = await this.auto.levels({ organisationId, userId, keyId: key.id });
    return this.respondSaved('engines.stored-autorouter', {
      key_id: key.id,
      key_public_id: key.publicId,
      settings: presentAutoSettings(settings),
      version: versionOf(settings),
      effective: presentAutoPolicy(levels),
    });
  }

  private readQualityChange(form: QualitativeForm, organisationId: number | null): Partial<QualitySettings> {
    const { judge_model: judge } = form;
    const change = {
      ...qualityPartOf(form),
      ...(judge === undefined ? {} : { judge_model: this.resolveJudge(judge, organisationId) }),
    };
    if (organisationId === null) refuseOutsideEnvelope(change);
    return change;
  }

  private async setQuality(
    owner: EngineOwner,
    change: Partial<QualitySettings>,
    expectedVersion: string | undefined,
  ) {
    const { organisationId } = owner;
    const settings = await this.quality.set(owner, change, {
      label: 'qualitative',
      concerns: { organisationId },
      shown: expectedVersion,
    });
    const isOn =
      organisationId === null
        ? settings.availability !== 'off'
        : isSampling(await this.quality.findEffective(organisationId));
    return {
      org_id: organisationId,
      settings: organisationId === null ? envelopePart(settings) : organisationPart(settings),
      version: versionOf(settings),
      engine: isOn ? 'on' : 'off',
    };
  }

  private async setRouting(
    { organisationId }: EngineOwner,
    change: AutoSettingsChange,
    expectedVersion: string | undefined,
  ) {
    const settings = await this.auto.set(autoOwnerOf(organisationId), change, {
      label: 'autorouter',
      concerns: { organisationId },
      shown: expectedVersion,
    });
    const levels = await this.auto.levels({ organisationId, userId: null, keyId: null });
    return {
      settings: presentAutoSettings(settings),
      version: versionOf(settings),
      effective: presentAutoPolicy(levels),
    };
  }

  private async excludeKey(
    keyId: number,
    form: QualitativeForm,
    request: HttpRequest,
  ): Promise<ActionResult> {
    if (autorouterPartOf(form) !== null) {
      const msg = 'key_id is for excluded alone; automatic routing of a key has its own form.';
      throw validationFault([{ loc: ['body', 'key_id'], msg, type: 'keyAlone' }], { message: msg });
    }
    const { excluded } = form;
    const key = await this.keys.get(adminScope(request), keyId);
    const { userId, organisationId } = await this.payers.standingOf(key);
    const settings = await this.quality.set(
      { organisationId: null, keyId: key.id },
      { excluded },
      { label: key.name, concerns: { userId, organisationId } },
    );
    return this.respondSaved('engines.stored', {
      key_id: key.id,
      key_public_id: key.publicId,
      settings: { excluded: settings.excluded },
    });
  }

  private modelsFor(organisationId: number | null): ModelView[] {
    const { snapshot } = this.catalogue;
    const audience = { organisationId, departmentId: null };
    return snapshot.models.filter(
      (model) => model.kind === 'chat' && (organisationId === null || snapshot.isOpenTo(model, audience)),
    );
  }

  private resolveJudge(name: string, organisationId: number | null): string | null {
    if (name === '') return null;
    if (this.modelsFor(organisationId).some((model) => model.name === name)) return name;
    throw fault('validation_error', {
      param: 'judge_model',
      message: 'There is no such chat model.',
      details: { reason: 'chat-model' },
    });
  }

  private async resolveOwner(request: HttpRequest, requestedId: number | undefined): Promise<EngineOwner> {
    const scope = adminScope(request);
    const ownId = scope.kind === 'organisation' ? scope.organisationId : null;
    if (requestedId === undefined || requestedId === ownId) {
      if (ownId === null && scope.kind !== 'platform') throw fault('permission_denied');
      return { organisationId: ownId, keyId: null };
    }
    if (scope.kind !== 'platform') {
      throw fault('not_found', { message: 'There is no such organisation.', details: { reason: 'gone' } });
    }
    return { organisationId: (await this.organisations.organisation(requestedId)).id, keyId: null };
  }

  private readAutoChange(form: AutoForm): AutoSettingsChange {
    return readAutoForm(form, (name) => this.catalogue.snapshot.model(name) !== undefined);
  }

  private respondSaved(text: string, body: object): ActionResult {
    return done(SETTINGS_PATH, { ok: true, ...body }, text);
  }
}

interface EngineOwner {
  readonly organisationId: number | null;
  readonly keyId: null;
}

const autoOwnerOf = (organisationId: number | null): AutoSettingsOwner =>
  organisationId === null ? { level: 'platform' } : { level: 'organisation', id: organisationId };

/** `excluded` applies only to keys. */
const organisationPart = ({ excluded: _excluded, ...settings }: QualitySettings) => settings;

const envelopePart = ({ availability, monthly_budget }: QualitySettings) => ({
  availability,
  monthly_budget,
});

/** The platform limits what organisations can choose and sets nothing else for them. */
function refuseOutsideEnvelope(change: Partial<QualitySettings>): void {
  const unsupported = Object.entries(change).find(
    ([name, value]) => value !== undefined && !isEnvelopeField(name),
  );
  if (unsupported === undefined) return;
  throw fault('validation_error', {
    param: unsupported[0],
    message: 'Choose an organisation: each has its own setting.',
    details: { reason: 'choose-organisation' },
  });
}
