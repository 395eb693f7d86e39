import { IsIn, IsOptional, Matches } from '../../platform';
import { parseUsdPerMillion } from '../../kernel';
import type { PublicModel } from './public-models';

export const modelSorts = ['name', 'owner', 'context', 'input', 'output'] as const;
type ModelSort = (typeof modelSorts)[number];
const orders = modelSorts.flatMap((sort) => [sort, `-${sort}`] as const);

/** A form sends the fields that were left empty, too. */
const word = /^[\w./:-]{0,100}$/;

/** The list of models can be asked for this: all of it stands in the address. */
export class ModelQuery {
  @IsOptional()
  @Matches(/^[^\p{Cc}]{0,100}$/u, 'one line of up to 100 characters')
  q?: string;

  @IsOptional()
  @Matches(word, 'up to 100 letters, digits and . / : _ -')
  kind?: string;

  @IsOptional()
  @Matches(word, 'up to 100 letters, digits and . / : _ -')
  modality?: string;

  @IsOptional()
  @Matches(/^[^\p{Cc}]{0,100}$/u, 'one line of up to 100 characters')
  provider?: string;

  @IsOptional()
  @Matches(word, 'up to 100 letters, digits and . / : _ -')
  region?: string;

  /** It is in dollars a million input tokens. */
  @IsOptional()
  @Matches(/^(\d{1,6}(\.\d{1,6})?)?$/, 'an amount of US dollars, like 0.05')
  max_price?: string;

  @IsOptional()
  @IsIn(['', 'yes'])
  tools?: string;

  @IsOptional()
  @IsIn(['', ...orders])
  sort?: string;

  @IsOptional()
  @Matches(/^[1-9]\d{0,3}$/, 'a whole number from 1 to 9999')
  page?: string;

  @IsOptional()
  @IsIn(['json', 'html'])
  format?: string;
}

const MODELS_A_PAGE = 100;

export interface ModelPage {
  readonly models: readonly PublicModel[];
  readonly total: number;
  readonly page: number;
  readonly pages: number;
}

export function selectModels(all: readonly PublicModel[], query: ModelQuery): ModelPage {
  const found = all.filter((model) => matches(model, query));
  const sort = query.sort ?? '';
  if (sort !== '') found.sort(comparison(sort));
  const pages = Math.max(1, Math.ceil(found.length / MODELS_A_PAGE));
  const page = Math.min(Number(query.page ?? 1), pages);
  const start = (page - 1) * MODELS_A_PAGE;
  return { models: found.slice(start, start + MODELS_A_PAGE), total: found.length, page, pages };
}

function matches(model: PublicModel, query: ModelQuery): boolean {
  const { q = '', kind = '', modality = '', provider = '', region = '', tools = '' } = query;
  const words = q.toLowerCase().split(/\s+/);
  const text = [model.id, model.displayName, model.owner, ...model.aliases].join(' ').toLowerCase();
  return (
    words.every((part) => text.includes(part)) &&
    (kind === '' || model.kind === kind) &&
    (modality === '' || [...model.inputModalities, ...model.outputModalities].includes(modality)) &&
    (provider === '' || model.owner === provider) &&
    (region === '' || model.regions.includes(region)) &&
    (tools === '' || model.hasTools) &&
    isWithin(model, query.max_price ?? '')
  );
}

/** A bound on the price leaves out what has none. */
function isWithin({ price }: PublicModel, most: string): boolean {
  if (most === '') return true;
  return price !== null && price.soldByTokens && price.input <= parseUsdPerMillion(most);
}

/** A model without a figure comes last in either direction. */
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

/** The filters offer only what some model has. */
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

/** A column's heading sorts by it, and the other way when it is asked again. */
export function columnOf(name: string, sort: string): { sort: string; sorted: string | null } {
  return {
    sort: sort === name ? `-${name}` : name,
    sorted: sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : null,
  };
}
