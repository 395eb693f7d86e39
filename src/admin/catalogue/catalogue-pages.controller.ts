import { Controller, Query, Req } from '@nestjs/common';
import {
  aliasesVersion,
  chosenWire,
  factsOfLane,
  listAliases,
  type ListedModel,
  type ListedProvider,
  listModels,
  listPrices,
  listProviders,
  MODEL_KINDS,
  MODEL_STATES,
  modelFields,
  type ModelKind,
  type ModelState,
  type ModelSheet,
  ModelSheets,
  ProviderSheets,
  redirectVersion,
  type SheetLane,
  stateVersion,
  visibilityEffect,
} from '../../catalogue';
import { formatUsd, line, oneOf, rowId } from '../../kernel';
import { Database, type Page as Rows, Settings, Takes } from '../../platform';
import { ModelLists, SupplierStyles } from '../../routing';
import { overrideFields, WIRES } from '../../vendors';
import {
  Access,
  addressOf,
  adminScope,
  type HttpRequest,
  IsCursor,
  IsFilterText,
  localPath,
  Page,
  PageRenderer,
  pathOf,
  queryOf,
  Redirects,
} from '../../web';
import { controlsOf } from '../../views';
import { MODELS_PAGE } from './answers';
import { pricesOf, scheduleVersion } from './present';
import { rateFields } from './rate-fields';

const tabs = ['models', 'providers', 'prices', 'aliases'] as const;
type Tab = (typeof tabs)[number];
const ROWS_A_PAGE = 50;
const PLATFORM = Access.role('platform_admin');

class CatalogueQuery {
  @Takes(oneOf(tabs).optional())
  tab?: Tab;

  @IsFilterText()
  q?: string;

  @Takes(oneOf(MODEL_STATES).orBlank())
  state?: ModelState;

  @IsCursor()
  cursor?: string;
}

class EditQuery {
  /** The list beside which the model was opened. */
  @Takes(line(2_000).optional())
  back?: string;
}

class ModelQuery extends EditQuery {
  @Takes(line(128))
  model: string;
}

class ProviderQuery extends EditQuery {
  @Takes(rowId)
  id: number;
}

