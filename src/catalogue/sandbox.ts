import { In, IsNull } from 'typeorm';
import { parseUsd, parseUsdPerMillion, priceRates, type PriceRates } from '../kernel';
import type { Tx } from '../platform';
import { lockCatalogue } from './catalogue-lock';
import { refuseManaged } from './model-versions';
import { CatalogueEditor, type ModelInput } from './catalogue-editor.service';
import { Lane, Model, ModelAlias, PriceSchedule, Provider } from './entities';
import { PriceService } from './price.service';

const PROVIDER = 'sandbox';
export const SANDBOX_OWNER = PROVIDER;
const REGION = 'local';
const SOURCE = 'sandbox';

interface SandboxModel extends Omit<ModelInput, 'ownedBy'> {
  readonly rates: PriceRates;
}

const usd = parseUsdPerMillion;
/** Typical market prices per use of a supplier's own tool: agents offer such tools with every request. */
const uses = {
  web_search: parseUsd('0.01'),
  file_search: parseUsd('0.0025'),
  code_execution: parseUsd('0.03'),
  other_tool: parseUsd('0.01'),
};
const chat = {
  kind: 'chat',
  contextTokens: 200_000,
  // The simulator keeps to this limit, so it can lower the hold.
  facts: { window: 200_000 },
  maxOutputTokens: 128_000,
  replayIncluded: true,
} as const;

const SANDBOX_MODELS: readonly SandboxModel[] = [
  {
    ...chat,
    name: 'sim-small',
    displayName: 'Simulated small',
    inputModalities: ['text', 'image'],
    capabilities: ['tools', 'json_schema', 'prompt_caching'],
    rates: priceRates({ uses, input: usd('0.15'), output: usd('0.60'), cacheRead: usd('0.075') }),
  },
  {
    ...chat,
    name: 'sim-large',
    displayName: 'Simulated large',
    inputModalities: ['text', 'image'],
    capabilities: ['tools', 'json_schema', 'prompt_caching', 'native'],
    rates: priceRates({
      uses,
      input: usd('3'),
      output: usd('15'),
      cacheRead: usd('0.30'),
      cacheWrite: usd('3.75'),
      cacheWriteLong: usd('6'),
      tiers: [
        {
          aboveInputTokens: 128_000,
          input: usd('6'),
          output: usd('22.50'),
          cacheRead: usd('0.60'),
          cacheWrite: usd('7.50'),
          cacheWriteLong: usd('12'),
        },
      ],
    }),
  },
  {
    ...chat,
    name: 'sim-reason',
    displayName: 'Simulated reasoning',
    capabilities: ['tools', 'json_schema', 'prompt_caching', 'reasoning'],
    rates: priceRates({ uses, input: usd('1.10'), output: usd('4.40'), cacheRead: usd('0.275') }),
  },
  {
    ...chat,
    name: 'sim-8k',
    displayName: 'Simulated with a short context',
    contextTokens: 8_000,
    facts: { window: 8_000 },
    maxOutputTokens: 4_000,
    capabilities: ['tools'],
    rates: priceRates({ uses, input: usd('0.50'), output: usd('1.50') }),
  },
  {
    name: 'sim-embed',
    displayName: 'Simulated embeddings',
    kind: 'embedding',
    contextTokens: 2_048,
    outputModalities: ['embedding'],
    rates: priceRates({ input: usd('0.02') }),
  },
  {
    name: 'sim-rerank',
    displayName: 'Simulated reranking',
    kind: 'rerank',
    contextTokens: 8_000,
    outputModalities: ['score'],
    rates: priceRates({ perCallNano: usd('0.002') }),
  },
  {
    name: 'sim-transcribe',
    displayName: 'Simulated transcription',
    kind: 'transcription',
    inputModalities: ['audio'],
    rates: priceRates({ perMinuteNano: usd('0.006') }),
  },
  {
    name: 'sim-speech',
    displayName: 'Simulated speech',
    kind: 'speech',
    outputModalities: ['audio'],
    rates: priceRates({ input: usd('15') }),
  },
  {
    name: 'sim-image',
    displayName: 'Simulated images',
    kind: 'image',
    outputModalities: ['image'],
    rates: priceRates({ perCallNano: usd('0.04') }),
  },
  {
    name: 'sim-moderation',
    displayName: 'Simulated moderation',
    kind: 'moderation',
    outputModalities: ['score'],
    rates: priceRates({ perCallNano: usd('0.0001') }),
  },
];

