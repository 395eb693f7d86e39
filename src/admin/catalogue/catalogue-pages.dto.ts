import { MODEL_STATES, type ModelState } from '../../catalogue';
import { IsCursor, IsFilterText, IfPresent, IsOneOf, IsRowId, IsVerbatimLine } from '../../web';

export const catalogueTabs = ['models', 'providers', 'prices', 'aliases'] as const;
export type CatalogueTab = (typeof catalogueTabs)[number];

export class CatalogueQuery {
  @IfPresent()
  @IsOneOf(catalogueTabs)
  tab?: CatalogueTab;

  @IsFilterText()
  q?: string;

  @IsOneOf(MODEL_STATES, { optional: true })
  state?: ModelState;

  @IsCursor()
  cursor?: string;
}

class EditQuery {
  @IfPresent()
  @IsVerbatimLine(2_000)
  back?: string;
}

export class ModelEditQuery extends EditQuery {
  @IsVerbatimLine(128)
  model: string;
}

export class ProviderEditQuery extends EditQuery {
  @IsRowId()
  id: number;
}
