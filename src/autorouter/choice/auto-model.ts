import { Injectable, Logger } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import type { Caller } from '../../keys';
import { answersAuto } from '../policy/effective-policy';
import { AUTO, callableModels, sharedLaneFacts } from '../../gateway';
import { AutoPolicies } from '../policy/auto-policies';
import { isIncluded } from '../policy/included';

/** `auto` in the list of models, shown to a key if requests for it can be answered. */
@Injectable()
export class AutoModel {
  private readonly logger = new Logger(AutoModel.name);

  constructor(
    private readonly catalogue: CatalogueService,
    private readonly policies: AutoPolicies,
  ) {}

  /**
   * Lists the combined abilities of the candidates; null if the caller has none. A key's list of models must name
   * `auto` explicitly.
   */
  async for(caller: Caller) {
    const { allowedModels } = caller;
    if (allowedModels !== null && !allowedModels.has(AUTO)) return null;
    if (this.catalogue.snapshot.model(AUTO) !== undefined) return null;
    const candidates = await this.candidatesFor(caller);
    return candidates.length === 0 ? null : present(candidates);
  }

  private async candidatesFor(caller: Caller): Promise<ModelView[]> {
    const { keyId, attribution } = caller;
    const { organisationId, userId } = attribution;
    const { snapshot } = this.catalogue;
    try {
      const policy = await this.policies.of({ organisationId, userId, keyId });
      const models = callableModels(caller, snapshot, { kind: 'chat', byAuto: true });
      if (!answersAuto(policy)) return [];
      if (policy.mode !== 'off')
        return models.filter((model) => model.redirectTo === null && isIncluded(model, policy));
      const fallback = snapshot.model(policy.fallback_model ?? '');
      return models.filter(({ id }) => id === fallback?.id);
    } catch (error) {
      // A request for `auto` would be refused now as well.
      this.logger.warn(`Whether auto may be asked for cannot be read: ${String(error)}`);
      return [];
    }
  }
}

/** `auto` has no price of its own: each answer is charged at the price of the model that gave it. */
function present(candidates: readonly ModelView[]) {
  const all = <Value>(of: (model: ModelView) => Iterable<Value>): Value[] => [
    ...new Set(candidates.flatMap((model) => [...of(model)])),
  ];
  const createdAt = Math.min(...candidates.map((model) => model.createdAt));
  return {
    id: AUTO,
    object: 'model',
    type: 'model',
    owned_by: 'switchboard',
    created: Math.floor(createdAt / 1_000),
    created_at: new Date(createdAt).toISOString(),
    display_name: AUTO,
    kind: 'chat',
    context_tokens: maxOf(candidates, ({ contextTokens }) => contextTokens),
    max_output_tokens: maxOf(candidates, ({ maxOutputTokens }) => maxOutputTokens),
    input_modalities: all(({ inputModalities }) => inputModalities),
    output_modalities: all(({ outputModalities }) => outputModalities),
    capabilities: all(({ capabilities }) => capabilities),
    ...sharedLaneFacts(candidates.flatMap(({ lanes }) => lanes)),
    retires_at: null,
    price: null,
  };
}

function maxOf(candidates: readonly ModelView[], of: (model: ModelView) => number | null): number | null {
  const values = candidates.flatMap((model) => of(model) ?? []);
  return values.length === 0 ? null : Math.max(...values);
}
