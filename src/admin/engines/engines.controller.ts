import { Body, Controller, Req } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { AdminViewService, PayerService } from '../../identity';
import { fault, periodNamed, validationFault, versionOf } from '../../kernel';
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
  type Done,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  periodWords,
  scopeWords,
} from '../../web';
import {
  autoPartOf,
  KeyAutorouterForm,
  OrganisationAutorouterForm,
  QualitativeForm,
  qualityPartOf,
} from './engine-forms';
import { settingsModel, type SettingsPageModel } from './engine-model';

const settingsPath = '/dashboard/qualitative/settings';
const ENDED_DAYS = 30;

/** Administrators decide here about quality reports and about automatic routing. */
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

  @Page(settingsPath, 'pages/admin/engines', Access.role('org_admin'))
  async show(@Req() request: HttpRequest): Promise<SettingsPageModel> {
    const translate = this.pages.textsFor(request);
    const owner = await this.ownerOf(request, undefined);
    const { organisationId } = owner;
    const localisation = localisationOf(this.pages, request);
    const month = periodNamed({ days: ENDED_DAYS }, localisation.timeZone, Date.now());
    const [qualitative, envelope, ended, autorouter] = await Promise.all([
      this.quality.of(owner),
      this.quality.envelope(),
      this.ended.since(organisationId, month.from),
      this.auto.of(autoOwnerOf(organisationId)),
    ]);
    return settingsModel({
      qualitative,
      envelope,
      isPlatform: organisationId === null,
      ended,
      autorouter,
      scope: scopeWords(request, translate, adminScope(request)),
      models: this.modelsFor(organisationId).map(({ name }) => name),
      endedScope: periodWords(month, localisation, { days: ENDED_DAYS }),
      translate,
    });
  }

  @Action(settingsPath, Access.role('org_admin'), {
    audit: ['qualitative.settings-changed', 'autorouter.changed'],
  })
  async setQualitative(@Body() form: QualitativeForm, @Req() request: HttpRequest): Promise<Done> {
    if (form.key_id !== undefined) return this.excludeKey(form.key_id, form, request);
    const owner = await this.ownerOf(request, form.org_id);
    const change = this.qualityChangeIn(form, owner.organisationId);
    const auto = autoPartOf(form);
    // Both are read before either is stored.
    const routing = auto === null ? null : this.changeIn(auto);
    const isAlone = Object.keys(change).length === 0 && routing !== null;
    const facts = await this.setQuality(owner, change, isAlone ? undefined : form.version);
    return this.stored('engines.stored', {
      ...facts,
      ...(routing === null
        ? {}
        : { autorouter: await this.setRouting(owner, routing, isAlone ? form.version : undefined) }),
    });
  }

  @Action('/dashboard/admin/autorouter/org', Access.role('org_admin'), { audit: 'autorouter.changed' })
  async setOrganisation(
    @Body() { org_id: wanted, ...form }: OrganisationAutorouterForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const owner = await this.ownerOf(request, wanted);
    const facts = await this.setRouting(owner, this.changeIn(form), form.version);
    return this.stored('engines.stored-autorouter', {
      org_id: owner.organisationId,
      ...facts,
    });
  }

  @Action('/dashboard/admin/autorouter/api-key', Access.role('department_admin'), {
    audit: 'autorouter.changed',
  })
  async setKey(
    @Body() { key_id: keyId, ...form }: KeyAutorouterForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const key = await this.keys.get(adminScope(request), keyId);
    const { userId, organisationId } = await this.payers.standingOf(key);
    const settings = await this.auto.set({ level: 'key', id: key.id }, this.changeIn(form), {
      label: key.name,
      concerns: { userId, organisationId },
      shown: form.version,
    });
    const levels = await this.auto.levels({ organisationId, userId, keyId: key.id });
    return this.stored('engines.stored-autorouter', {
      key_id: key.id,
      key_public_id: key.publicId,
      settings: presentAutoSettings(settings),
      version: versionOf(settings),
      effective: presentAutoPolicy(levels),
    });
  }

  private qualityChangeIn(form: QualitativeForm, organisationId: number | null): Partial<QualitySettings> {
    const { judge_model: judge } = form;
    const change = {
      ...qualityPartOf(form),
      ...(judge === undefined ? {} : { judge_model: this.judgeOf(judge, organisationId) }),
    };
    if (organisationId === null) refuseOutsideEnvelope(change);
    return change;
  }

  private async setQuality(owner: EngineOwner, change: Partial<QualitySettings>, shown: string | undefined) {
    const { organisationId } = owner;
    const settings = await this.quality.set(owner, change, {
      label: 'qualitative',
      concerns: { organisationId },
      shown,
    });
    const isOn =
      organisationId === null
        ? settings.availability !== 'off'
        : isSampling(await this.quality.inForce(organisationId));
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
    shown: string | undefined,
  ) {
    const settings = await this.auto.set(autoOwnerOf(organisationId), change, {
      label: 'autorouter',
      concerns: { organisationId },
      shown,
    });
    const levels = await this.auto.levels({ organisationId, userId: null, keyId: null });
    return {
      settings: presentAutoSettings(settings),
      version: versionOf(settings),
      effective: presentAutoPolicy(levels),
    };
  }

  private async excludeKey(keyId: number, form: QualitativeForm, request: HttpRequest): Promise<Done> {
    if (autoPartOf(form) !== null) {
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
    return this.stored('engines.stored', {
      key_id: key.id,
      key_public_id: key.publicId,
      settings: { excluded: settings.excluded },
    });
  }

  /** A model that is closed to the organisation does not exist for it. */
  private modelsFor(organisationId: number | null): ModelView[] {
    const { snapshot } = this.catalogue;
    const audience = { organisationId, departmentId: null };
    return snapshot.models.filter(
      (model) => model.kind === 'chat' && (organisationId === null || snapshot.isOpenTo(model, audience)),
    );
  }

  /** An empty name stands for the default. */
  private judgeOf(name: string, organisationId: number | null): string | null {
    if (name === '') return null;
    if (this.modelsFor(organisationId).some((model) => model.name === name)) return name;
    throw fault('validation_error', {
      param: 'judge_model',
      message: 'There is no such chat model.',
      details: { reason: 'chat-model' },
    });
  }

  /** An organisation outside the scope is answered as not found. */
  private async ownerOf(request: HttpRequest, wanted: number | undefined): Promise<EngineOwner> {
    const scope = adminScope(request);
    const own = scope.kind === 'organisation' ? scope.organisationId : null;
    if (wanted === undefined || wanted === own) {
      if (own === null && scope.kind !== 'platform') throw fault('permission_denied');
      return { organisationId: own, keyId: null };
    }
    if (scope.kind !== 'platform') {
      throw fault('not_found', { message: 'There is no such organisation.', details: { reason: 'gone' } });
    }
    return { organisationId: (await this.organisations.organisation(wanted)).id, keyId: null };
  }

  private changeIn(form: AutoForm): AutoSettingsChange {
    return readAutoForm(form, (name) => this.catalogue.snapshot.model(name) !== undefined);
  }

  private stored(text: string, facts: object): Done {
    return done(settingsPath, { ok: true, ...facts }, text);
  }
}

interface EngineOwner {
  readonly organisationId: number | null;
  readonly keyId: null;
}

const autoOwnerOf = (organisationId: number | null): AutoSettingsOwner =>
  organisationId === null ? { level: 'platform' } : { level: 'organisation', id: organisationId };

/** Settings that only keys have are refused for an organisation. */
const organisationPart = ({ excluded: _excluded, ...settings }: QualitySettings) => settings;

const envelopePart = ({ availability, monthly_budget }: QualitySettings) => ({
  availability,
  monthly_budget,
});

/** The platform bounds what organisations decide, and decides nothing else for them. */
function refuseOutsideEnvelope(change: Partial<QualitySettings>): void {
  const other = Object.entries(change).find(([name, value]) => value !== undefined && !isEnvelopeField(name));
  if (other === undefined) return;
  throw fault('validation_error', {
    param: other[0],
    message: 'Choose an organisation: each has its own setting.',
    details: { reason: 'choose-organisation' },
  });
}
