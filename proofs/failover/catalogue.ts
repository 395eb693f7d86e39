import type { GatewayFile } from '../../test/system/node';
import type { DialectName } from './dialects';

/** Dialect of a supplier; requests in another dialect are converted for it. */
export type SupplierStyle = 'openai-style' | 'messages-style';

export const supplierIds = ['a', 'b', 'c'] as const;
export type SupplierId = (typeof supplierIds)[number];

/** A model of the catalogue with dedicated suppliers, so that no drill sees traffic of another. */
export interface SceneLayout {
  readonly dialect: DialectName;
  readonly stream: boolean;
  /** The primary comes first. */
  readonly lanes: readonly SupplierStyle[];
  /** Retries of a lane per request. */
  readonly retries?: number;
  /** Responses use the supplier's name of the model. */
  readonly namesSupplier?: boolean;
  /** The primary's address refuses connections. */
  readonly isGone?: boolean;
  /** Part of the upstream model name, from which the simulator reads the context size. */
  readonly kind?: string;
  /** Scene of the same drill whose model takes over requests that are too long for this one. */
  readonly overflow?: string;
}

const ownStyle = (dialect: DialectName): SupplierStyle =>
  dialect === 'messages' ? 'messages-style' : 'openai-style';

/** A model whose suppliers use the caller's dialect. */
export const layout = (
  dialect: DialectName,
  stream: boolean,
  lanes: number,
  overrides: Partial<SceneLayout> = {},
): SceneLayout => ({
  dialect,
  stream,
  lanes: Array<SupplierStyle>(lanes).fill(ownStyle(dialect)),
  ...overrides,
});

/** A model whose lanes use the given dialects, for a caller of this dialect. */
export const mixed = (dialect: DialectName, stream: boolean, ...lanes: SupplierStyle[]): SceneLayout => ({
  dialect,
  stream,
  lanes,
});

const everyDialect: readonly DialectName[] = ['chat', 'messages', 'responses'];

export const streamingLayouts = (
  lanes: number,
  overrides: Partial<SceneLayout> = {},
): Record<string, SceneLayout> =>
  Object.fromEntries(
    everyDialect.map((dialect) => [`${dialect} stream`, layout(dialect, true, lanes, overrides)]),
  );

export const nonStreamingLayouts = (
  lanes: number,
  overrides: Partial<SceneLayout> = {},
): Record<string, SceneLayout> =>
  Object.fromEntries(
    everyDialect.map((dialect) => [`${dialect} whole`, layout(dialect, false, lanes, overrides)]),
  );

export const allLayouts = (
  lanes: number,
  overrides: Partial<SceneLayout> = {},
): Record<string, SceneLayout> => ({
  ...streamingLayouts(lanes, overrides),
  ...nonStreamingLayouts(lanes, overrides),
});

const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

export const modelName = (drill: string, scene: string): string => `${slug(drill)}-${slug(scene)}`;
export const providerName = (model: string, supplierId: SupplierId): string => `${model}-${supplierId}`;
export const upstreamName = (model: string, { kind = 'any' }: SceneLayout, supplierId: SupplierId): string =>
  `sim-${model}-${supplierId}-${kind}`;

/** USD per 1M tokens; each lane has a different price, so that a bill shows which supplier was paid. */
export const prices: Readonly<Record<SupplierId, { input: number; output: number }>> = {
  a: { input: 1, output: 2 },
  b: { input: 3, output: 5 },
  c: { input: 7, output: 11 },
};

export interface SupplierAddresses {
  readonly url: string;
  readonly goneUrl: string;
}

export function catalogueOf(
  scenes: readonly { readonly drill: string; readonly name: string; readonly layout: SceneLayout }[],
  suppliers: Readonly<Record<SupplierId, SupplierAddresses>>,
): GatewayFile {
  const providers: Record<string, object> = {};
  const models: Record<string, object> = {};
  for (const { drill, name, layout } of scenes) {
    const model = modelName(drill, name);
    const lanes = layout.lanes.map((style, index) => ({ style, place: supplierIds[index]! }));
    for (const { style, place: supplierId } of lanes) {
      const { url, goneUrl } = suppliers[supplierId];
      providers[providerName(model, supplierId)] = {
        style,
        base_url: layout.isGone === true && supplierId === 'a' ? goneUrl : url,
        regions: [`region-${supplierId}`],
        api_key: '${SIMULATOR_KEY}',
        ...(style === 'openai-style' ? { settings: { profile: 'openai' } } : {}),
      };
    }
    models[model] = {
      max_output_tokens: 4_000,
      price: prices.a,
      lanes: lanes.map(({ place: supplierId }) => ({
        provider: providerName(model, supplierId),
        model: upstreamName(model, layout, supplierId),
        region: `region-${supplierId}`,
        price: prices[supplierId],
        ...(layout.retries === undefined ? {} : { retries: layout.retries }),
      })),
      ...(layout.namesSupplier === true ? { answer_model: 'supplier' } : {}),
      ...(layout.overflow === undefined ? {} : { overflow: modelName(drill, layout.overflow) }),
    };
  }
  return { providers, models };
}