/** The pages of the catalogue. An organisation's administrators see what is offered to them, and their own switch. */
@Controller()
export class CataloguePagesController {
  constructor(
    private readonly database: Database,
    private readonly models: ModelSheets,
    private readonly providers: ProviderSheets,
    private readonly styles: SupplierStyles,
    private readonly lists: ModelLists,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Redirects('/dashboard/admin/prices', MODELS_PAGE, PLATFORM)
  prices(): undefined {
    return undefined;
  }

  @Page(MODELS_PAGE, 'pages/admin/catalogue/list', Access.role('org_admin'))
  async list(@Query() query: CatalogueQuery, @Req() request: HttpRequest) {
    const scope = adminScope(request);
    const organisationId = scope.kind === 'organisation' ? scope.organisationId : null;
    const mayChange = request.actor?.scope.kind === 'platform';
    const tab = mayChange ? (query.tab ?? 'models') : 'models';
    const text = query.q?.trim() || null;
    const back = `${pathOf(request)}${[...queryOf(request)].length > 0 ? `?${queryOf(request).toString()}` : ''}`;
    const asked = { limit: ROWS_A_PAGE, cursor: query.cursor ?? null, text };
    const shown = {
      tab,
      mayChange,
      organisationId,
      back,
      asked: query,
      isFiltered: text !== null || !!query.state,
    };
    const common = {
      ...shown,
      tabs: this.tabsFor(request, tab, mayChange),
      states: this.statesFor(query.state),
    };
    switch (tab) {
      case 'models': {
        const page = await listModels(this.database, {
          ...asked,
          state: query.state || null,
          organisationId,
        });
        return { ...common, models: page.rows.map(presentRow), pager: pagerOf(request, page) };
      }
      case 'providers':
        return { ...common, providers: await listProviders(this.database) };
      case 'prices': {
        const page = await listPrices(this.database, asked);
        const rows = page.rows.map((row) => ({ ...row, ...amountsOf(row) }));
        return { ...common, prices: rows, pager: pagerOf(request, page) };
      }
      case 'aliases': {
        const aliases = await listAliases(this.database);
        const wanted = (text ?? '').toLowerCase();
        return {
          ...common,
          aliases: aliases.filter(({ alias, model }) => `${alias} ${model}`.toLowerCase().includes(wanted)),
        };
      }
    }
  }

  @Page('/dashboard/admin/models/new', 'pages/admin/catalogue/new-model', PLATFORM)
  newModel() {
    return { kinds: MODEL_KINDS };
  }

  @Page('/dashboard/admin/models/edit', 'pages/admin/catalogue/model', PLATFORM)
  async model(@Query() { model: name, back }: ModelQuery, @Req() request: HttpRequest) {
    const translate = this.pages.textsFor(request);
    const sheet = await this.models.read(this.database.source.manager, name);
    const { model, lanes, history, schedules } = sheet;
    const providers = await listProviders(this.database);
    const empty = {
      provider: '',
      upstreamModel: '',
      region: '',
      weight: 1,
      retries: 0,
      facts: null,
      wire: null,
      enabled: true,
    };
    return {
      ...sheet,
      back: localPath(back, `/dashboard/admin/models/edit?model=${encodeURIComponent(name)}`),
      path: encodeURIComponent(name),
      controls: controlsOf(modelFields, model, translate),
      facts: JSON.stringify(overrideFields(model.facts), null, 2),
      lanes: [...lanes, empty, empty].map((lane) => ({
        ...lane,
        providers: providers.map(({ name: value }) => ({ value, selected: value === lane.provider })),
        wires: WIRES.map((value) => ({ value, selected: value === lane.wire })),
        ...this.wireOf(lane, model, providers),
        ...this.knowledgeOf(lane, model, providers),
      })),
      states: MODEL_STATES.map((value) => ({ value, selected: value === model.state })),
      versions: {
        state: stateVersion(model.state),
        redirect: redirectVersion(model.redirectTo),
        aliases: aliasesVersion(sheet.aliases),
      },
      priceFields: rateFields('price', sheet),
      scheduleFields: rateFields('schedule', sheet),
      history: history.map((one) => ({ ...one, ...pricesOf(one.rates, formatUsd) })),
      schedules: schedules.map((one) => ({
        ...one,
        ...pricesOf(one.price.rates, formatUsd),
        version: scheduleVersion(one),
      })),
    };
  }

  @Page('/dashboard/admin/providers/new', 'pages/admin/catalogue/provider', PLATFORM)
  newProvider() {
    return {
      formAction: '/dashboard/admin/providers',
      styles: this.styles.names.map((value) => ({ value })),
      settings: '{}',
    };
  }

  @Page('/dashboard/admin/providers/edit', 'pages/admin/catalogue/provider', PLATFORM)
  async provider(@Query() { id, back }: ProviderQuery) {
    const sheet = await this.providers.read(this.database.source.manager, id);
    const { provider } = sheet;
    return {
      ...sheet,
      back: localPath(back, `/dashboard/admin/providers/edit?id=${id}`),
      formAction: `/dashboard/admin/providers/${id}/update`,
      hasList: this.lists.hasList(provider),
      effect: await visibilityEffect(this.database.source.manager, id),
      regions: provider.regions.join(', '),
      styles: this.styles.names.map((value) => ({ value, selected: value === provider.style })),
      settings: JSON.stringify(provider.settings, null, 2),
    };
  }

  private wireOf(
    lane: Pick<SheetLane, 'provider' | 'wire'>,
    model: Pick<ModelSheet['model'], 'facts'>,
    providers: readonly ListedProvider[],
  ) {
    const provider = providers.find(({ name }) => name === lane.provider);
    const wire = provider === undefined ? null : chosenWire(lane, model, provider);
    const instead = provider === undefined ? null : this.styles.spokenInsteadOf(wire, provider);
    return instead === null ? {} : { chosenWire: wire, spokenInstead: instead };
  }

  /**
   * Whether the lane's model is unknown, or which model's facts are assumed, and what happens to request fields that
   * the gateway does not know.
   */
  private knowledgeOf(
    lane: Pick<SheetLane, 'provider' | 'facts' | 'upstreamModel'>,
    model: Pick<ModelSheet['model'], 'facts' | 'kind'>,
    providers: readonly ListedProvider[],
  ) {
    const provider = providers.find(({ name }) => name === lane.provider);
    if (provider === undefined) return {};
    const { known, assumed, harmlessFields = [] } = factsOfLane(lane, model, provider);
    const { extra_fields: extra } = provider.settings;
    const harmless = [...harmlessFields, ...(Array.isArray(extra) ? (extra as unknown[]) : [])];
    const mode = this.styles.validatesFields(provider) ? this.settings.unknownFields : 'unchecked';
    return {
      ...(assumed === undefined ? { isUnknown: known === null } : { assumed }),
      unknownFields: { mode, ...(harmless.length > 0 && { harmless: harmless.join(', ') }) },
    };
  }

  private tabsFor(request: HttpRequest, current: Tab, mayChange: boolean) {
    const translate = this.pages.textsFor(request);
    const shown = mayChange ? tabs : tabs.slice(0, 1);
    return {
      label: translate('catalogue.page.heading'),
      items: shown.map((tab) => ({
        label: translate(`catalogue.tab.${tab}`),
        href: `${MODELS_PAGE}?tab=${tab}`,
        ...(tab === current ? { current: true } : {}),
      })),
    };
  }

  private statesFor(chosen: string | undefined) {
    return MODEL_STATES.map((value) => ({ value, selected: value === chosen }));
  }
}

const nano = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

type ListedRates = Pick<ListedModel, 'kind' | 'input' | 'output' | 'perMinute' | 'perCall'>;
type ListedRate = 'input' | 'output' | 'perMinute';

/** The rates by which a kind is sold, where it is not by input alone; a zero in any other means that there is none. */
const soldBy: Readonly<Partial<Record<ModelKind, readonly ListedRate[]>>> = {
  chat: ['input', 'output'],
  transcription: ['perMinute'],
  speech: ['perMinute'],
  image: [],
};

function amountsOf({ kind, ...row }: ListedRates) {
  const rates = { input: nano(row.input), output: nano(row.output), perMinute: nano(row.perMinute) };
  const isFree = [...Object.values(rates), nano(row.perCall)].every((rate) => !rate);
  const sold = soldBy[kind] ?? ['input'];
  const shown = (name: ListedRate): bigint | null =>
    rates[name] === 0n && !((kind === 'chat' || isFree) && sold.includes(name)) ? null : rates[name];
  return { input: shown('input'), output: shown('output'), perMinute: shown('perMinute') };
}

const toneOf: Readonly<Record<ModelState, string>> = {
  active: 'ok',
  paused: 'warn',
  hidden: 'neutral',
  deleted: 'bad',
};

const presentRow = (row: ListedModel) => ({
  ...row,
  ...amountsOf(row),
  tone: toneOf[row.state],
  editHref: `/dashboard/admin/models/edit?model=${encodeURIComponent(row.name)}`,
  route: {
    hops: row.lanes.map(({ provider, region, rests }) => ({
      supplier: provider,
      region,
      outcome: rests ? 'skipped' : 'served',
    })),
  },
});

function pagerOf(request: HttpRequest, { next, previous }: Rows<unknown>) {
  const query = queryOf(request);
  const to = (cursor: string | null): string | undefined =>
    cursor === null ? undefined : addressOf(pathOf(request), query, { cursor });
  return { newerHref: to(previous), olderHref: to(next) };
}
