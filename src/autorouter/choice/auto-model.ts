import { Injectable, Logger } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import type { Caller } from '../../keys';
import { answersAuto } from '../policy/effective-policy';
import { AUTO, callableModels, sharedFacts } from '../../gateway';
import { AutoPolicies } from '../policy/auto-policies';
import { isIncluded } from '../policy/included';

/** `auto` as a model of the list: a key sees it where a request for it can be answered. */
@Injectable()
export class AutoModel {
  private readonly logger = new Logger(AutoModel.name);

  constructor(
    private readonly catalogue: CatalogueService,
    private readonly policies: AutoPolicies,
  ) {}

  /**
   * The model `auto` lists what its candidates can do together; null where the caller gets none. A list of
   * models has to name it: only then its key was made for it.
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
      // A request for it would be refused now as well.
      this.logger.warn(`Whether auto may be asked for cannot be read: ${String(error)}`);
      return [];
    }
  }
}

/** It has no price: each answer is charged at that of the model that gave it. */
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
    context_tokens: most(candidates, ({ contextTokens }) => contextTokens),
    max_output_tokens: most(candidates, ({ maxOutputTokens }) => maxOutputTokens),
    input_modalities: all(({ inputModalities }) => inputModalities),
    output_modalities: all(({ outputModalities }) => outputModalities),
    capabilities: all(({ capabilities }) => capabilities),
    ...sharedFacts(candidates.flatMap(({ lanes }) => lanes)),
    retires_at: null,
    price: null,
  };
}

/** It is null where it is unknown of all. */
function most(candidates: readonly ModelView[], of: (model: ModelView) => number | null): number | null {
  const known = candidates.flatMap((model) => of(model) ?? []);
  return known.length === 0 ? null : Math.max(...known);
}
