import type { GatewayFile } from '../../test/system/node';
import type { DialectName } from './dialects';

/** A supplier speaks one of these; callers of the other dialect are translated for it. */
export type SupplierStyle = 'openai-style' | 'messages-style';

export const places = ['a', 'b', 'c'] as const;
export type Place = (typeof places)[number];

/** One model of the catalogue, with suppliers of its own so that no drill sees the traces of another. */
export interface Layout {
  readonly asked: DialectName;
  readonly stream: boolean;
  /** The primary first. */
  readonly lanes: readonly SupplierStyle[];
  /** A lane is asked again so often for one request. */
  readonly retries?: number;
  /** Answers carry the supplier's name of the model. */
  readonly namesSupplier?: boolean;
  /** The primary's address refuses connections. */
  readonly gone?: boolean;
  /** Part of the supplier's name for the model: the simulator reads the size of the context from it. */
  readonly kind?: string;
  /** The scene of the same drill whose model takes over what is too long for this one. */
  readonly overflow?: string;
}

const own = (dialect: DialectName): SupplierStyle =>
  dialect === 'messages' ? 'messages-style' : 'openai-style';

/** A model of the caller's own dialect. */
export const layout = (
  asked: DialectName,
  stream: boolean,
  lanes: number,
  rest: Partial<Layout> = {},
): Layout => ({ asked, stream, lanes: Array<SupplierStyle>(lanes).fill(own(asked)), ...rest });

/** A model whose lanes speak what is named, for a caller of this dialect. */
export const mixed = (asked: DialectName, stream: boolean, ...lanes: SupplierStyle[]): Layout => ({
  asked,
  stream,
  lanes,
});

const everyDialect: readonly DialectName[] = ['chat', 'messages', 'responses'];

export const streams = (lanes: number, rest: Partial<Layout> = {}): Record<string, Layout> =>
  Object.fromEntries(everyDialect.map((asked) => [`${asked} stream`, layout(asked, true, lanes, rest)]));

export const wholes = (lanes: number, rest: Partial<Layout> = {}): Record<string, Layout> =>
  Object.fromEntries(everyDialect.map((asked) => [`${asked} whole`, layout(asked, false, lanes, rest)]));

export const everyWay = (lanes: number, rest: Partial<Layout> = {}): Record<string, Layout> => ({
  ...streams(lanes, rest),
  ...wholes(lanes, rest),
});

const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

export const modelName = (drill: string, scene: string): string => `${slug(drill)}-${slug(scene)}`;
export const providerName = (model: string, place: Place): string => `${model}-${place}`;
export const upstreamName = (model: string, { kind = 'any' }: Layout, place: Place): string =>
  `sim-${model}-${place}-${kind}`;

/** Dollars for a million tokens: each lane has a price of its own, so that a bill tells who was paid. */
export const prices: Readonly<Record<Place, { input: number; output: number }>> = {
  a: { input: 1, output: 2 },
  b: { input: 3, output: 5 },
  c: { input: 7, output: 11 },
};

export interface Addresses {
  readonly url: string;
  readonly goneUrl: string;
}

export function catalogueOf(
  scenes: readonly { readonly drill: string; readonly name: string; readonly layout: Layout }[],
  suppliers: Readonly<Record<Place, Addresses>>,
): GatewayFile {
  const providers: Record<string, object> = {};
  const models: Record<string, object> = {};
  for (const { drill, name, layout } of scenes) {
    const model = modelName(drill, name);
    const lanes = layout.lanes.map((style, index) => ({ style, place: places[index]! }));
    for (const { style, place } of lanes) {
      const { url, goneUrl } = suppliers[place];
      providers[providerName(model, place)] = {
        style,
        base_url: layout.gone === true && place === 'a' ? goneUrl : url,
        regions: [`region-${place}`],
        api_key: '${SIMULATOR_KEY}',
        ...(style === 'openai-style' ? { settings: { profile: 'openai' } } : {}),
      };
    }
    models[model] = {
      max_output_tokens: 4_000,
      price: prices.a,
      lanes: lanes.map(({ place }) => ({
        provider: providerName(model, place),
        model: upstreamName(model, layout, place),
        region: `region-${place}`,
        price: prices[place],
        ...(layout.retries === undefined ? {} : { retries: layout.retries }),
      })),
      ...(layout.namesSupplier === true ? { answer_model: 'supplier' } : {}),
      ...(layout.overflow === undefined ? {} : { overflow: modelName(drill, layout.overflow) }),
    };
  }
  return { providers, models };
}