/**
 * Points the sandbox at its supplier and adds models that are missing or were removed with it. Changes that an
 * administrator made to existing models are kept.
 */
export async function ensureSandbox(tx: Tx, baseUrl: string): Promise<void> {
  const editor = new CatalogueEditor();
  const prices = new PriceService();
  await editor.upsertProvider(tx, { name: PROVIDER, style: 'sandbox', baseUrl, visible: true });
  for (const [displayOrder, { rates, ...model }] of SANDBOX_MODELS.entries()) {
    const lanes = [{ provider: PROVIDER, upstreamModel: model.name, region: REGION }];
    const existing = await tx.findOneBy(Model, { name: model.name });
    if (existing !== null) {
      const isRemoved = existing.state === 'deleted' && !(await tx.existsBy(Lane, liveLanes(existing.id)));
      if (!isRemoved) continue;
      await editor.setState(tx, model.name, 'active');
      await editor.setLanes(tx, model.name, lanes);
      continue;
    }
    await editor.upsertModel(tx, { ...model, ownedBy: SANDBOX_OWNER, displayOrder: 1_000 + displayOrder });
    await editor.setLanes(tx, model.name, lanes);
    await prices.addPrice(tx, { model: model.name, rates, source: SOURCE });
  }
}

export async function retireSandbox(tx: Tx): Promise<boolean> {
  const provider = await tx.findOneBy(Provider, { name: PROVIDER, style: 'sandbox', visible: true });
  if (provider === null) return false;
  await new CatalogueEditor().upsertProvider(tx, { id: provider.id, visible: false });
  return true;
}

const liveLanes = (modelId: number) => ({ modelId, removedAt: IsNull() });

export interface RemovedSandbox {
  readonly providers: readonly Provider[];
  /** Deleted models: nothing else served them. */
  readonly models: readonly Model[];
  readonly kept: readonly Model[];
  readonly redirected: readonly Model[];
  readonly aliases: readonly ModelAlias[];
}

/**
 * Removes the sandbox's provider, the models that only it served, and their aliases and redirects. Prices stay because
 * records refer to them; a second call removes nothing.
 */
export async function removeSandbox(tx: Tx): Promise<RemovedSandbox> {
  await lockCatalogue(tx);
  const providers = await tx.findBy(Provider, { style: 'sandbox', removedAt: IsNull() });
  const providerIds = providers.map(({ id }) => id);
  const lanes = await tx.findBy(Lane, { providerId: In(providerIds), removedAt: IsNull() });
  const served = await tx.findBy(Model, { id: In(lanes.map(({ modelId }) => modelId)) });
  const others = await tx.findBy(Lane, { modelId: In(served.map(({ id }) => id)), removedAt: IsNull() });
  const servedElsewhere = new Set(
    others.filter(({ providerId }) => !providerIds.includes(providerId)).map(({ modelId }) => modelId),
  );
  const deletedModels = served.filter(({ id }) => !servedElsewhere.has(id));
  const ids = deletedModels.map(({ id }) => id);
  const redirected = await tx.findBy(Model, [{ redirectTo: In(ids) }, { overflowTo: In(ids) }]);
  for (const entity of [...providers, ...served, ...redirected]) refuseManaged(entity);
  const aliases = await tx.findBy(ModelAlias, { modelId: In(ids) });
  await tx.update(Lane, { id: In(lanes.map(({ id }) => id)) }, { removedAt: new Date() });
  await tx.update(Model, { redirectTo: In(ids) }, { redirectTo: null });
  await tx.update(Model, { overflowTo: In(ids) }, { overflowTo: null });
  await tx.update(Model, { id: In(ids) }, { redirectTo: null, overflowTo: null, state: 'deleted' });
  await tx.delete(ModelAlias, { modelId: In(ids) });
  await tx.delete(PriceSchedule, { modelId: In(ids) });
  const editor = new CatalogueEditor();
  for (const id of providerIds) await editor.removeProvider(tx, id);
  const remainingRedirected = redirected.filter(({ id }) => !ids.includes(id));
  return {
    providers,
    models: deletedModels.filter(({ state }) => state !== 'deleted'),
    kept: served.filter(({ id }) => servedElsewhere.has(id)),
    redirected: remainingRedirected,
    aliases,
  };
}
