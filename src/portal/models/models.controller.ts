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
  periodWords,
} from '../../web';
import { columnOf, modelChoices, modelSorts, ModelQuery, selectModels } from '../public/model-query';
import { presentPublicModel, publicModels } from '../public/public-models';
import { ModelHealths, week } from './model-health';

/** The models this person may call, with what is not public of them: grants, alias names, and how they do. */
@Controller()
export class ModelsController {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly healths: ModelHealths,
    private readonly markups: OrganisationMarkups,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard/models', 'pages/dashboard/models', Access.session(), { data: true })
  async models(@Query() query: ModelQuery, @Req() request: HttpRequest) {
    const { organisationId, departmentId } = actorOf(request);
    const paid = await this.markups.factorOf(organisationId);
    const all = publicModels(this.catalogue, { organisationId, departmentId }, paid);
    const forEverybody = new Set(publicModels(this.catalogue).map(({ id }) => id));
    const { models, total, page, pages } = selectModels(all, query);
    const { period, byModel } = await this.healths.lastWeek();
    const localisation = { ...localisationOf(this.pages, request), timeZone: 'UTC' };
    return {
      period: periodWords(period, localisation, week),
      models: models.map((model) => ({
        ...model,
        isGranted: !forEverybody.has(model.id),
        health: byModel.get(model.id) ?? null,
        changesAt: this.nextPriceChange(model.id),
      })),
      total,
      choices: modelChoices(all),
      columns: Object.fromEntries(modelSorts.map((name) => [name, columnOf(name, query.sort ?? '')])),
      asked: query,
      isFiltered: isFiltered(query),
      pager: { page, pages, newer: page > 1 ? page - 1 : null, older: page < pages ? page + 1 : null },
      data: { object: 'list', data: models.map(presentPublicModel), has_more: page < pages, page, total },
    };
  }

  /** The price in force ends or another begins at this time, where that is known. */
  private nextPriceChange(id: string): Date | null {
    const now = Date.now();
    const model = this.catalogue.snapshot.model(id);
    const instants = [
      ...(model?.schedules ?? []).flatMap(({ startsAt, endsAt }) => [startsAt, endsAt]),
      ...(model?.prices ?? []).map(({ validFrom }) => validFrom),
    ];
    const coming = instants.filter((instant) => instant !== null).filter((instant) => instant > now);
    return coming.length === 0 ? null : new Date(Math.min(...coming));
  }
}

const filters = ['q', 'kind', 'modality', 'provider', 'region', 'max_price', 'tools'] as const;
const isFiltered = (query: ModelQuery): boolean => filters.some((name) => (query[name] ?? '') !== '');
