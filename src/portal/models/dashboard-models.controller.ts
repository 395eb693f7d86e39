import { Controller, Query, Req } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { OrganisationMarkups } from '../../identity';
import {
  Access,
  actorOf,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  describePeriod,
} from '../../web';
import { columnSort, modelChoices, selectModels } from '../public/model-query';
import { modelSorts, PublicModelQuery } from '../public/models.dto';
import { presentPublicModel, publicModels } from '../public/public-models';
import { ModelHealthService, healthPeriod } from './model-health.service';

/** Models that the user can call, with non-public details: grants, aliases and health. */
@Controller()
export class DashboardModelsController {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly modelHealth: ModelHealthService,
    private readonly markups: OrganisationMarkups,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard/models', 'pages/dashboard/models', Access.session(), { data: true })
  async models(@Query() query: PublicModelQuery, @Req() request: HttpRequest) {
    const { organisationId, departmentId } = actorOf(request);
    const priceFactor = await this.markups.factorOf(organisationId);
    const all = publicModels(this.catalogue, { organisationId, departmentId }, priceFactor);
    const publicIds = new Set(publicModels(this.catalogue).map(({ id }) => id));
    const { models, total, page, pages } = selectModels(all, query);
    const { period, byModel } = await this.modelHealth.lastWeek();
    const localisation = { ...localisationOf(this.pages, request), timeZone: 'UTC' };
    return {
      period: describePeriod(period, localisation, healthPeriod),
      models: models.map((model) => ({
        ...model,
        isGranted: !publicIds.has(model.id),
        health: byModel.get(model.id) ?? null,
        changesAt: this.nextPriceChange(model.id),
      })),
      total,
      choices: modelChoices(all),
      columns: Object.fromEntries(modelSorts.map((name) => [name, columnSort(name, query.sort ?? '')])),
      asked: query,
      isFiltered: isFiltered(query),
      pager: { page, pages, newer: page > 1 ? page - 1 : null, older: page < pages ? page + 1 : null },
      data: { object: 'list', data: models.map(presentPublicModel), has_more: page < pages, page, total },
    };
  }

  /** Returns when the current price ends or the next one begins; null if unknown. */
  private nextPriceChange(id: string): Date | null {
    const now = Date.now();
    const model = this.catalogue.snapshot.model(id);
    const instants = [
      ...(model?.schedules ?? []).flatMap(({ startsAt, endsAt }) => [startsAt, endsAt]),
      ...(model?.prices ?? []).map(({ validFrom }) => validFrom),
    ];
    const future = instants.filter((instant) => instant !== null).filter((instant) => instant > now);
    return future.length === 0 ? null : new Date(Math.min(...future));
  }
}

const filters = ['q', 'kind', 'modality', 'provider', 'region', 'max_price', 'tools'] as const;
const isFiltered = (query: PublicModelQuery): boolean => filters.some((name) => (query[name] ?? '') !== '');
