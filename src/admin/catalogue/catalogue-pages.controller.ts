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
  type ModelDetail,
  ModelDetailService,
  ProviderDetailService,
  redirectVersion,
  type ModelDetailLane,
  stateVersion,
  visibilityEffect,
} from '../../catalogue';
import { formatUsd } from '../../kernel';
import { Database, type Page as Rows, Settings } from '../../platform';
import { ModelLists, SupplierStyles } from '../../routing';
import { overrideFields, WIRES } from '../../vendors';
import {
  Access,
  addressOf,
  adminScope,
  type HttpRequest,
  localPath,
  Page,
  PageRenderer,
  pathOf,
  queryOf,
  Redirects,
} from '../../web';
import { controlsOf } from '../../views';
import { MODELS_PAGE } from './change-response';
import { pricesOf, scheduleVersion } from './present';
import { rateFields } from './rate-fields';
import {
  catalogueTabs,
  type CatalogueTab,
  CatalogueQuery,
  ModelEditQuery,
  ProviderEditQuery,
} from './catalogue-pages.dto';
const PAGE_SIZE = 50;
const PLATFORM = Access.role('platform_admin');

@Controller()
export class CataloguePagesController {
  constructor(
    private readonly database: Database,
    private readonly models: ModelDetailService,
    private readonly providers: ProviderDetailService,
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
    const listOptions = { limit: PAGE_SIZE, cursor: query.cursor ?? null, text };
    const context = {
      tab,
      mayChange,
      organisationId,
      back,
      asked: query,
      isFiltered: text !== null || !!query.state,
    };
    const common = {
      ...context,
      tabs: this.tabsFor(request, tab, mayChange),
      states: this.statesFor(query.state),
    };
    switch (tab) {
      case 'models': {
        const page = await listModels(this.database, {
          ...listOptions,
          state: query.state || null,
          organisationId,
        });
        return { ...common, models: page.rows.map(presentRow), pager: pagerOf(request, page) };
      }
      case 'providers':
        return { ...common, providers: await listProviders(this.database) };
      case 'prices': {
        const page = await listPrices(this.database, listOptions);
        const rows = page.rows.map((row) => ({ ...row, ...amountsOf(row) }));
        return { ...common, prices: rows, pager: pagerOf(request, page) };
      }
      case 'aliases': {
        const aliases = await listAliases(this.database);
        const searchText = (text ?? '').toLowerCase();
        return {
          ...common,
          aliases: aliases.filter(({ alias, model }) =>
            `${alias} ${model}`.toLowerCase().includes(searchText),
          ),
        };
      }
    }
  }

  @Page('/dashboard/admin/models/new', 'pages/admin/catalogue/new-model', PLATFORM)
  newModel() {
    return { kinds: MODEL_KINDS };
  }

  @Page('/dashboard/admin/models/edit', 'pages/admin/catalogue/model', PLATFORM)
  async model(@Query() { model: name, back }: ModelEditQuery, @Req() request: HttpRequest) {
    const translate = this.pages.textsFor(request);
    const details = await this.models.read(this.database.source.manager, name);
    const { model, lanes, history, schedules } = details;
    const providers = await listProviders(this.database);
    const emptyLane = {
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
      ...details,
      back: localPath(back, `/dashboard/admin/models/edit?model=${encodeURIComponent(name)}`),
      path: encodeURIComponent(name),
      controls: controlsOf(modelFields, model, translate),
      facts: JSON.stringify(overrideFields(model.facts), null, 2),
      lanes: [...lanes, emptyLane, emptyLane].map((lane) => ({
        ...lane,
        providers: providers.map(({ name: value }) => ({ value, selected: value === lane.provider })),
        wires: WIRES.map((value) => ({ value, selected: value === lane.wire })),
        ...this.wireOf(lane, model, providers),
        ...this.laneFactsOf(lane, model, providers),
      })),
      states: MODEL_STATES.map((value) => ({ value, selected: value === model.state })),
      versions: {
        state: stateVersion(model.state),
        redirect: redirectVersion(model.redirectTo),
        aliases: aliasesVersion(details.aliases),
      },
      priceFields: rateFields('price', details),
      scheduleFields: rateFields('schedule', details),
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
  async provider(@Query() { id, back }: ProviderEditQuery) {
    const details = await this.providers.read(this.database.source.manager, id);
    const { provider } = details;
    return {
      ...details,
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
    lane: Pick<ModelDetailLane, 'provider' | 'wire'>,
    model: Pick<ModelDetail['model'], 'facts'>,
    providers: readonly ListedProvider[],
  ) {
    const provider = providers.find(({ name }) => name === lane.provider);
    const wire = provider === undefined ? null : chosenWire(lane, model, provider);
    const convertedWire = provider === undefined ? null : this.styles.dialectInsteadOf(wire, provider);
    return convertedWire === null ? {} : { chosenWire: wire, spokenInstead: convertedWire };
  }

  private laneFactsOf(
    lane: Pick<ModelDetailLane, 'provider' | 'facts' | 'upstreamModel'>,
    model: Pick<ModelDetail['model'], 'facts' | 'kind'>,
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

  private tabsFor(request: HttpRequest, current: CatalogueTab, mayChange: boolean) {
    const translate = this.pages.textsFor(request);
    const visibleTabs = mayChange ? catalogueTabs : catalogueTabs.slice(0, 1);
    return {
      label: translate('catalogue.page.heading'),
      items: visibleTabs.map((tab) => ({
        label: translate(`catalogue.tab.${tab}`),
        href: `${MODELS_PAGE}?tab=${tab}`,
        ...(tab === current ? { current: true } : {}),
      })),
    };
  }

  private statesFor(selectedState: string | undefined) {
    return MODEL_STATES.map((value) => ({ value, selected: value === selectedState }));
  }
}

const nano = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

type ListedModelRates = Pick<ListedModel, 'kind' | 'input' | 'output' | 'perMinute' | 'perCall'>;
type ListedRate = 'input' | 'output' | 'perMinute';

/** Rates by which a kind is sold; the default is input only. A zero in any other rate means that there is none. */
const billedRates: Readonly<Partial<Record<ModelKind, readonly ListedRate[]>>> = {
  chat: ['input', 'output'],
  transcription: ['perMinute'],
  speech: ['perMinute'],
  image: [],
};

function amountsOf({ kind, ...row }: ListedModelRates) {
  const rates = { input: nano(row.input), output: nano(row.output), perMinute: nano(row.perMinute) };
  const isFree = [...Object.values(rates), nano(row.perCall)].every((rate) => !rate);
  const billed = billedRates[kind] ?? ['input'];
  const visibleRate = (name: ListedRate): bigint | null =>
    rates[name] === 0n && !((kind === 'chat' || isFree) && billed.includes(name)) ? null : rates[name];
  return { input: visibleRate('input'), output: visibleRate('output'), perMinute: visibleRate('perMinute') };
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
