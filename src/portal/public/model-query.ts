import { parseUsdPerMillion } from '../../kernel';
import type { PublicModel } from './public-models';
import type { ModelSort, PublicModelQuery } from './models.dto';

const PAGE_SIZE = 100;

export interface ModelPage {
  readonly models: readonly PublicModel[];
  readonly total: number;
  readonly page: number;
  readonly pages: number;
}

export function selectModels(all: readonly PublicModel[], query: PublicModelQuery): ModelPage {
  const matchingModels = all.filter((model) => matches(model, query));
  const sort = query.sort ?? '';
  if (sort !== '') matchingModels.sort(comparison(sort));
  const pages = Math.max(1, Math.ceil(matchingModels.length / PAGE_SIZE));
  const page = Math.min(Number(query.page ?? 1), pages);
  const start = (page - 1) * PAGE_SIZE;
  return {
    models: matchingModels.slice(start, start + PAGE_SIZE),
    total: matchingModels.length,
    page,
    pages,
  };
}

function matches(model: PublicModel, query: PublicModelQuery): boolean {
  const { q = '', kind = '', modality = '', provider = '', region = '', tools = '' } = query;
  const terms = q.toLowerCase().split(/\s+/);
  const text = [model.id, model.displayName, model.owner, ...model.aliases].join(' ').toLowerCase();
  return (
    terms.every((part) => text.includes(part)) &&
    (kind === '' || model.kind === kind) &&
    (modality === '' || [...model.inputModalities, ...model.outputModalities].includes(modality)) &&
    (provider === '' || model.owner === provider) &&
    (region === '' || model.regions.includes(region)) &&
    (tools === '' || model.hasTools) &&
    isWithin(model, query.max_price ?? '')
  );
}

/** A price limit excludes models without a price. */
function isWithin({ price }: PublicModel, maxPrice: string): boolean {
  if (maxPrice === '') return true;
  return price !== null && price.soldByTokens && price.input <= parseUsdPerMillion(maxPrice);
}

/** Models without a value come last in either direction. */
function comparison(order: string): (a: PublicModel, b: PublicModel) => number {
  const isDescending = order.startsWith('-');
  const valueOf = values[order.replace('-', '') as ModelSort];
  return (a, b) => {
    const [one, other] = [valueOf(a), valueOf(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    const direction = one < other ? -1 : one > other ? 1 : 0;
    return isDescending ? -direction : direction;
  };
}

const values: Readonly<Record<ModelSort, (model: PublicModel) => string | number | bigint | null>> = {
  name: ({ id }) => id,
  owner: ({ owner }) => owner,
  context: ({ contextTokens }) => contextTokens,
  input: ({ price }) => (price?.soldByTokens === true ? price.input : null),
  output: ({ price }) => (price?.soldByTokens === true ? price.output : null),
};

/** Offers only values that at least one model has. */
export function modelChoices(all: readonly PublicModel[]): Record<string, readonly string[]> {
  const distinct = (valuesOf: (model: PublicModel) => readonly string[]): string[] =>
    [...new Set(all.flatMap(valuesOf))].sort();
  return {
    kinds: distinct(({ kind }) => [kind]),
    modalities: distinct(({ inputModalities, outputModalities }) => [
      ...inputModalities,
      ...outputModalities,
    ]),
    providers: distinct(({ owner }) => [owner]),
    regions: distinct(({ regions }) => regions),
  };
}

/** Sorts by the column, or in reverse if the list is already sorted by it. */
export function columnSort(name: string, sort: string): { sort: string; sorted: string | null } {
  return {
    sort: sort === name ? `-${name}` : name,
    sorted: sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : null,
  };
}
