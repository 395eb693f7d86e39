import { Controller, Query } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { Access, Page } from '../../web';
import { columnSort, modelChoices, selectModels } from './model-query';
import { modelSorts, PublicModelQuery } from './models.dto';
import { presentPublicModel, publicModels } from './public-models';

const MINUTE_SECONDS = 60;

@Controller()
export class PublicModelsController {
  constructor(private readonly catalogue: CatalogueService) {}

  /** Models open to everyone; `format=json` returns the same selection as JSON. */
  @Page('/models-public', 'pages/public/models', Access.anyone(), {
    cacheSeconds: MINUTE_SECONDS,
    data: true,
  })
  models(@Query() query: PublicModelQuery) {
    const all = publicModels(this.catalogue);
    const { models, total, page, pages } = selectModels(all, query);
    return {
      models,
      total,
      choices: modelChoices(all),
      columns: Object.fromEntries(modelSorts.map((name) => [name, columnSort(name, query.sort ?? '')])),
      asked: query,
      isFiltered: Object.entries(query).some(([name, value]) => filterNames.has(name) && value !== ''),
      pager: { page, pages, newer: page > 1 ? page - 1 : null, older: page < pages ? page + 1 : null },
      data: {
        object: 'list',
        data: models.map(presentPublicModel),
        has_more: page < pages,
        page,
        total,
      },
    };
  }
}

const filterNames = new Set(['q', 'kind', 'modality', 'provider', 'region', 'max_price', 'tools']);
